"""How many examples a law is held to: HYPERACTION_EXAMPLES for each, in a thorough run more."""

import os

USUAL = 8
EXAMPLES = int(os.environ.get("HYPERACTION_EXAMPLES", USUAL))


def examples(usual):
    """How many examples, for a law that usually has so many, as each of its own compiles much."""
    return max(1, usual * EXAMPLES // USUAL)
