"""Files of agents that are damaged, or a stranger's: refused in one line, never half believed."""

import copy
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.api import HGQN
from hyperaction.runs.files import read_arrays, write_arrays
from hyperaction.training import agent_file
from tests.training.envs import TINY, Counting


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The file of an agent."""
    path = tmp_path_factory.mktemp("agents") / "agent.safetensors"
    HGQN(Counting(), **TINY).save(path)
    return path


def refused(call):
    """The message of a refusal, which is one line."""
    with pytest.raises(ValueError, match=r"\w") as error:
        call()
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


@given(place=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_any_changed_byte_is_noticed_or_changes_nothing(file, place, mask):
    data = bytearray(file.read_bytes())
    data[int(place * len(data))] ^= mask
    changed = file.with_name("changed.safetensors")
    changed.write_bytes(data)
    try:
        arrays, about = read_arrays(changed)
    except ValueError:
        return
    expected, expected_about = read_arrays(file)  # A space of the header, such as a line's end.
    assert about == expected_about
    assert arrays.keys() == expected.keys()
    assert all(np.array_equal(arrays[name], expected[name]) for name in arrays)


def test_a_flipped_bit_of_a_weight_is_noticed(file):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    changed = file.with_name("flipped.safetensors")
    changed.write_bytes(data)
    message = refused(lambda: HGQN.load(changed))
    assert message == f"{changed} is damaged: it does not match its checksum"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("agent",), 1, "agent is 1, not text"),
        (("agent",), "other", "unknown agent 'other'"),
        (("settings",), [], "settings is [], not a table"),
        (("settings", "network"), 5, "network must be a table, not 5"),
        (("settings", "heads"), "x", "heads must be a table, not 'x'"),
        (("settings", "mixer"), None, "mixer must be a string, not None"),
        (("settings", "n_step"), {}, "n_step must not be a table"),
        (("settings", "orders"), [2**31], "order 2147483648"),
        (("actions",), None, "actions is null, not a table"),
        (("actions", "kind"), "Other", "Other"),
        (("actions", "sizes"), [0], "sizes is [0], not a list of integers above 0"),
        (("actions", "sizes"), "ab", "sizes is ab, not a list"),
        (("actions", "sizes"), [2**31], "2,147,483,648 outputs"),
        (("actions", "sizes"), [2**20], "more than it has weights"),
        (("actions", "start"), "x", "start is x, not integers"),
        (("actions", "dtype"), "O", "not numbers"),
        (("observation_shape",), [1.5], "observation_shape is [1.5], not a list of integers"),
        (("observation_shape",), 3, "observation_shape is 3"),
        (("step",), "ten", "step is ten, not an integer"),
        (("step",), 10**400, "too large"),
    ],
)
def test_a_strangers_header_is_refused_in_one_line(path, value, message, file):
    arrays, about = read_arrays(file)
    about = copy.deepcopy(about)
    if path == ("actions", "dtype"):
        direct = {"kind": "Direct", "sizes": [2], "start": [0], "shape": [1], "dtype": "O"}
        about["actions"] = direct
    if path == ("actions", "sizes"):
        about["actions"]["names"] = ["0"]
    inner = about
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    strange = file.with_name("strange.safetensors")
    write_arrays(strange, arrays, about)
    assert re.search(re.escape(message), refused(lambda: HGQN.load(strange)))


@pytest.mark.parametrize("name", ["hyperaction", "agent", "settings", "actions", "step"])
def test_a_header_without_a_part_is_refused(name, file):
    arrays, about = read_arrays(file)
    strange = file.with_name("strange.safetensors")
    write_arrays(strange, arrays, {key: value for key, value in about.items() if key != name})
    assert f"{name} is missing" in refused(lambda: agent_file.load(strange))
