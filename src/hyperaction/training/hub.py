"""Agents of the Hugging Face hub: a repository of it, fetched into a folder of this machine."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from hyperaction.errors import SettingError
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.runs.reader import CONFIG

REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def hub_folder(source: str | Path, revision: str | None = None) -> Path:
    """The folder of an agent that was exported: one of this machine, or a fetched repository.

    Args:
        source: The folder, or the name of a repository, such as `user/name`.
        revision: A branch, tag or commit of the repository.
    """
    if Path(source).exists():
        return Path(source)
    if not REPOSITORY.fullmatch(str(source)):
        raise SettingError(
            f"`source` {source} is neither a folder nor a repository of the hub, such as user/name"
        )
    if find_spec("huggingface_hub") is None:
        raise ValueError(f"{source} needs huggingface_hub: pip install 'hyperaction[hub]'")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        # What the agent is read from, and nothing else of a stranger's repository.
        found = snapshot_download(
            str(source), revision=revision, allow_patterns=[AGENT_FILE, CONFIG]
        )
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
        reason = " ".join(str(error).split(". ")[0].split())
        raise ValueError(f"{source} cannot be fetched from the hub: {reason}") from None
    return Path(found)
