"""Benchmarks of speed, as ratios within one run and distances from lower bounds."""
