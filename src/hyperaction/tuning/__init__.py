"""Searches for settings that learn better than a preset's; every trial is an ordinary run."""
