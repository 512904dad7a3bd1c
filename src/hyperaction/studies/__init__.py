"""The paper's experiments, each in its own package."""
