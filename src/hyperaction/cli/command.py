"""The command itself: which verb it is, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from hyperaction.cli.atari_figures import atari_figures
from hyperaction.cli.bandits import bandits
from hyperaction.cli.looking import compare, explain, table, video
from hyperaction.cli.measuring import bench
from hyperaction.cli.sharing import report, watch
from hyperaction.cli.terminal import STOPPED, UserError, told, unknown
from hyperaction.cli.training import evaluate, sweep, train
from hyperaction.parsing import ArgumentError

DESCRIPTION = """\
Value-based reinforcement learning where an action has several dimensions:
action hypergraph networks and hypergraph Q-networks."""


COMMANDS: dict[str, dict[str, Callable[[Sequence[str]], None]]] = {
    "Train": {"train": train, "sweep": sweep, "evaluate": evaluate},
    "Look": {"compare": compare, "table": table, "explain": explain, "video": video},
    "Share": {"report": report, "watch": watch},
    "Reproduce the paper": {"bandits": bandits, "atari-figures": atari_figures},
    "Measure": {"bench": bench},
}
"""The commands, grouped by what a person wants to do."""


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; the exit code."""
    code = _run(sys.argv[1:] if args is None else list(args))
    if code == STOPPED and args is None and "jax" in sys.modules:
        # At once: JAX may crash where the interpreter ends in the middle of its work.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _run(args: list[str]) -> int:
    if "" not in sys.path:  # So that module:Id finds a module beside the user.
        sys.path.insert(0, "")
    commands = {name: run for group in COMMANDS.values() for name, run in group.items()}
    try:
        if not args or args[0] in ("-h", "--help"):
            print(_help())
            return 0 if args else 2
        if args[0] == "--version":
            from hyperaction import __version__

            print(f"hyperaction {__version__}")
            return 0
        if args[0] not in commands:
            raise UserError(unknown("command", args[0], list(commands)))
        commands[args[0]](args[1:])
    except BrokenPipeError:  # Whoever read the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        print(f"hyperaction: there is not enough memory: {error}", file=sys.stderr)
        return 1
    except UserError as error:
        print(f"hyperaction: {error}", file=sys.stderr)
        return error.code
    except (ValueError, RuntimeError, OSError) as error:
        print(f"hyperaction: {told(error)}", file=sys.stderr)
        return 2 if isinstance(error, ArgumentError) else 1
    except KeyboardInterrupt:
        print("hyperaction: stopped", file=sys.stderr)
        return STOPPED
    return 0


def _help() -> str:
    lines = ["usage: hyperaction COMMAND [OPTIONS]", "", DESCRIPTION]
    for group, commands in COMMANDS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<15}{(run.__doc__ or '').strip()}" for name, run in commands.items()]
    lines += ["", "hyperaction COMMAND --help explains a command's options."]
    lines += ["hyperaction --version tells the version."]
    return "\n".join(lines)
