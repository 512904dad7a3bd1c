import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "hgqn.py"


def test_the_single_file_example_learns_to_steer():
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--steps", "2500"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # A random policy gets -51 on average.
    assert float(done.stdout.splitlines()[-1].removeprefix("greedy: ")) > -10
