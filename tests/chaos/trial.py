"""One trial: a directory of its own with a run and files of strangers, and what must hold there."""

import hashlib
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path
from random import Random

import pytest

from hyperaction.training.config import parse_train
from tests.chaos import envs
from tests.chaos.commands import TAG, Result, ViolationError, here, left_behind
from tests.killing import Killer, metrics, train_in

STEPS, PHASE, STOPPED_AT = 240, 80, 200

TRAIN = [
    "train", "Switches-v0", "--steps", str(STEPS), "--phase-steps", str(PHASE),
    "--evaluation-steps", "20", "--learning-starts", "40", "--batch-size", "8", "--hidden", "8",
    "--total-width", "8", "--loggers",
]  # fmt: skip

SAID = re.compile(r"differ|kept as|lost|without|set aside|starts over|left out")
"""Words of a message that results are not those of a run that never failed."""

FOLDERS = ("runs", "written", "beside", "child")

STRANGERS = ("notes.txt", "checkpoints/model_best.pt", "checkpoints/state-best.safetensors")
"""Files in a run's directory that are not the run's."""


class References:
    """Runs that never failed: one complete, and one that was asked to stop."""

    def __init__(self, folder):
        self.whole, self.half = folder / "whole", folder / "half"
        for out in (self.whole, self.half):
            stops = out == self.half
            calls = _calls_to(STOPPED_AT) if stops else 0
            envs.strike(_ask_to_stop if stops else None, calls)
            result = here(*TRAIN, "--out", out, seconds=300)
            envs.strike(None, 0)
            assert result.code == (130 if stops else 0), result
        self.metrics = metrics(self.whole)
        with pytest.MonkeyPatch.context() as patch:
            killer = Killer(patch)
            train_in(folder / "watched", parse_train(TRAIN[1:]))
        self.moments = killer.seen
        """What a run does, in order: steps, writes, renames, lines of metrics."""


def _calls_to(step):
    """Calls of the environment, in training and evaluation, up to a step of training."""
    phases = step // PHASE
    return 1 + step + step // 10 + phases * (1 + 20 + 2)


def _ask_to_stop(call, answer):
    signal.raise_signal(signal.SIGTERM)
    return tuple(answer)


