"""A table of comma-separated values."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from hyperaction.runs.files import write_text

FILE = "metrics.csv"
STEP = "step"


class CSV:
    """One row for each step with metrics, in `metrics.csv`; a metric that is new adds a column."""

    def __init__(self, out: Path, step: int) -> None:
        self._path = out / FILE
        self._columns = [STEP]
        self._rows: list[dict[str, str]] = []
        if step and self._path.exists():
            with self._path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                # Rows after the step are written again.
                self._rows = [row for row in reader if _step(row) <= step]
                self._columns = list(reader.fieldnames or self._columns)
        self._write()

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds a row, or adds to that of the same step."""
        row = {name: repr(float(value)) for name, value in metrics.items()}
        is_same = bool(self._rows) and _step(self._rows[-1]) == step
        if is_same:
            self._rows[-1] |= row
        else:
            self._rows.append({STEP: str(step), **row})
        missing = [name for name in row if name not in self._columns]
        self._columns += missing
        if is_same or missing:
            self._write()
        else:
            with self._path.open("a", newline="", encoding="utf-8") as file:
                file.write(self._text(self._rows[-1:]))

    def close(self) -> None:
        """Everything has been written."""

    def _write(self) -> None:
        header = dict(zip(self._columns, self._columns, strict=True))
        write_text(self._path, self._text([header, *self._rows]))

    def _text(self, rows: list[dict[str, str]]) -> str:
        text = io.StringIO()
        writer = csv.DictWriter(text, self._columns, restval="", lineterminator="\n")
        writer.writerows(rows)
        return text.getvalue()


def _step(row: dict[str, str]) -> int:
    """The step of a row; one that was cut short is later than any."""
    try:
        return int(row[STEP])
    except (KeyError, TypeError, ValueError):
        return 2**63
