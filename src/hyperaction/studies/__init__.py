"""The paper's experiments, as data."""

from typing import Any

from hyperaction.studies import atari, physical
from hyperaction.studies.curves import Published


def published(config: dict[str, Any]) -> Published | None:
    """What the authors published for the agent and the environment of a run, if anything."""
    return physical.published(config) or atari.published(config)
