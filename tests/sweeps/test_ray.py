"""A sweep on a real Ray cluster of two nodes, of which one is killed."""

import json
import os
import signal
import subprocess
import sys

import pytest

from hyperaction.cli import main
from hyperaction.runs.progress import read_progress
from tests.killing import metrics
from tests.sweeps.test_sweeps import TRAIN, start, sweep_args, wait_for

pytest.importorskip("ray")

CELLS = ["tests.faulty-Faulty-v0/one/seed-0", "tests.faulty-Faulty-v0/one/seed-1"]
STEPS = "2000"

HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
}
"""A dead node is noticed within seconds instead of a minute."""

CLUSTER = """
import json, sys
from ray.cluster_utils import Cluster
two = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = two.add_node(num_cpus=1)
print(json.dumps([two.address, [each.pid for _, each in second.live_processes()]]), flush=True)
sys.stdin.read()
two.shutdown()
"""


@pytest.fixture
def cluster():
    """The address of two nodes, and the processes of the second."""
    command = [sys.executable, "-c", CLUSTER]
    environ = os.environ | HEALTH | {"FAULT": "slow"}  # So that both nodes are seen at work.
    with subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield json.loads(process.stdout.readline())
        process.stdin.close()


@pytest.mark.parametrize("kind", [Exception, TimeoutError, ConnectionError])
def test_a_cluster_that_does_not_start_costs_one_line(kind, monkeypatch):
    from hyperaction.sweeps import ray as clusters

    def init(**options):
        raise kind("The current node timed out during startup.\nThis could happen because")

    monkeypatch.setattr(clusters.ray, "init", init)
    with pytest.raises(ValueError, match=r"^--ray local: cannot reach a cluster \(.*startup\.\)$"):
        clusters.Cluster("local", 0)


def test_a_node_that_dies_costs_no_result(cluster, tmp_path):
    address, second = cluster
    out = tmp_path / "sweep"
    process = start(sweep_args(out, "--ray", address, "--steps", STEPS))
    cells = [out / cell for cell in CELLS]
    # The first may be done before the second has begun, where the machine is busy.
    wait_for(lambda: all(read_progress(cell).step > 500 for cell in cells), process, seconds=240)
    for number in second:  # As when its power fails.
        os.kill(number, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, (stdout, stderr)
    assert "2 of 2 runs are done" in stdout
    for seed, cell in enumerate(cells):
        whole = tmp_path / "whole" / str(seed)
        args = [*TRAIN, "--steps", STEPS, "--phase-steps", "200", "--seed", str(seed)]
        assert main([*args, "--out", str(whole)]) == 0
        assert metrics(cell) == metrics(whole)
