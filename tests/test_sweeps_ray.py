"""A sweep on a real Ray cluster of two nodes, of which one is killed."""

import os
import signal
import subprocess
import sys

import pytest

from hyperaction.runs.progress import read_progress
from tests.test_faults import metrics
from tests.test_sweeps import sweep, wait_for

ray = pytest.importorskip("ray")

CELLS = ["tests.faulty-Faulty-v0/two/seed-0", "tests.faulty-Faulty-v0/two/seed-1"]


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    two = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield two, two.add_node(num_cpus=1)
    two.shutdown()


def test_a_node_that_dies_costs_no_result(cluster, tmp_path):
    two, second = cluster
    out = tmp_path / "sweep"
    process = sweep(out, "--ray", two.address, "--only", "*/two/*", "--steps", "6000")
    cells = [out / cell for cell in CELLS]
    wait_for(lambda: all(500 < read_progress(cell).step < 4000 for cell in cells), process)
    for one in second.live_processes():  # As when its power fails.
        os.kill(one[1].pid, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 0, (stdout, stderr)
    assert "2 of 2 runs are done" in stdout
    whole = tmp_path / "whole"
    for seed, cell in enumerate(cells):
        command = [
            sys.executable, "-m", "hyperaction", "train", "tests.faulty:Faulty-v0", "--rank", "2",
            "--steps", "6000", "--phase-steps", "500", "--evaluation-steps", "20", "--hidden", "8",
            "--replay-start", "80", "--no-tensorboard", "--seed", str(seed), "--out",
            str(whole / str(seed)),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        assert metrics(cell) == metrics(whole / str(seed))
