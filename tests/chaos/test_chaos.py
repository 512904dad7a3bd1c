"""A trial or two of most kinds of faults; `make chaos` runs a thousand."""

import pytest

from tests.chaos.__main__ import run
from tests.chaos.trial import References

SMALL = [
    ("run dies at any moment", 3),
    ("kill -9 of a run", 0),  # The one that starts a process, which takes seconds.
    ("full disk", 2),
    ("read-only directory", 2),
    ("removed directory", 3),
    ("damaged files", 1),
    ("damaged files", 2),
    ("hostile config", 1),
    ("hostile metrics", 1),
    ("hostile progress", 1),
    ("hostile agent", 3),
    ("hostile manifest", 2),
    ("hostile environment", 4),
    ("Ctrl-C in learn", 4),
    ("exception in learn", 2),
    ("any arguments", 1),
    ("any arguments", 2),
    ("stranger's archive", 4),
    ("modules beside the user", 4),
    ("config names a module", 0),
    ("failing logger", 3),
    ("extreme settings", 1),
    ("requests to the page", 4),
]
"""Kinds and seeds, among them the cheapest of each kind."""


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return References(tmp_path_factory.mktemp("references"))


@pytest.mark.parametrize(("kind", "seed"), SMALL)
def test_a_fault_costs_one_line_and_no_result(references, kind, seed):
    outcome = run(references, seed, kind, quick=True)
    assert outcome.problem is None, outcome
