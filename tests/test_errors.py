"""Messages about unknown names and options out of range."""

import sys
from dataclasses import dataclass
from math import inf

import pytest

from hyperaction.errors import SettingError, check_ranges, needs, unknown


@pytest.mark.parametrize(
    ("name", "names", "otherwise", "message"),
    [
        (
            "fysical",
            ["atari", "physical"],
            "",
            "unknown preset 'fysical'; did you mean 'physical'?",
        ),
        ("fast", ["atari", "physical"], "", "unknown preset 'fast'; choose from atari, physical"),
        ("fast", ["atari", "physical"], "see docs", "unknown preset 'fast'; see docs"),
        ("fast", ["physical"], "", "unknown preset 'fast'; did you mean 'physical'?"),
    ],
)
def test_an_unknown_name_gets_the_most_similar_or_all_names(name, names, otherwise, message):
    assert unknown("preset", name, names, otherwise) == message


@dataclass
class Options:
    peer_steps: int = 0
    port: int = 0


def test_an_option_out_of_range_is_named_with_its_bounds():
    check_ranges(Options(), peer_steps=(0, inf), port=(0, 9))
    with pytest.raises(SettingError, match=r"^peer_steps must be at least 0, not -1$") as error:
        check_ranges(Options(peer_steps=-1), peer_steps=(0, inf))
    assert error.value.for_command_line == "--peer-steps must be at least 0, not -1"
    with pytest.raises(SettingError, match=r"^port must be from 0 to 9, not 10$"):
        check_ranges(Options(port=10), peer_steps=(0, inf), port=(0, 9))


def test_a_package_that_this_python_cannot_have_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    assert (
        needs("Ant", "PyBullet", "physical")
        == "Ant needs PyBullet: pip install 'hyperaction[physical]'"
    )
    assert needs("x", "y", "z", (3, 12)) == "x needs y: pip install 'hyperaction[z]'"
    found = needs("Ant", "PyBullet", "physical", (3, 11))
    assert found == "Ant needs PyBullet, which can be installed up to Python 3.11; this is 3.12"
