"""Runs a command that is asked to stop when the process which started it ends.

    python child.py PARENT COMMAND ...

runs `hyperaction COMMAND ...` for the process with the id PARENT.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Asks the system for a signal when the parent ends, then runs the command."""
    parent = int(sys.argv.pop(1))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # It ended before the call above.
        sys.exit(130)
    sys.path.append(str(Path(__file__).parents[2]))  # Where it is not installed.
    runpy.run_module("hyperaction", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
