"""Physical control: the learning curves that the paper's authors published."""

from hyperaction.studies.physical.published import published_curve, published_curves

__all__ = ["published_curve", "published_curves"]
