"""A run on disk."""

from hyperaction.runs.directory import Run, read_config, read_metrics
from hyperaction.runs.files import read_arrays, write_arrays

__all__ = ["Run", "read_arrays", "read_config", "read_metrics", "write_arrays"]
