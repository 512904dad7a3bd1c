"""The paper's experiments, as data."""

from typing import Any

from hyperaction.studies import atari, physical


def published(config: dict[str, Any]) -> physical.Published | atari.Published | None:
    """What the authors published for the agent and the environment of a run, if anything."""
    return physical.published(config) or atari.published(config)
