import json
import subprocess
import sys

from tests.strategies import HAS_KERNEL


def test_the_maximise_benchmark_measures_every_case(tmp_path):
    args = ["bench", "maximise", "--states", "2", "--repeats", "1", "--peer-states", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "hyperaction", *args, "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "maximise.json").read_text())
    assert {row["case"] for row in rows["exact"]} >= {"HalfCheetah rank 3", "Ant rank 2"}
    assert all(row["exact"] and row["forward passes"] > 0 for row in rows["exact"])
    assert all(row["times pytoulbar2"] > 0 for row in rows["exact"])
    if HAS_KERNEL:
        assert {row["way"] for row in rows["large"]} == {"ascent", "branch-and-bound"}
    assert all(row["largest loss"] < 0.005 for row in rows["large"])
    assert len({row["series"] for row in rows["growth"]}) == 4
    assert (tmp_path / "maximise-growth.png").read_bytes().startswith(b"\x89PNG")
    assert "The exact maximum of a batch" in done.stdout
