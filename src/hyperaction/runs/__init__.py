"""What a run keeps on disk."""

from hyperaction.runs.arrays import read_arrays, write_arrays
from hyperaction.runs.directory import Run, read_config, read_metrics

__all__ = ["Run", "read_arrays", "read_config", "read_metrics", "write_arrays"]
