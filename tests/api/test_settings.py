"""Constructors are typed: every setting is known to completion and type checkers."""

import ast

import pytest

from hyperaction import HGQN
from hyperaction.errors import SettingError
from tests.api.settings import FILE, settings
from tests.training.envs import TINY, Counting


def test_typed_settings_are_those_of_the_configurations():
    # Otherwise: python -m tests.api.settings
    body = next(each for each in ast.parse(FILE.read_text()).body if isinstance(each, ast.ClassDef))
    written = {
        each.target.id: ast.unparse(each.annotation)
        for each in body.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    expected = {name: ast.unparse(ast.parse(kind)) for name, (kind, _) in settings().items()}
    assert written == expected


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("contraints", "constraints"),
        ("bin", "bins"),
        ("seeds", "seed"),
        ("batchsize", "batch_size"),
    ],
)
def test_a_misspelt_argument_is_answered_with_the_nearest(wrong, right):
    with pytest.raises(SettingError, match=f"'{wrong}'; did you mean '{right}'"):
        HGQN(Counting(), **TINY, **{wrong: 1})


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (None, "env must be a Gymnasium environment, a vector of them, or an id, not None"),
        (Counting, r"not the class Counting; did you mean Counting\(\)"),
        (3, "env must be a Gymnasium environment"),
    ],
)
def test_what_is_no_environment_is_refused_in_one_line(env, message):
    with pytest.raises(SettingError, match=message):
        HGQN(env)
    with pytest.raises(SettingError, match=message):
        HGQN(Counting(), **TINY).learn(4, eval_env=env) if env is not None else HGQN(env)
