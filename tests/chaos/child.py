"""A process for one command, which a trial can kill; forked before JAX has threads."""

import os
import sys
from pathlib import Path

import hyperaction.training.assembly
import hyperaction.training.session  # noqa: F401
from hyperaction.cli import main
from tests.chaos import envs


def run(args, files, tag, fault):
    """Runs a command with its output in files.

    Args:
        args: The arguments of the command.
        files: Where stdout and stderr go.
        tag: The mark of the trial, for processes that this one starts.
        fault: What the environment does, by name, and after how many calls.
    """
    from tests.chaos.commands import TAG
    from tests.chaos.environments import SUDDEN

    os.environ[TAG] = tag
    for number, file in enumerate(files, 1):
        Path(file).touch()
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if fault is not None:
        name, left = fault
        envs.strike(SUDDEN[name], left)
    code = main(args)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
