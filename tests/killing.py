"""Runs that are killed in the middle of things, in one process."""

from hyperaction.environments import Single
from hyperaction.runs import Run, arrays
from hyperaction.runs.checkpoints import Checkpoints


class KilledError(BaseException):
    """As sudden as a kill, but in one process."""


class Killer:
    """Raises at the n-th of all moments that are watched: steps, writes, renames, log lines."""

    def __init__(self, monkeypatch):
        self.left, self.seen = None, []
        self._watch(monkeypatch, Single, "step")
        self._watch(monkeypatch, arrays, "save_file")
        self._watch(monkeypatch, arrays.os, "replace")
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
                        args[0]._metrics.write('{"kind": "tr')
                        args[0]._metrics.flush()
                    raise KilledError
            return work(*args, **options)

        monkeypatch.setattr(owner, name, watched)
