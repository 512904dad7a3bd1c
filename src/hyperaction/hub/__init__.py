"""Agents to share on the Hugging Face hub."""
