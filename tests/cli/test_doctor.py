"""The command doctor: what is there, what is missing, and never a failure."""

import json

import pytest

from hyperaction import kernels
from hyperaction.cli import doctor, main
from hyperaction.kernels import library


def printed(capsys, *args):
    assert main(["doctor", *args]) == 0
    return capsys.readouterr().out


def test_what_is_found_fits_on_one_screen(capsys):
    lines = printed(capsys).splitlines()
    assert len(lines) <= 24
    for word in ("Python", "jaxlib", "gymnasium", "devices", "kernels", "cache", "extras"):
        assert any(word in line for line in lines), word


def test_json_has_the_same_for_programs(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("hyperaction.training.compile_cache.users_own", lambda: "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = json.loads(printed(capsys, "--json"))
    assert found["kernels"]["chosen_set"] == kernels.chosen_set()
    assert bool(found["kernels"]["used"]) == kernels.available()
    assert found["cache"]["directory"] == str(tmp_path / "hyperaction" / "compiled")
    assert found["cache"]["programs"] == 0
    domains = {"physical", "mujoco", "atari", "jumanji", "rddl", "pettingzoo", "dmc"}
    assert set(found["extras"]) == domains | {
        "report", "ray", "tune", "wandb", "trackio", "hub", "peers", "torch",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("installed", "shown"),
    [
        (None, "missing ale-py, opencv-python-headless: pip install 'hyperaction[atari]'"),
        (
            "0.0.1",
            "missing ale-py>=0.12 (not 0.0.1), opencv-python-headless>=4.12 (not 0.0.1): pip",
        ),
        ("99", "ale-py 99, opencv-python-headless 99"),
    ],
)
def test_an_extra_that_is_not_complete_shows_how_to_install_it(
    capsys, monkeypatch, installed, shown
):
    monkeypatch.setattr(doctor, "_version", lambda package: installed)
    assert shown in printed(capsys)


@pytest.mark.parametrize("variable", ["HYPERACTION_ISA", "HYPERACTION_CACHE"])
def test_a_wrong_setting_is_shown_and_the_rest_too(capsys, monkeypatch, variable):
    monkeypatch.setattr("hyperaction.training.compile_cache.users_own", lambda: "")
    monkeypatch.setenv(variable, "wrong")
    out = printed(capsys)
    assert f"{variable}=wrong cannot be used" in out
    assert "extras" in out


@pytest.mark.parametrize("chosen", ["baseline", None])
def test_kernels_that_cannot_be_used_are_reported_in_one_line(monkeypatch, tmp_path, chosen):
    (tmp_path / "_baseline.so").write_bytes(b"not a library")
    monkeypatch.setattr(library, "HERE", tmp_path)
    monkeypatch.setattr(library, "REFUSED", {})
    monkeypatch.setattr(library.isa, "vector_set", lambda: chosen)
    library.load.cache_clear()
    line = kernels.problem()
    assert line.startswith("the kernels do not fit this machine or version of JAX and are not used")
    assert "_baseline.so: " in line
    assert "\n" not in line
    assert main(["doctor"]) == 0
