"""Checkpoints touch only what is theirs, and lose no more than what is damaged."""

import json
import os
import shutil

import numpy as np
import pytest

from hyperaction.replay.ring import Ring, Transition
from hyperaction.runs.checkpoints import Checkpoints


def add(ring, count=3):
    for _ in range(count):
        number = ring.added
        row = np.full(2, number, np.float32)
        ring.add(Transition(row, np.array([number]), float(number), 0.9, row + 1))


def store_with(out, checkpoints, run="this", ring=None):
    """A store after so many checkpoints, each with three more transitions."""
    store, ring = Checkpoints(out, run), Ring(100, (2,), 1) if ring is None else ring
    store.latest()
    for _ in range(checkpoints):
        add(ring)
        write(store, ring)
    return store


def write(store, ring):
    return store.write({"added": ring.added}, {"x": np.array(ring.added)}, ring.streams, {})


def restored(checkpoint):
    """The numbers of the transitions that a checkpoint holds."""
    return [int(number) for piece in checkpoint.replay for number in piece.read()["reward"]]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


FOREIGN = [
    "model_best.pt", "state-000001.safetensors", "state-000002.safetensors", "replay-3.safetensors",
    "replay-000001-0.safetensors", "replay-000002-3.safetensors", "frames-000001-0.safetensors",
    "state-000001.safetensors.part", "checkpoint-000001.json", "checkpoint-7.json",
    "checkpoint-best.json", "checkpoint-000009.json.part",
]  # fmt: skip


@pytest.mark.parametrize("linked", [False, True])
def test_files_of_others_are_neither_removed_nor_written_over(tmp_path, linked):
    folder = tmp_path / "checkpoints"
    if linked:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "link").symlink_to("elsewhere")
        folder.symlink_to("link")
    else:
        folder.mkdir()
    for name in FOREIGN:
        (folder / name).write_text(f"precious {name}")
    before = contents(folder)
    store_with(tmp_path, 5)
    store_with(tmp_path, 3, ring=filled(15))
    after = contents(folder)
    assert before.items() <= after.items()
    assert len(after) - len(before) == 2 + 2 + 8  # Two manifests, two states, the pieces of replay.
    assert Checkpoints(tmp_path, "this").latest()[0].state == {"added": 24}


def filled(count):
    ring = Ring(100, (2,), 1)
    add(ring, count)
    return ring


@pytest.mark.parametrize("moment", range(5))
def test_what_a_crash_leaves_is_removed_with_the_next_checkpoint(tmp_path, monkeypatch, moment):
    store = store_with(tmp_path, 2)
    ring = filled(9)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed_at(moment, os.replace))
        # Nothing is cleaned up by a process that is killed.
        patch.setattr(Checkpoints, "_remove", lambda *args: None)
        patch.setattr("pathlib.Path.unlink", lambda *args, **options: None)
        if moment < 4:
            with pytest.raises(KilledError):
                write(store, ring)
        else:
            write(store, ring)
    store = store_with(tmp_path, 2, ring=filled(9 if moment == 4 else 6))
    kept = [path.name for path in store.folder.glob("checkpoint-*.json")]
    assert len(kept) == 2
    named = set(kept)
    for name in kept:
        manifest = json.loads(json.loads((store.folder / name).read_text())["checkpoint"])
        named |= {each["file"] for each in (manifest["arrays"], *manifest["replay"])}
    assert set(contents(store.folder)) == named


@pytest.mark.parametrize("content", [b"", b'{"run": "this"', b'{"run": "this", "plan": []}'])
def test_a_plan_that_a_crash_kept_from_getting_its_name_is_removed(tmp_path, content):
    store = store_with(tmp_path, 1)
    part, other = (store.folder / f"checkpoint-{n:06}.json.part" for n in (2, 3))
    part.write_bytes(content)
    other.write_bytes(b'{"run": "that", "plan": []}')
    Checkpoints(tmp_path, "this").latest()
    assert not part.exists()
    assert other.exists()


class KilledError(BaseException):
    """As sudden as a kill."""


def killed_at(moment, work):
    calls = iter(range(100))

    def watched(*args):
        if next(calls) == moment:
            raise KilledError
        return work(*args)

    return watched


