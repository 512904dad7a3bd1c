"""A run's directory: its settings and what it measured; needs no JAX."""

from hyperaction.runs.directory import Run, read_metrics

__all__ = ["Run", "read_metrics"]
