"""Files of a run that are damaged, removed, or replaced by something else."""

import os
import shutil

from tests.chaos.commands import ViolationError, here
from tests.chaos.readers import check_readers

FILES = (
    "config.json", "metrics.jsonl", "progress.json", "agent.safetensors", "lock",
    "checkpoints/checkpoint-*.json", "checkpoints/state-0*", "checkpoints/replay-*", "checkpoints",
)  # fmt: skip


def damage(trial):
    """A damaged run is read or reported in one line; it resumes, or is refused in one line."""
    trial.begin(trial.rng.choice(("half", "half", "whole")))
    weights, struck = _weights(trial), []
    for _ in range(trial.rng.choice((1, 1, 1, 2))):
        name = trial.rng.choice(FILES)
        files = sorted(trial.run.glob(name))
        if not files:
            continue
        file = trial.rng.choice(files)
        methods = list(METHODS) if file.is_file() else ["delete", "fifo", "link", "dangling"]
        method = trial.rng.choice(methods)
        trial.note(f"{method} {file.relative_to(trial.run)}")
        METHODS[method](file, trial)
        struck.append((name, method))
    trial.remember_others()
    check_readers(trial)
    if weights != _weights(trial) and not here("evaluate", trial.run).code:
        raise ViolationError("an agent is evaluated whose weights were damaged")
    trial.check_resumes(must=len(struck) == 1 and _is_harmless(*struck[0]))


def _weights(trial):
    """The part of the agent's file that holds its arrays, if there is one."""
    file = trial.run / "agent.safetensors"
    data = file.read_bytes() if file.is_file() else b""
    return data[8 + int.from_bytes(data[:8], "little") :]


def _is_harmless(name, method):
    """Whether a run resumes in spite of it: there are two checkpoints, the rest is made again."""
    replaced = ("directory for", "fifo", "link", "dangling")
    return name not in ("config.json", "checkpoints") and method not in replaced


def _empty(file, trial):
    file.write_bytes(b"")


def _halve(file, trial):
    os.truncate(file, trial.rng.randrange(file.stat().st_size or 1))


def _flip(file, trial):
    data = bytearray(file.read_bytes()) or bytearray(1)
    data[trial.rng.randrange(len(data))] ^= 1 << trial.rng.randrange(8)
    file.write_bytes(data)


def _garbage(file, trial):
    file.write_bytes(trial.rng.randbytes(trial.rng.randrange(200)))


def _double(file, trial):
    file.write_bytes(file.read_bytes() * 2)


def _repeat_line(file, trial):
    lines = file.read_bytes().splitlines(keepends=True) or [b""]
    index = trial.rng.randrange(len(lines))
    file.write_bytes(b"".join([*lines[:index], lines[index], *lines[index:]]))


def _delete(file, trial):
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink()


def _directory(file, trial):
    _delete(file, trial)
    file.mkdir()
    if trial.rng.random() < 0.5:
        (file / "inside").write_text("x")


def _fifo(file, trial):
    _delete(file, trial)
    os.mkfifo(file)


def _link(file, trial):
    _delete(file, trial)
    target = trial.beside / trial.rng.choice(("thesis.txt", "metrics.jsonl"))
    file.symlink_to(trial.beside / "disk" if file.name == "checkpoints" else target)


def _dangling(file, trial):
    _delete(file, trial)
    file.symlink_to(trial.beside / "new")


def _part(file, trial):
    """The name of the temporary file is a link to a stranger's."""
    file.with_name(f"{file.name}.part").symlink_to(trial.beside / "thesis.txt")


METHODS = {
    "empty": _empty,
    "halve": _halve,
    "flip a bit of": _flip,
    "garbage in": _garbage,
    "double": _double,
    "repeat a line of": _repeat_line,
    "delete": _delete,
    "directory for": _directory,
    "fifo": _fifo,
    "link": _link,
    "dangling": _dangling,
    "linked part of": _part,
}
