"""One command a module; each module's `command` is what `vllmlings NAME` runs."""
