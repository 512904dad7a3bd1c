"""Versions of games: ale-py's, and those that the published agents played.

Many games were sold in several versions, and emulators know them by the MD5 of the cartridge. What
the paper and Dopamine published was played with the cartridges of OpenAI Gym (atari-py, 2018 to
2019). Of half of its games these are other versions than ale-py's: other colours, and some are 250
lines high instead of 210.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from hyperaction.envs.ids import game_of
from hyperaction.errors import SettingError

GYM = {
    "amidar": "056f5d886a4e7e6fdd83650554997d0d",
    "assault": "c31a17942d162b80962cb1f7571cd1d5",
    "atlantis": "0b33252b680b65001e91a411e56e72e9",
    "bank_heist": "83b8c01c72306d60dd9b753332ebd276",
    "battle_zone": "e434c0e161dd3c3fb435eb6bad2e182c",
    "berzerk": "fac28963307b6e85082ccd77c88325e7",
    "carnival": "de29e46dbea003c3c09c892d668b9413",
    "centipede": "17d000a2882f9fdaa8b4a391ad367f00",
    "defender": "e1029676edb3d35b76ca943da7434da8",
    "demon_attack": "b24f6a5820a4b7763a3d547e3e07441d",
    "double_dunk": "cfc226d04d7490b69e155abd7741e98c",
    "gopher": "8f90590dba143d783df5a6cff2000e4d",
    "gravitar": "4767356fa0ed3ebe21437b4473d4ee28",
    "ice_hockey": "47711c44723da5d67047990157dcb5dd",
    "kaboom": "dbdaf82f4f0c415a94d1030271a9ef44",
    "krull": "cc724ebe74a109e39c0b2784ddc980ca",
    "kung_fu_master": "0b4e793c9425175498f5a65a3e960086",
    "ms_pacman": "9469d18238345d87768e8965f9f4a6b2",
    "name_this_game": "f98d2276d4a25b286135566255aea9d0",
    "pitfall": "f73d2d0eff548e8fc66996f27acf2b4b",
    "pooyan": "668dc528b7ea9345140f4fcfbecf7066",
    "riverraid": "da5096000db5fdaa8d02db57d9367998",
    "road_runner": "7d3cdde63b16fa637c4484e716839c94",
    "skiing": "367411b78119299234772c08df10e134",
    "space_invaders": "61dbe94f110f30ca4ec524ae5ce2d026",
    "tennis": "a5c96b046d5f8b7c96daaa12f925bef8",
    "tutankham": "66c2380c71709efa7b166621e5bb4558",
    "venture": "c63a98ca404aa5ee9fcff1de488c3f43",
    "video_pinball": "a2424c1a0c783d7585d701b1c71b5fdc",
    "wizard_of_wor": "663ef22eb399504d5204c543b8a86bcd",
    "yars_revenge": "ee8027d554d14c8d0b86f94737d2fdcc",
}
"""The games that Gym had in another version than ale-py, with the MD5 of Gym's."""


class CartridgeError(SettingError):
    """A directory without the cartridge that is asked for."""


def cartridge(folder: Path, game: str) -> Path:
    """A game's cartridge among others, if it is one that the emulator is known to play.

    It ends the whole program, or never comes back, with a file that it cannot play.
    """
    from ale_py import roms

    file = folder / f"{game}.bin"
    if not file.is_file():
        lacks = f"holds no {file.name}" if folder.is_dir() else "is not a directory"
        raise CartridgeError(f"`roms` {folder} {lacks}")
    own = roms.get_rom_path(game)
    assert own is not None
    known = [checksum(own), *([GYM[game]] if game in GYM else [])]
    found = checksum(file)
    if found not in known:
        raise CartridgeError(
            f"`roms`: {file} is not a known version of the game: its MD5 is {found}, not "
            f"{' or '.join(known)}"
        )
    return file


def checksum(file: Path) -> str:
    """The MD5 of a cartridge."""
    return hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()


def is_published_otherwise(name: str) -> bool:
    """Whether the published agents played another version of a game such as ALE/BankHeist-v5."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", game_of(name)).lower() in GYM
