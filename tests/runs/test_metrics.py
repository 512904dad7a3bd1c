"""Metrics are never shortened or written over where no checkpoint accounts for them."""

import json
import os
import resource
import shutil
from contextlib import closing

import pytest

from hyperaction.runs.metrics import MetricsFile


def row(step, value=1.0):
    return {"kind": "eval", "step": step, "return": value}


def line(step, value=1.0):
    return json.dumps(row(step, value)) + "\n"


@pytest.fixture
def marked(tmp_path):
    """Three lines, with a checkpoint at step 20; the third came after it."""
    file = MetricsFile(tmp_path, None, 0)
    file.append(row(10))
    file.append(row(20))
    mark = file.mark()
    file.append(row(30))
    file.close()
    return mark


def reopened(out, mark, step):
    file = MetricsFile(out, mark, step)
    file.append(row(40))
    file.close()
    return file.problem, (out / "metrics.jsonl").read_text()


def test_lines_after_the_checkpoint_are_written_again(tmp_path, marked):
    assert reopened(tmp_path, marked, 20) == ("", line(10) + line(20) + line(40))
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


@pytest.mark.parametrize(
    ("is_exact", "tail", "is_kept"),
    [
        (True, line(30), False),
        (True, line(20, 2.0) + line(30) + '{"kind": "ev', False),  # Stopped in an evaluation.
        (True, line(10) + line(20), False),  # They are there already.
        (True, line(10, 2.0), True),
        (True, "notes of mine\n", True),
        (False, line(30), True),
        (False, line(10), True),
        (False, "", False),
    ],
)
def test_lines_that_are_not_written_again_are_kept_aside(tmp_path, marked, is_exact, tail, is_kept):
    changed = line(10) + line(20) + tail
    (tmp_path / "metrics.jsonl").write_text(changed)
    with closing(MetricsFile(tmp_path, marked, 20, is_exact=is_exact)) as file:
        about = "metrics.jsonl has lines that will not be written again; it is kept as "
        assert file.problem == (f"{about}metrics-old-1.jsonl" if is_kept else "")
    assert (tmp_path / "metrics.jsonl").read_text() == line(10) + line(20)
    others = [path.read_text() for path in tmp_path.glob("metrics-old-*")]
    assert others == [changed] * is_kept


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        (line(10) + line(10) + line(20) + line(30), line(10) + line(20)),
        (line(10, 2.0) + line(20) + line(30), line(10, 2.0) + line(20)),
        (line(10) + line(20)[:-9], line(10)),
        ("\n" + line(10) + line(20), line(10) + line(20)),
        ('[1]\n{"step": NaN}\n{"step": "x"}\n{}\n' + line(20), line(20)),
    ],
)
def test_a_file_that_was_changed_is_kept_aside(tmp_path, marked, changed, kept):
    (tmp_path / "metrics.jsonl").write_text(changed)
    problem, content = reopened(tmp_path, marked, 20)
    assert problem == (
        "metrics.jsonl is not as the last checkpoint left it; it is kept as metrics-old-1.jsonl"
    )
    assert (tmp_path / "metrics-old-1.jsonl").read_text() == changed
    assert content == kept + line(40)


def test_a_file_that_is_gone_is_said_to_be_lost(tmp_path, marked):
    (tmp_path / "metrics.jsonl").unlink()
    problem, content = reopened(tmp_path, marked, 20)
    assert problem == "metrics.jsonl is not as the last checkpoint left it; its lines are lost"
    assert content == line(40)


def test_lines_without_a_checkpoint_are_kept_aside_each_time(tmp_path):
    for number in (1, 2):
        (tmp_path / "metrics.jsonl").write_text(f"precious {number}")
        problem, content = reopened(tmp_path, None, 0)
        kept = f"metrics-old-{number}.jsonl"
        assert problem == f"metrics.jsonl is not of a checkpoint; it is kept as {kept}"
        assert (tmp_path / kept).read_text() == f"precious {number}"
        assert content == line(40)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_of_several_names_stays_as_it_is_under_the_others(tmp_path, marked, link):
    backup = tmp_path / "backup"
    shutil.move(tmp_path / "metrics.jsonl", backup)
    link(backup, tmp_path / "metrics.jsonl")
    before = backup.read_bytes()
    assert reopened(tmp_path, marked, 20)[1] == line(10) + line(20) + line(40)
    assert backup.read_bytes() == before


@pytest.mark.parametrize("replaced", [False, True])
def test_a_directory_that_is_removed_or_replaced_is_noticed(tmp_path, replaced):
    out = tmp_path / "run"
    file = MetricsFile(out, None, 0)
    file.append(row(10))
    out.rename(tmp_path / "elsewhere")
    if replaced:
        out.mkdir()
        (out / "metrics.jsonl").write_text(line(10))
    with closing(file):
        for write in (file.mark, lambda: file.append(row(20))):
            with pytest.raises(FileNotFoundError, match=r"metrics.jsonl was removed or replaced"):
                write()
    assert (tmp_path / "elsewhere" / "metrics.jsonl").read_text() == line(10)


def test_a_line_is_written_whole_or_not_at_all(tmp_path):
    file = MetricsFile(tmp_path, None, 0)
    file.append(row(10))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(line(10)) + 5, before[1]))
    try:
        with pytest.raises(OSError, match="No space left"):
            file.append(row(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "metrics.jsonl").read_text() == line(10)
    with closing(file):
        file.append(row(20))  # There is space again.
    assert (tmp_path / "metrics.jsonl").read_text() == line(10) + line(20)
