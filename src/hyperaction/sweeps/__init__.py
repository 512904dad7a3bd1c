"""Grids of runs on this machine's cores or on a Ray cluster."""