def test_checkpoints_of_another_run_are_neither_used_nor_removed(tmp_path):
    store_with(tmp_path, 4, run="another")
    before = contents(tmp_path / "checkpoints")
    found, problems = Checkpoints(tmp_path, "this").latest()
    assert found is None
    assert problems == [f"checkpoint {n} is damaged (it is of another run)" for n in (4, 3)]
    store_with(tmp_path, 4)
    assert before.items() <= contents(tmp_path / "checkpoints").items()
    assert Checkpoints(tmp_path, "this").latest()[0].state == {"added": 12}


DAMAGES = {
    "deleted": lambda file: file.unlink(),
    "emptied": lambda file: file.write_bytes(b""),
    "halved": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "flipped": lambda file: file.write_bytes(file.read_bytes()[:-1] + b"x"),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_of_replay_only_what_is_older_than_the_damage_is_lost(tmp_path, damage):
    for piece in range(4):
        out = tmp_path / str(piece)
        out.mkdir()
        store_with(out, 4)
        damaged = out / "checkpoints" / f"replay-{piece + 1:06}-{3 * piece}.safetensors"
        DAMAGES[damage](damaged)
        found, problems = Checkpoints(out, "this").latest()
        if piece == 3:  # Only the last checkpoint has it: the one before is whole.
            assert (found.number, found.damage) == (3, "")
            assert problems[0].startswith(f"checkpoint 4 is damaged ({damaged.name} ")
            assert restored(found) == list(range(9))
            continue
        assert (found.number, problems) == (4, [])
        assert found.damage.startswith(damaged.name)
        assert found.lost_before == {"replay": 3 * piece + 3}
        assert restored(found) == list(range(3 * piece + 3, 12))


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("damage", DAMAGES)
def test_files_of_a_damaged_manifest_are_removed_but_no_copies_of_them(tmp_path, damage, number):
    store = store_with(tmp_path, 4)
    folder, manifest = store.folder, store.folder / f"checkpoint-{number:06}.json"
    own = [f"state-{number:06}.safetensors", f"replay-{number:06}-{3 * number - 3}.safetensors"]
    DAMAGES[damage](manifest)
    copies = [f"state-{number:06}-copy.safetensors", "state-000007.safetensors"]
    for copy in copies:
        shutil.copy(folder / own[0], folder / copy)
    again = Checkpoints(tmp_path, "this")
    found, _ = again.latest()
    assert found.number == (3 if number == 4 else 4)
    ring = filled(found.state["added"])
    for _ in range(2):
        add(ring)
        write(again, ring)
    left = contents(folder)
    assert set(copies) <= left.keys()
    is_known = damage not in ("deleted", "a folder")  # Of what is not there nothing is known.
    assert (own[0] in left) != is_known
    assert manifest.exists() == (damage == "a folder")
    if number == 4:
        assert (own[1] in left) != is_known
    whole, problems = Checkpoints(tmp_path, "this").latest()
    assert restored(whole) == list(range(ring.added))
    assert [problem for problem in problems if f"checkpoint {number} " not in problem] == []


def test_the_checkpoint_after_a_loss_is_whole(tmp_path):
    store_with(tmp_path, 3)
    (tmp_path / "checkpoints" / "replay-000002-3.safetensors").unlink()
    store = Checkpoints(tmp_path, "this")
    found, _ = store.latest()
    ring = Ring(100, (2,), 1)
    for piece in found.replay:
        ring.refill(piece.first, piece.read())
    ring.drop_before(found.lost_before)
    add(ring)
    write(store, ring)
    again, problems = Checkpoints(tmp_path, "this").latest()
    assert (again.damage, problems) == ("", [])
    assert restored(again) == list(range(6, 12))


def test_files_that_were_removed_meanwhile_are_written_again(tmp_path):
    ring = Ring(100, (2,), 1)
    store = store_with(tmp_path, 3, ring=ring)

    def remove_all():
        shutil.rmtree(store.folder)

    for remove in (lambda: (store.folder / "replay-000002-3.safetensors").unlink(), remove_all):
        remove()
        add(ring)
        write(store, ring)
        found, problems = Checkpoints(tmp_path, "this").latest()
        assert (found.damage, problems) == ("", [])
        assert restored(found) == list(range(ring.added))
