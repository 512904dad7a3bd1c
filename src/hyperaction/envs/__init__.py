"""Gymnasium environments in, factored actions out."""
