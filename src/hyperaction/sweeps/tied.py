"""The command of a cell, tied to the sweep that started it: when that is gone, it is asked to stop.

    python -m hyperaction.sweeps.tied NUMBER COMMAND ...

runs `hyperaction COMMAND ...` for the process of that number.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ties this process to its parent where the system can, and becomes the command."""
    parent = int(sys.argv.pop(1))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # It was gone before this began.
        sys.exit(130)
    runpy.run_module("hyperaction", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
