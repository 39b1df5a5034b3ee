"""The first thing that runs in a worker, by path: `start.py CONTROL_FD PATHS MODULES`.

The worker's interpreter need not know this repository. Only this folder is made importable, under
its usual name and without its `__init__`, so no grader, suite or solution can be imported there.
"""

import os
import sys
from types import ModuleType


def main(control: str, paths: str, preload: str) -> None:
    sys.path += [path for path in paths.split(os.pathsep) if path and path not in sys.path]
    for name, folders in (("grader", []), ("grader.worker", [os.path.dirname(__file__)])):
        package = ModuleType(name)
        package.__path__ = folders
        sys.modules[name] = package
    from grader.worker.zygote import Zygote

    Zygote(int(control)).run([name for name in preload.split(",") if name])


if __name__ == "__main__":
    main(*sys.argv[1:])
