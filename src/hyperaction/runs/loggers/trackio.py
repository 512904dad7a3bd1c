"""Trackio, whose runs are stored on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hyperaction.runs.loggers.identity import PROJECT, run_id, run_name, run_settings


class Trackio:
    """A run of Trackio, in a database of this machine that `trackio show` serves.

    Its own environment variables choose another place: TRACKIO_DIR, TRACKIO_SPACE_ID.
    """

    def __init__(self, out: Path, step: int) -> None:
        import trackio
        from trackio.sqlite_storage import SQLiteStorage

        identity, settings = run_id(out, "trackio", step), run_settings(out)
        project = os.environ.get("TRACKIO_PROJECT") or PROJECT
        name = run_name(settings, identity)
        rows = SQLiteStorage.get_logs(project, name) if step else []
        self._logged = {(row["step"], metric) for row in rows for metric in row}
        self._run: Any = trackio.init(
            project=project,
            name=name,
            config=settings,
            resume="allow",
            embed=False,
            auto_log_cpu=False,
            auto_log_gpu=False,
        )

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds metrics, but for those that a run logged before it resumed."""
        new = {name: value for name, value in metrics.items() if (step, name) not in self._logged}
        if new:
            self._run.log(new, step=step)

    def close(self) -> None:
        """Writes what is left."""
        self._run.finish()
