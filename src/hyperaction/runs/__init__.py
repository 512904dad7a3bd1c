"""A run on disk."""

from hyperaction.runs.directory import Run
from hyperaction.runs.files import read_arrays, write_arrays
from hyperaction.runs.reader import read_config, read_metrics

__all__ = ["Run", "read_arrays", "read_config", "read_metrics", "write_arrays"]
