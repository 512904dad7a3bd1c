"""`python -m hyperaction` is the command `hyperaction`."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
        # Python looks there first: a file called as a library would be run in its place.
        del sys.path[0]
    from hyperaction.cli import main

    sys.exit(main())
