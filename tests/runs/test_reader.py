"""Whatever the files of a run hold: it is read, or refused in one line; what is right is kept."""

import itertools
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.runs.progress import Progress, read_progress, write_progress
from hyperaction.runs.reader import FORMAT, parse_json, read_config, read_metrics
from hyperaction.runs.schema import MAX_STEP, UnreadableError

CONFIG = {"format": FORMAT, "env": "E", "agent": "hgqn", "steps": 10, "seed": 0, "settings": {}}
DEEP = "[" * 100_000
HUGE = "9" * 400


def with_value(name, text):
    """The settings of a run as JSON, one of them written as this text."""
    return json.dumps({**CONFIG, name: "HERE"}).replace('"HERE"', text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "not a table"),
        (DEEP, "too deep"),
        (with_value("more", "[" * 20 + "]" * 20), "nested more than 16 deep"),
        (with_value("steps", "Infinity"), "steps is inf, not a finite number"),
        (with_value("steps", HUGE), "999... is too large"),
        (with_value("steps", "true"), "steps is true, not an integer"),
        (with_value("steps", "-1"), "steps is -1, not an integer"),
        (with_value("seed", "null"), "seed is null, not an integer"),
        (with_value("env", "[1]"), "env is [1], not text"),
        (with_value("settings", "[]"), "settings is [], not a table"),
        (with_value("more", '{"a": [1, NaN]}'), "more.a.1 is nan, not a finite number"),
        (with_value("format", "1"), "written by another version"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_settings_that_no_run_writes_are_refused_in_one_line(text, message, tmp_path):
    file = tmp_path / "config.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UnreadableError) as refused:
        read_config(tmp_path)
    assert message in str(refused.value)
    assert str(file) in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "progress.json"])
@pytest.mark.parametrize("kind", ["directory", "pipe", "endless", "too large"])
def test_what_is_not_a_file_of_a_run_neither_blocks_nor_fails(name, kind, tmp_path):
    path = tmp_path / name
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, 2**40)
    if name == "progress.json":
        assert read_progress(tmp_path) == Progress()
        return
    with pytest.raises(UnreadableError, match=name):
        (read_config if name == "config.json" else read_metrics)(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)
ROW = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["eval", "train"]) | JSON,
        "step": st.integers(0, 99) | JSON,
        "return": st.floats(-9, 9) | JSON,
        "loss": JSON,
    },
)
LINES = (ROW | JSON).map(lambda row: json.dumps(row).encode()) | st.binary(max_size=9)


def is_right(row):
    """Whether a line is right, written out; its step may still be out of order."""
    if not isinstance(row, dict) or not isinstance(row.get("kind"), str) or not row["kind"]:
        return False
    if type(row.get("step")) is not int or not 0 <= row["step"] <= MAX_STEP:
        return False
    if row["kind"] == "eval" and "return" not in row:
        return False
    numbers = [value for name, value in row.items() if name != "kind"]
    if not all(type(value) in (int, float) for value in numbers):
        return False
    finite = [abs(value) for value in numbers if abs(value) < float("inf")]
    return max(finite, default=0) <= 1e100


def most_increasing(steps):
    """How many of these steps increase one after the other, at most; all choices are tried."""
    choices = (c for n in range(len(steps) + 1) for c in itertools.combinations(steps, n))
    return max(len(c) for c in choices if list(c) == sorted(set(c)))


@given(st.lists(LINES, max_size=8))
def test_every_right_line_is_read_and_every_other_is_counted(tmp_path_factory, lines):
    out = tmp_path_factory.mktemp("run")
    (out / "metrics.jsonl").write_bytes(b"".join(line + b"\n" for line in lines) + b'{"kind": "ev')
    right, count = [], 0
    for line in b"\n".join(lines).split(b"\n") if lines else []:
        try:
            row = parse_json(line)
        except UnreadableError:
            row = None
        count += 1
        right += [row] if is_right(row) else []
    found = read_metrics(out)
    left = iter(map(repr, right))  # NaN is not equal to itself.
    assert all(repr(row) in left for row in found.rows)  # In this order.
    for kind in {row["kind"] for row in right}:
        steps = [row["step"] for row in found.of(kind)]
        assert steps == sorted(set(steps))
        assert len(steps) == most_increasing([r["step"] for r in right if r["kind"] == kind])
    bad = count - len(found.rows)
    assert bool(found.problem) == (bad > 0)
    assert bad < 2 or f"and {bad - 1} more lines" in found.problem
    assert len(found.problem.splitlines()) <= 1 or not found.problem.isprintable()


@pytest.mark.parametrize("line", [DEEP, f'{{"step": {HUGE}}}', '{"step": Infinity}', "\x00"])
def test_one_bad_line_leaves_the_others(line, tmp_path):
    good = '{"kind": "eval", "step": 5, "return": NaN}\n'
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n{good}")
    found = read_metrics(tmp_path)
    assert [row["step"] for row in found.rows] == [5]
    assert found.problem.startswith(f"line 1 of {tmp_path / 'metrics.jsonl'}: ")


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([10, 2**50, 20, 30], [10, 20, 30]),
        ([10, 20, 3, 30], [10, 20, 30]),
        ([10, 20, 10, 20, 30], [10, 20, 30]),
    ],
)
def test_a_wrong_step_costs_its_own_line_only(steps, kept, tmp_path):
    rows = [{"kind": "eval", "step": step, "return": place} for place, step in enumerate(steps)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_metrics(tmp_path)
    assert [row["step"] for row in found.rows] == kept
    assert [row["return"] for row in found.rows][:2] == [0, steps.index(20)]  # The first of each.
    assert "is out of order" in found.problem


RESULTS = ("config.json", "metrics.jsonl", "agent.safetensors")


@pytest.mark.parametrize("missing", [None, *RESULTS])
def test_a_run_is_complete_only_beside_its_results(missing, tmp_path):
    for name in RESULTS:
        (tmp_path / name).write_text("" if name == missing else "something")
    write_progress(tmp_path, Progress(10, 5.0, 1.0, complete=True))
    assert read_progress(tmp_path).complete == (missing is None)


@given(
    st.dictionaries(st.sampled_from(Progress._fields), JSON).map(json.dumps) | st.just(DEEP),
)
def test_any_progress_is_read_or_none(tmp_path_factory, text):
    out = tmp_path_factory.mktemp("run")
    (out / "progress.json").write_text(text)
    found = read_progress(out)
    assert type(found.step) is int
    assert found.step >= 0
    assert 0 <= found.steps_per_second < float("inf")
    assert found.last_return is None or isinstance(found.last_return, int | float)
