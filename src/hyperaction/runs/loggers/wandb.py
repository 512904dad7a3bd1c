"""Weights & Biases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from hyperaction.runs.files import write_json
from hyperaction.runs.loggers.identity import PROJECT, run_id, run_name, run_settings
from hyperaction.runs.reader import read_json
from hyperaction.runs.schema import COUNT, TEXT, TEXTS, UnreadableError, check

LOGGED = "wandb-logged.json"
QUIET: dict[str, Any] = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "disable_code": True,
    "x_disable_stats": True,
}
"""It neither prints, nor stores what is printed, the user's code, or how busy the machine is."""

SCHEMA = {"id": TEXT, "step": COUNT, "names": TEXTS}


class WandB:
    """A run of Weights & Biases; offline without a login, to be uploaded by `wandb sync`.

    Its own environment variables choose the rest: WANDB_MODE, WANDB_PROJECT, WANDB_ENTITY.
    """

    close_timeout_s: ClassVar[float] = 60.0
    """Seconds that it may take to upload what is left."""

    def __init__(self, out: Path, step: int) -> None:
        import wandb

        identity, settings = run_id(out, "wandb", step), run_settings(out)
        self._file, self._id = out / LOGGED, identity
        self._last = _last(self._file, identity)
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            id=identity,
            name=run_name(settings, identity),
            config=settings,
            dir=out,
            resume="allow",
            mode=None if "WANDB_MODE" in os.environ or wandb.api.api_key else "offline",
            settings=wandb.Settings(**QUIET),
        )

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Adds metrics, but for those that a run logged before it resumed."""
        last, names = self._last
        if step < last or (step == last and names.issuperset(metrics)):
            return
        self._run.log(metrics, step=step)
        self._last = step, (names if step == last else set()) | set(metrics)
        write_json(self._file, {"id": self._id, "step": step, "names": sorted(self._last[1])})

    def close(self) -> None:
        """Uploads what is left."""
        self._run.finish()


def _last(file: Path, identity: str) -> tuple[int, set[str]]:
    """The last step that was logged, and the metrics of it; none of another run's."""
    try:
        found = read_json(file, lambda content: check(content, SCHEMA))
    except UnreadableError:
        return -1, set()
    return (found["step"], set(found["names"])) if found["id"] == identity else (-1, set())
