"""Games from cartridges of one's own: the emulator plays what is inserted, or nothing."""

import hashlib
import shutil

import gymnasium
import numpy as np
import pytest

from hyperaction.cli import main
from hyperaction.envs.atari import JOYSTICK
from hyperaction.envs.make import make
from hyperaction.envs.roms import GYM, checksum, is_published_otherwise
from hyperaction.envs.vector import Single
from hyperaction.studies.atari import GAMES
from hyperaction.sweeps import grid as grids

ale_py = pytest.importorskip("ale_py")


GAME = "ALE/BankHeist-v5"
SHORT = [
    "--agent", "hgqn", "--total-width", "14", "--batch-size", "4", "--learning-starts", "60",
    "--buffer-size", "400", "--train-frequency", "20", "--steps", "120", "--phase-steps", "60",
    "--max-episode-steps", "30", "--loggers",
]  # fmt: skip


def inserted(folder, game, name="bank_heist"):
    """A directory with a cartridge that ale-py carries, under a name."""
    folder.mkdir(exist_ok=True)
    return shutil.copy(ale_py.roms.get_rom_path(game), folder / f"{name}.bin")


def seen(roms, steps=60):
    """What random play sees and gets."""
    game = Single(make(GAME, roms=str(roms) if roms else ""))
    game.reset(0)
    random, found = np.random.default_rng(0), [game.observation]
    rewards = 0.0
    for _ in range(steps):
        step = game.step(random.integers(JOYSTICK.sizes, size=(1, 3)).astype(np.int32))
        found.append(step.observation)
        rewards += step.reward[0]
    return np.concatenate(found), rewards


def test_the_same_cartridge_is_the_same_game(tmp_path):
    inserted(tmp_path, "bank_heist")
    frames, rewards = seen(tmp_path)
    own_frames, own_rewards = seen("")
    np.testing.assert_array_equal(frames, own_frames)
    assert rewards == own_rewards


def test_another_known_version_is_what_is_played(tmp_path, monkeypatch):
    file = inserted(tmp_path, "bank_heist")
    changed = bytearray(file.read_bytes())
    changed[1485] ^= 4  # A colour.
    file.write_bytes(changed)
    monkeypatch.setitem(GYM, "bank_heist", checksum(file))
    assert (seen(tmp_path)[0] != seen("")[0]).mean() > 0.01


@pytest.mark.parametrize(
    ("make", "args", "message"),
    [
        (lambda _: None, [GAME], "--roms {roms} is not a directory"),
        (lambda roms: roms.mkdir(), [GAME], "--roms {roms} holds no bank_heist.bin"),
        (
            lambda roms: inserted(roms, "berzerk"),
            [GAME],
            "bank_heist.bin is not a known version of",
        ),
        (lambda roms: inserted(roms, "pong"), ["ALE/Pung-v5"], "did you mean 'ALE/Pong-v5'?"),
        (lambda roms: inserted(roms, "pong"), ["CartPole-v1"], "--roms is for games of ALE/, not"),
        (
            lambda roms: inserted(roms, "bank_heist"),
            [GAME, "--num-envs", "2"],
            "one game at a time",
        ),
    ],
)
def test_cartridges_that_cannot_be_played_are_refused(make, args, message, tmp_path, capsys):
    roms, out = tmp_path / "roms", tmp_path / "run"
    make(roms)
    assert main(["train", *args, "--roms", str(roms), "--out", str(out)]) != 0
    printed = capsys.readouterr().err
    assert message.format(roms=roms) in printed
    assert printed.count("\n") == 1
    assert not out.exists()


def test_a_run_is_played_with_the_cartridge_that_it_was_trained_with(tmp_path, capsys, monkeypatch):
    out, roms = str(tmp_path / "run"), tmp_path / "roms"
    file = inserted(roms, "bank_heist")
    monkeypatch.chdir(tmp_path)
    assert main(["train", GAME, *SHORT, "--roms", "roms", "--out", out]) == 0
    monkeypatch.chdir("/")
    assert main(["evaluate", out, "--episodes", "1"]) == 0
    capsys.readouterr()
    assert main(["train", GAME, *SHORT, "--steps", "180", "--out", out]) != 0
    assert f"roms was {roms.resolve()}, now None" in capsys.readouterr().err
    file.unlink()
    assert main(["evaluate", out, "--episodes", "1"]) != 0
    assert f"{roms.resolve()} holds no bank_heist.bin" in capsys.readouterr().err


def test_a_sweep_gives_its_cartridges_to_every_run():
    cells = grids.chosen(grids.load("paper-atari"), seeds=1, roms="there")
    assert {cell.config.roms for cell in cells} == {"there"}
    assert all(cell.args[-2:] == ("--roms", "there") for cell in cells)
    assert "roms" not in grids.load("paper-atari").cells[0].config.as_dict()


def test_games_with_another_version_are_those_that_ale_py_has_otherwise():
    gymnasium.register_envs(ale_py)
    for game, md5 in GYM.items():
        own = hashlib.md5(ale_py.roms.get_rom_path(game).read_bytes()).hexdigest()
        assert own != md5, game
    assert sum(is_published_otherwise(f"ALE/{game}-v5") for game in GAMES) == 14
    names = [name for name in gymnasium.registry if name.startswith("ALE/") and name[-1] == "5"]
    named = {gymnasium.spec(name).kwargs["game"] for name in names if is_published_otherwise(name)}
    assert named == set(GYM)
