"""Convolutions of images, by the fastest kernel that the processor has."""

from hyperaction.kernels.conv.conv2d import ConvSpec, conv2d

__all__ = ["ConvSpec", "conv2d"]
