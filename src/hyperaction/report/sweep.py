"""A sweep on its way, in a table that fits the terminal, and in lines where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

STYLES = {"running": "", "queued": "dim", "waiting": "dim", "failed": "red", "done": "green"}


class Row(NamedTuple):
    """A run of the sweep."""

    name: str
    state: str
    step: int
    steps: int
    steps_per_second: float
    last_return: float | None
    attempts: int
    reason: str


NARROW = 70
"""Columns of a terminal below which only the most important of a table are shown."""


def live(rows: Sequence[Row], seconds_left: float | None, width: int, height: int) -> Group:
    """The table of what goes on: running and failed runs, then what else there is room for."""
    order = {"running": 0, "failed": 1, "done": 2, "queued": 3, "waiting": 4}
    shown = sorted(rows, key=lambda row: order[row.state])[: max(1, height - 8)]
    table = Table(expand=True)
    table.add_column("run", overflow="ellipsis", no_wrap=True, ratio=1)
    columns = ("steps", "return") if width < NARROW else ("state", "steps", "steps/s", "return")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in shown:
        again = f" ({row.attempts})" if row.attempts > 1 and row.state == "running" else ""
        cells = {
            "state": row.state + again,
            "steps": f"{100 * min(1.0, row.step / row.steps):.0f}%",
            "steps/s": f"{row.steps_per_second:.0f}" if row.state == "running" and row.step else "",
            "return": "" if row.last_return is None else f"{row.last_return:,.1f}",
        }
        told = [cells[name] for name in columns]
        room = width - (24 if width < NARROW else 48)  # What the other columns leave.
        table.add_row(_ending(row.name, room), *told, style=STYLES[row.state])
    hidden = len(rows) - len(shown)
    more = [Text(f"and {hidden} more", style="dim")] if hidden else []
    done = sum(min(row.step, row.steps) for row in rows)
    total = sum(row.steps for row in rows)
    # A bar ends no line by itself; a grid does.
    bar = Table.grid(expand=True)
    bar.add_row(ProgressBar(total=total, completed=done))
    return Group(table, *more, bar, Text(totals(rows, seconds_left)))


def _ending(name: str, room: int) -> str:
    """A name that is too long, without its beginning: seeds and agents are at the end."""
    room = max(12, room)
    return name if len(name) <= room else f"...{name[3 - room :]}"


def totals(rows: Sequence[Row], seconds_left: float | None) -> str:
    """How many runs are in which state, and how long the rest will take."""
    counts = {state: sum(row.state == state for row in rows) for state in STYLES}
    said = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{said}; left {duration(seconds_left)}" if seconds_left else said


def duration(seconds: float | None) -> str:
    """Hours, minutes and seconds."""
    if seconds is None:
        return "-:--:--"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


class Lines:
    """What has changed, a line each: for files, and terminals that cannot be written over."""

    def __init__(self, say: Callable[[str], Any]) -> None:
        self._say = say
        self._before: dict[str, tuple[str, int]] = {}

    def __call__(self, rows: Sequence[Row], seconds_left: float | None) -> None:
        """Tells of the runs whose state changed."""
        changed = [row for row in rows if self._before.get(row.name) != (row.state, row.attempts)]
        self._before = {row.name: (row.state, row.attempts) for row in rows}
        for row in changed:
            if row.state == "running":
                self._say(f"{row.name}: running from step {row.step:,}, attempt {row.attempts}")
            elif row.state == "done" and row.attempts:
                found = "" if row.last_return is None else f", return {row.last_return:,.1f}"
                self._say(f"{row.name}: done{found} ({totals(rows, seconds_left)})")
            elif row.attempts and row.state != "queued":
                again = "" if row.state == "failed" else ", will be taken up again"
                self._say(f"{row.name}: died{again}: {row.reason}")


def summary(rows: Sequence[Row]) -> list[str]:
    """What succeeded and what failed, in the end."""
    done = [row for row in rows if row.state == "done"]
    failed = [row for row in rows if row.state == "failed"]
    said = [f"{len(done)} of {len(rows)} runs are done"]
    if failed:
        said[0] += f", {len(failed)} failed:"
        said += [f"  {row.name}, step {row.step:,}: {row.reason}" for row in failed]
    return said
