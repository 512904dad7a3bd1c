"""Gymnasium environments in, factored actions out."""

from hyperaction.environments.factored import Factored, make

__all__ = ["Factored", "make"]
