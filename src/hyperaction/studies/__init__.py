"""The paper's experiments, as data."""

from hyperaction.studies.physical import published

__all__ = ["published"]
