"""Files are written completely or not at all."""

import json
import stat

import numpy as np
import pytest

from hyperaction.runs.files import (
    making_directory,
    read_arrays,
    replacing,
    write_arrays,
    write_json,
    write_text,
)


def test_a_file_is_replaced_when_the_block_ends(tmp_path):
    file = tmp_path / "new folder" / "file.txt"
    for text in ("first", "second"):
        with replacing(file) as part:
            part.write_text(text)
            assert part.parent == file.parent
            assert not file.exists() or file.read_text() == "first"
        assert file.read_text() == text
        assert [path.name for path in file.parent.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    file = write_text(tmp_path / "file.txt", "old")

    def fail():
        with replacing(file) as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_rename_that_fails_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "taken"
    (folder / "inner").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_json(folder, {"a": 1})
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("dangling", [False, True])
def test_a_temporary_file_that_is_a_link_leaves_its_target_alone(tmp_path, dangling):
    target = tmp_path / "target"
    if not dangling:
        target.write_text("mine")
    part = tmp_path / "config.json.part"
    part.symlink_to(target)
    write_json(tmp_path / "config.json", {"a": 1})
    part = tmp_path / "arrays.part"
    part.symlink_to(target)
    write_arrays(tmp_path / "arrays", {"a": np.zeros(2)}, {})
    assert target.exists() != dangling
    assert dangling or target.read_text() == "mine"
    assert not (tmp_path / "config.json").is_symlink()
    assert json.loads((tmp_path / "config.json").read_text()) == {"a": 1}


def test_a_directory_of_the_name_of_a_file_is_called_one(tmp_path):
    (tmp_path / "x.png").mkdir()
    with pytest.raises(OSError, match=r"x\.png is a directory, not a file$"):
        write_text(tmp_path / "x.png", "")


def test_what_is_written_is_read_again(tmp_path):
    assert json.loads(write_json(tmp_path / "a.json", {"é": [1.5]}).read_text()) == {"é": [1.5]}
    arrays = {"scalar": np.float32(3), "strided": np.arange(6).reshape(2, 3).T}
    write_arrays(tmp_path / "a.safetensors", arrays, {"about": "all"})
    loaded, about = read_arrays(tmp_path / "a.safetensors")
    assert about == {"about": "all"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].shape == array.shape
    modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert len(modes) == 1  # Arrays are as readable as other files.


@pytest.mark.parametrize("written", [False, True])
def test_a_directory_made_for_work_that_fails_is_removed_unless_something_is_in_it(
    tmp_path, written
):
    with pytest.raises(ValueError, match="refused"), making_directory(tmp_path / "a" / "b"):  # noqa: PT012
        assert (tmp_path / "a" / "b").is_dir()
        if written:
            (tmp_path / "a" / "notes").touch()
        raise ValueError("refused")
    assert [path.name for path in tmp_path.rglob("*")] == (["a", "notes"] if written else [])
    with making_directory(tmp_path / "c"):
        pass
    assert (tmp_path / "c").is_dir()
