"""What an agent has learned: rollouts, the contributions of hyperedges, videos."""
