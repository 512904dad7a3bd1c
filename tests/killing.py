"""Runs that are killed in the middle of things, in one process."""

import json

from hyperaction.envs.guard import unguarded
from hyperaction.envs.vector import Single
from hyperaction.runs import Run, files
from hyperaction.runs.checkpoints import Checkpoints
from hyperaction.training.assembly import assemble
from hyperaction.training.run_parts import MadeParts
from hyperaction.training.session import Session


def train_in(out, config):
    """Trains a run in this process, or resumes it."""
    env = config.make_env()
    agent, _ = assemble(config.agent_config, env)
    env.close()
    with Run(out, config.as_dict()) as run:
        Session(config, MadeParts(config, agent, unguarded)).train(run, lambda: None)


def metrics(out):
    """The metrics of a run, without the wall-clock time."""
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k != "steps_per_second"} for row in rows]


class KilledError(BaseException):
    """As sudden as a kill, but in one process."""


class Killer:
    """Raises at the n-th of all moments that are watched: steps, writes, renames, log lines."""

    def __init__(self, monkeypatch):
        self.left, self.seen = None, []
        self._watch(monkeypatch, Single, "step")
        self._watch(monkeypatch, files, "save_file")
        self._watch(monkeypatch, files.os, "replace")
        self._watch(monkeypatch, Run, "log")
        self._watch(monkeypatch, Checkpoints, "_prune")

    def _watch(self, monkeypatch, owner, name):
        work = getattr(owner, name)

        def watched(*args, **options):
            self.seen.append(name)
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    if name == "log":  # Half a line is written.
                        with (args[0].out / "metrics.jsonl").open("ab") as file:
                            file.write(b'{"kind": "tr')
                    raise KilledError
            return work(*args, **options)

        monkeypatch.setattr(owner, name, watched)
