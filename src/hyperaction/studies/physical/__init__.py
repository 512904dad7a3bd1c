"""Physical control: what the paper's authors published, to measure runs against."""

from hyperaction.studies.physical.published import published

__all__ = ["published"]
