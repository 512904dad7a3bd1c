"""Physical control: learning curves that were published."""

from hyperaction.studies.physical.published import peer_curve, published_curve, published_curves

__all__ = ["peer_curve", "published_curve", "published_curves"]
