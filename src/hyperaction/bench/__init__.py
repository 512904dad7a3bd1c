"""Speed, as ratios in one run and as distances from the floor."""
