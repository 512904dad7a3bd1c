"""`python -m hyperaction` is the command `hyperaction`."""

import sys

from hyperaction.cli import main

if __name__ == "__main__":
    sys.exit(main())