class Trial:
    """A directory with a run, a good run beside it, and files of strangers.

    Args:
        references: Runs that never failed.
        seed: Where all random choices come from.
        quick: Read results with the quick commands only.
    """

    def __init__(self, references, seed, quick=False):
        self.references, self.rng, self.quick = references, Random(seed), quick
        self.root = Path(tempfile.mkdtemp(prefix="hyperaction-chaos-"))
        self.root.chmod(0o755)
        self.runs, self.written = self.root / "runs", self.root / "written"
        self.run, self.beside = self.runs / "run", self.root / "beside"
        self.notes = []
        os.environ[TAG] = self.root.name
        shutil.copytree(references.whole, self.runs / "good")
        self.written.mkdir()
        self.beside.mkdir()
        (self.beside / "thesis.txt").write_text("years of work\n")
        (self.beside / "disk").mkdir()
        (self.beside / "disk" / "model_best.pt").write_text("weeks of training")
        (self.beside / "metrics.jsonl").write_text('{"kind": "eval", "step": 1, "return": 1}\n')
        self._planted = {}
        self.remember_others()

    def note(self, text):
        """Remembers what was done."""
        self.notes.append(text)

    def begin(self, state="half"):
        """Begins with a copy of a reference run, with files of strangers in it."""
        source = {"half": self.references.half, "whole": self.references.whole}[state]
        shutil.copytree(source, self.run)
        agent, states = self.run / "agent.safetensors", (self.run / "checkpoints").glob("state-*")
        agent.unlink()
        os.link(max(states), agent)  # As a run does it.
        self.plant()

    def plant(self):
        """Plants files of strangers, and remembers all that is not the run's."""
        for name in STRANGERS:
            if self.run.exists():
                (self.run / name).parent.mkdir(exist_ok=True)
                (self.run / name).write_text(f"a stranger's {name}")
        self.remember_others()

    def remember_others(self):
        """All that is not the run's, as it is now, is to stay so."""
        self._planted = self._others()

    def _others(self):
        """All files that are not the run's, with their contents."""
        files = [self.run / name for name in STRANGERS]
        for folder in (self.runs / "good", self.beside):
            files += folder.rglob("*")
        return {file: _content(file) for file in files if os.path.lexists(file)}

    def train(self, *more, **options) -> Result:
        """Trains, or resumes, in this process."""
        return here(*TRAIN, "--out", self.run, *more, **options).check()

    def check_others(self, moved=None):
        """Raises unless all that is not the run's is as it was."""
        after = self._others()
        for file, content in self._planted.items():
            is_moved = moved is not None and self.run in file.parents
            place = moved / file.relative_to(self.run) if is_moved else file
            if _content(place) != content:
                how = "changed" if os.path.lexists(place) else "removed"
                raise ViolationError(f"a stranger's {file.relative_to(self.root)} was {how}")
        appeared = [file for file in after if file not in self._planted and file.exists()]
        appeared = [file for file in appeared if self.beside / "disk" not in file.parents]
        appeared += [path for path in self.root.iterdir() if path.name not in FOLDERS]
        if appeared:
            raise ViolationError(f"files appeared outside the run: {appeared}")

    def check_same(self):
        """Raises unless the run's metrics are those of one that never failed."""
        if metrics(self.run) != self.references.metrics:
            raise ViolationError("metrics differ from those of a run that never failed")
        self.check_clean()

    def check_clean(self):
        """Raises if something is left that should not be: parts of files, processes."""
        parts = [path.name for path in self.run.rglob("*.part") if not path.is_symlink()]
        if parts:
            raise ViolationError(f"left behind: {parts}")
        if found := left_behind():
            raise ViolationError(f"processes left behind: {found}")

    def check_resumes(self, must=False):
        """The run resumes to the same metrics, says why not, or is refused in one line.

        Args:
            must: It may not be refused.
        """
        before = _bytes(self.run / "metrics.jsonl")
        result = self.train()
        self.check_others()
        if result.code == 0:
            if SAID.search(result.out):
                self.check_clean()
                self._check_kept(before)
            else:
                self.check_same()
        else:
            if must:
                raise ViolationError(f"one damaged file stops the run: {result.err.strip()}")
            self.check_clean()
            self._check_kept(before)
            if "--fresh" in result.err:
                self._check_fresh()

    def check_resumes_same(self):
        """The run resumes to the metrics of one that never failed; nothing less will do."""
        result = self.train()
        if result.code:
            raise ViolationError(f"the run cannot be resumed: {result.err.strip()}")
        self.check_others()
        self.check_same()
        agent, states = self.run / "agent.safetensors", self.run.glob("checkpoints/state-0*")
        if _content(agent) != _content(max(states)):
            raise ViolationError("agent.safetensors is not the agent of the last checkpoint")

    def _check_fresh(self):
        """The advice to start over is good."""
        result = self.train("--fresh")
        if result.code:
            raise ViolationError(f"--fresh is advised and refused: {result.err.strip()}")
        self.check_others(moved=self.runs / "run-old-1")
        self.check_same()

    def _check_kept(self, before):
        """Results that were there are still in some file."""
        files = [*self.run.glob("metrics*"), *self.runs.glob("run-old-*/metrics*")]
        if before and not any(_bytes(file).startswith(before) for file in files):
            raise ViolationError("results were lost")

    def close(self):
        """Removes the trial's directory."""
        envs.strike(None, 0)
        left_behind(0.0)
        shutil.rmtree(self.root, ignore_errors=True)


def _bytes(file):
    return file.read_bytes() if file.is_file() and not file.is_symlink() else b""


def _content(file):
    if file.is_symlink():
        return f"link to {os.readlink(file)}"
    if file.is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return "something" if file.exists() else None
