"""Transitions to learn from: a buffer over rings of NumPy arrays, n-step returns and priorities."""
