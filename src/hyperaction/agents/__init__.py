"""Agents: settings that are data, and the functions that act and learn by them."""
