"""Training: the compiled agent, everything that changes, its evaluator, and the loop."""
