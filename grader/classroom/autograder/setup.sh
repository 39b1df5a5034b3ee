#!/usr/bin/env bash
# Gradescope runs this once, when it builds the autograder's image.
set -euo pipefail
cd "$(dirname "$0")"

install() { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -yqq "$@"; }
is_new() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

command -v bwrap >/dev/null || install bubblewrap

python=""
for each in python3 python3.14 python3.13 python3.12 python3.11; do
  if [ -z "$python" ] && is_new "$each"; then python="$each"; fi
done
if [ -z "$python" ]; then
  install python3.11
  python=python3.11
fi
"$python" -c 'import ensurepip' 2>/dev/null || install "$python-venv"

"$python" -m venv ../venv
../venv/bin/pip install -q -c course/constraints.txt -e course
