"""The command `hyperaction`: one module per subcommand, which is imported when it is called.

The module of a command has its options and `main(args)`. At its top it imports only what is light.
JAX, matplotlib and optional packages take long to load or may be missing, so `main` imports the
modules that need them after it has parsed the arguments.
"""

from hyperaction.cli.main import main

__all__ = ["main"]
