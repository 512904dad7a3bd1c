"""What an agent learned: representations, and the canonical form that makes them comparable."""
