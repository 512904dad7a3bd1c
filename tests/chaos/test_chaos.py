"""Some trials of every kind of fault; `make chaos` runs a thousand."""

import pytest

from tests.chaos.__main__ import run
from tests.chaos.faults import FAULTS
from tests.chaos.trial import References

pytestmark = pytest.mark.usefixtures("shared_programs")

IN_PROCESSES = ("kill -9 of a run", "SIGINT, SIGTERM or SIGHUP", "SIGSTOP and SIGCONT",
                "signal to a sweep", "two processes", "sudden environment")  # fmt: skip
"""Kinds that start processes, which takes seconds: one trial of one of them is enough here."""

SMALL = [("kill -9 of a run", 0)]
SMALL += [(fault.name, 0) for fault in FAULTS if fault.name not in IN_PROCESSES]


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return References(tmp_path_factory.mktemp("references"))


@pytest.mark.parametrize(("kind", "seed"), SMALL)
def test_a_fault_costs_one_line_and_no_result(references, kind, seed):
    outcome = run(references, seed, kind, quick=True)
    assert outcome.problem is None, outcome
