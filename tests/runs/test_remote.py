"""Runs in archives, which a stranger may have made."""

import io
import tarfile
import zipfile
from contextlib import suppress

import pytest

from hyperaction.cli import main
from hyperaction.runs.remote import Mirror, cache_folder, to_read, url_of

pytest.importorskip("fsspec")


def archive(kind, file, names, content=b"evil"):
    """An archive with files of any names; those that end in .link are links out of it."""
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as zipped:
            for name in names:
                zipped.writestr(zipfile.ZipInfo(name), content)
        return
    with tarfile.open(file, "w") as tarred:
        for name in names:
            about = tarfile.TarInfo(name)
            if name.endswith(".link"):
                about.type, about.linkname = tarfile.SYMTYPE, str(file.parent / "secret")
                tarred.addfile(about)
            else:
                about.size = len(content)
                tarred.addfile(about, io.BytesIO(content))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hyperaction"


def outside(tmp_path):
    return {file for file in tmp_path.rglob("*") if not file.is_relative_to(tmp_path / "cache")}


ESCAPES = [
    "../../../config.json",
    "a/../../../../config.json",
    "a//../../../../config.json",
    "/{tmp}/x/config.json",
    "..",
]


@pytest.mark.parametrize("kind", ["zip", "tar"])
@pytest.mark.parametrize("name", ESCAPES)
def test_no_name_in_an_archive_leads_out_of_the_folder(cache, tmp_path, kind, name):
    file = tmp_path / f"evil.{kind}"
    archive(kind, file, ["run/metrics.jsonl", f"run/{name.replace('{tmp}', str(tmp_path)[1:])}"])
    before = outside(tmp_path)
    address = f"{kind}://run::{file}"
    for pull in (lambda: to_read(address), lambda: Mirror(address, cache / "whole").pull()):
        with suppress(ValueError, OSError):
            pull()
        assert outside(tmp_path) == before


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_reading_a_run_in_an_archive_overwrites_no_config(cache, tmp_path, kind, capsys):
    file = tmp_path / f"evil.{kind}"
    cache.mkdir(parents=True)
    (cache / "config.json").write_text("mine")
    archive(kind, file, ["run/../config.json"])
    assert main(["table", f"{kind}://run::{file}"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert (cache / "config.json").read_text() == "mine"


def test_links_in_archives_are_not_followed_and_a_lock_is_not_fetched(cache, tmp_path):
    (tmp_path / "secret").write_text("secret")
    file = tmp_path / "evil.tar"
    archive("tar", file, ["run/lock", "run/a.json", "run/b.link"])
    with pytest.raises(OSError, match="not found"):
        Mirror(f"tar://run::{file}", cache / "whole").pull()
    texts = [path.read_text() for path in cache.rglob("*") if path.is_file()]
    assert "secret" not in texts
    assert (cache / "whole" / "lock").read_text() != "evil"


@pytest.mark.parametrize("root", ["", "run"])
def test_a_run_may_be_the_whole_archive_or_a_folder_of_it(cache, tmp_path, root):
    file = tmp_path / "run.zip"
    archive("zip", file, [f"{root}/config.json".lstrip("/"), f"{root}/a/b.txt".lstrip("/")])
    url = url_of(f"zip://{root}::{file}")
    folder = cache_folder(url)
    Mirror(url, folder).pull()
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {"lock", "config.json", "a/b.txt"}
