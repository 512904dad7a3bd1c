"""The state of a sweep: a live table that fits the terminal, or lines where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hyperaction.sweeps.scheduler import Job

STYLES = {
    "running": "",
    "queued": "dim",
    "waiting": "dim",
    "failed": "red",
    "done": "green",
    "stopped": "dim",
}

NARROW = 70
"""Terminals with fewer columns than this show only the most important ones of the table."""


def live_table(jobs: Sequence[Job], seconds_left: float | None, width: int, height: int) -> Group:
    """Running and failed runs, then as many others as fit."""
    order = {"running": 0, "failed": 1, "done": 2, "queued": 3, "waiting": 4, "stopped": 5}
    shown = sorted(jobs, key=lambda job: order[job.state])[: max(1, height - 8)]
    table = Table(expand=True)
    table.add_column("run", overflow="ellipsis", no_wrap=True, ratio=1)
    columns = ("steps", "return") if width < NARROW else ("state", "steps", "steps/s", "return")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    name_width = width - (24 if width < NARROW else 48)  # The width of the other columns.
    for job in shown:
        cells = _cells(job)
        values = [cells[name] for name in columns]
        table.add_row(_shorten(job.cell.name, name_width), *values, style=STYLES[job.state])
    hidden = len(jobs) - len(shown)
    more = [Text(f"and {hidden} more", style="dim")] if hidden else []
    done = sum(min(job.progress.step, job.cell.steps) for job in jobs)
    total = sum(job.cell.steps for job in jobs)
    # A bar does not end its line; a grid does.
    bar = Table.grid(expand=True)
    bar.add_row(ProgressBar(total=total, completed=done))
    return Group(table, *more, bar, Text(totals(jobs, seconds_left)))


def _cells(job: Job) -> dict[str, str]:
    running, progress = job.state == "running", job.progress
    attempt = f" ({job.attempts})" if job.attempts > 1 and running else ""
    return {
        "state": job.state + attempt,
        "steps": f"{100 * min(1.0, progress.step / job.cell.steps):.0f}%",
        "steps/s": f"{progress.steps_per_second:.0f}" if running and progress.step else "",
        "return": "" if progress.last_return is None else f"{progress.last_return:,.1f}",
    }


def _shorten(name: str, width: int) -> str:
    """The end of a name that is too long, where agent and seed are."""
    width = max(12, width)
    return name if len(name) <= width else f"...{name[3 - width :]}"


def totals(jobs: Sequence[Job], seconds_left: float | None) -> str:
    """How many runs are in each state, and the time left."""
    counts = {state: sum(job.state == state for job in jobs) for state in STYLES}
    text = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{text}; left {_duration(seconds_left)}" if seconds_left else text


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


class ChangeLog:
    """Prints a line for each change of state, for files and terminals without a live table."""

    def __init__(self, print_line: Callable[[str], Any]) -> None:
        self._print = print_line
        self._before: dict[str, tuple[str, int]] = {}

    def __call__(self, jobs: Sequence[Job], seconds_left: float | None) -> None:
        """Prints the runs whose state changed since the last call."""
        now: dict[str, tuple[str, int]] = {job.cell.name: (job.state, job.attempts) for job in jobs}
        changed = [job for job in jobs if self._before.get(job.cell.name) != now[job.cell.name]]
        self._before = now
        for job in changed:
            name, progress = job.cell.name, job.progress
            if job.state == "running":
                self._print(f"{name}: running from step {progress.step:,}, attempt {job.attempts}")
            elif job.state == "done" and job.attempts:
                last = progress.last_return
                result = "" if last is None else f", return {last:,.1f}"
                self._print(f"{name}: done{result} ({totals(jobs, seconds_left)})")
            elif job.state == "stopped":
                self._print(f"{name}: stopped early at step {progress.step:,}")
            elif job.attempts and job.state != "queued":
                retry = "" if job.state == "failed" else ", will be retried"
                self._print(f"{name}: died{retry}: {job.reason}")


def summary(jobs: Sequence[Job]) -> list[str]:
    """How many runs are done, and which failed."""
    done = [job for job in jobs if job.state == "done"]
    failed = [job for job in jobs if job.state == "failed"]
    lines = [f"{len(done)} of {len(jobs)} runs are done"]
    if failed:
        lines[0] += f", {len(failed)} failed:"
        lines += [f"  {job.cell.name}, step {job.progress.step:,}: {job.reason}" for job in failed]
    return lines
