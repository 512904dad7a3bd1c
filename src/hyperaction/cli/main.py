"""The entry point: finds the command, runs it, and turns errors into messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from hyperaction.arguments import ArgumentError
from hyperaction.cli.terminal import STOPPED, UserError, error_message, print_error
from hyperaction.cli.warning_lines import held_warnings
from hyperaction.errors import unknown
from hyperaction.version import __version__

DESCRIPTION = """\
Value-based reinforcement learning where an action has several dimensions:
action hypergraph networks and hypergraph Q-networks."""


class Command(NamedTuple):
    """A command: its module in this package, its help, and the group that it is listed in."""

    module: str
    help: str
    group: str


COMMANDS = {
    "train": Command("train", "Train an agent on a Gymnasium environment.", "Train"),
    "sweep": Command("sweep", "Run a grid of environments, agents and seeds.", "Train"),
    "baseline": Command(
        "baseline", "Run what agents are compared with: random, constant, PPO.", "Train"
    ),
    "tune": Command("tune", "Search for settings that learn better, with Optuna.", "Train"),
    "evaluate": Command("evaluate", "Play the trained agent of a run.", "Train"),
    "compare": Command("compare", "Compare runs with the published curves.", "Inspect"),
    "table": Command("table", "Summarise runs over seeds, per environment and overall.", "Inspect"),
    "explain": Command("explain", "Show which joint actions matter to trained agents.", "Inspect"),
    "video": Command(
        "video", "Record a trained agent and the values behind its actions.", "Inspect"
    ),
    "report": Command(
        "report", "Write a page about runs: curves, tables, settings, videos.", "Share"
    ),
    "watch": Command("watch", "Serve that page live, to this machine only.", "Share"),
    "export": Command("export", "Write an agent to share, for the Hugging Face hub.", "Share"),
    "bandits": Command(
        "bandits",
        "Compare action hypergraph networks with a table on bandits (section 4).",
        "Reproduce the paper",
    ),
    "atari-figures": Command(
        "atari_figures",
        "Draw the published Atari results (figures 4, 5, 8), and runs.",
        "Reproduce the paper",
    ),
    "bench": Command("bench", "Measure speed: bench maximise, train or atari.", "Measure"),
    "doctor": Command("doctor", "Show versions, devices, kernels and what is missing.", "Measure"),
}


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command given by the arguments; returns the exit code."""
    code = _run(sys.argv[1:] if args is None else list(args))
    if code == STOPPED and args is None and "jax" in sys.modules:
        # JAX may crash if the interpreter shuts down in the middle of its work.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run(args: list[str]) -> int:
    try:
        if not args or args[0] in ("-h", "--help"):
            print(_help())
            return 0 if args else 2
        if args[0] == "--version":
            print(f"hyperaction {__version__}")
            return 0
        if args[0] not in COMMANDS:
            raise UserError(f"{unknown('command', args[0], COMMANDS)} (hyperaction --help)")
        with held_warnings():
            import_module(f"{__package__}.{COMMANDS[args[0]].module}").main(args[1:])
    except BrokenPipeError:  # The reader of the output has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        print_error(f"out of memory: {error}")
        return 1
    except UserError as error:
        print_error(str(error))
        return error.code
    except (ValueError, RuntimeError, OSError) as error:
        print_error(error_message(error))
        return 2 if isinstance(error, ArgumentError) else 1
    except KeyboardInterrupt:
        print_error("stopped")
        return STOPPED
    return 0


def _help() -> str:
    lines = ["usage: hyperaction COMMAND [OPTIONS]", "", DESCRIPTION]
    group = ""
    for name, command in COMMANDS.items():
        if command.group != group:
            group = command.group
            lines += ["", f"{group}:"]
        lines.append(f"  {name:<15}{command.help}")
    lines += ["", "hyperaction COMMAND --help shows the options of a command."]
    lines += ["hyperaction --version shows the version."]
    return "\n".join(lines)
