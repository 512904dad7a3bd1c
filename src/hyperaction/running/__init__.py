"""Runs: prepared, trained, watched, and played."""
