"""The command `hyperaction`: one thin function per verb. Nothing heavy is imported before work."""

from hyperaction.cli.command import main

__all__ = ["main"]
