"""Loggers never stop training, whatever they do; resumed runs log nothing twice."""

import csv
import socket
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from hyperaction.errors import SettingError
from hyperaction.runs import Run, loggers
from hyperaction.runs.loggers import (
    CSV,
    MAX_WAITING,
    Background,
    TensorBoard,
    Trackio,
    WandB,
    check_installed,
)  # fmt: skip


class Good:
    def __init__(self):
        self.logged, self.closed = [], False

    def log(self, metrics, step):
        self.logged.append((metrics, step))

    def close(self):
        self.closed = True


class Bad(Good):
    """A logger that fails in one of its methods."""

    def __init__(self, where, error=OSError):
        super().__init__()
        self.where, self.error = where, error
        self._fail("made")

    def log(self, metrics, step):
        self._fail("log")

    def close(self):
        self._fail("close")

    def _fail(self, where):
        if where == self.where:
            raise self.error("disk\nfull")


def test_what_is_logged_arrives_in_order_and_the_logger_is_closed():
    good, messages = Good(), []
    logger = Background("good", lambda: good, messages.append)
    for step in range(50):
        logger.log({"x": 1.0}, step)
    logger.close()
    assert (good.logged, good.closed) == ([({"x": 1.0}, step) for step in range(50)], True)
    assert not messages


@pytest.mark.parametrize("error", [OSError, SystemExit])
@pytest.mark.parametrize("where", ["made", "log", "close"])
def test_a_logger_that_fails_is_reported_once(where, error):
    messages = []
    logger = Background("bad", lambda: Bad(where, error), messages.append)
    for step in range(5):
        logger.log({"x": 1.0}, step)
    logger.close()
    logger.log({"x": 1.0}, 5)
    logger.close()
    reason = f"it failed ({error.__name__}: disk full)"
    assert messages == [f"the logger bad is given up: {reason}; training continues"]


@pytest.mark.parametrize("waiting", [1, MAX_WAITING, MAX_WAITING + 1, 2 * MAX_WAITING])
def test_a_logger_that_hangs_is_given_up(monkeypatch, waiting):
    monkeypatch.setattr(loggers, "CLOSE_TIMEOUT_S", 0.05)
    begun, release, messages = threading.Event(), threading.Event(), []

    class Hanging(Good):
        def log(self, metrics, step):
            begun.set()
            release.wait()

    logger = Background("slow", Hanging, messages.append)
    logger.log({"x": 1.0}, 0)
    assert begun.wait(60)
    for step in range(waiting):
        logger.log({"x": 1.0}, step)
    logger.close()
    assert messages == ["the logger slow is given up: it hangs; training continues"]
    release.set()


def test_nothing_is_made_before_there_is_something_to_log(tmp_path):
    with Run(tmp_path, {}, loggers=["tensorboard", "csv"]) as run:
        run.resume()
        assert not [*tmp_path.glob("events*"), *tmp_path.glob("*.csv")]
        run.log("eval", {"step": 7, "return": 2.5})
    assert len([*tmp_path.glob("events*"), *tmp_path.glob("*.csv")]) == 2


def events(out):
    """The events of all files, in the order they were written."""
    from tensorboardX.proto.event_pb2 import Event  # It loads PyTorch, where there is one.
    from tensorboardX.record_writer import masked_crc32c

    found = []
    for file in sorted(out.glob("events*")):
        data = file.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            found.append(Event.FromString(data[12 : 12 + length]))
            for part, sum_ in (
                (data[:8], data[8:12]),
                (data[12 : 12 + length], data[12 + length :]),
            ):
                assert int.from_bytes(sum_[:4], "little") == masked_crc32c(part)
            data = data[16 + length :]
    return found


def test_tensorboard_reads_scalars_and_where_a_run_was_resumed(tmp_path):
    logger = TensorBoard(tmp_path, 30)
    logger.log({"eval/return": 2.5, "eval/length": -1e300}, 40)
    version, begin, *scalars = events(tmp_path)  # Written already.
    logger.close()
    assert version.file_version == "brain.Event:2"
    assert (begin.step, begin.session_log.status) == (31, 1)
    logged = [(e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in scalars]
    assert logged == [(40, "eval/return", 2.5), (40, "eval/length", -np.inf)]
    assert all(event.wall_time > 0 for event in scalars)


def test_a_full_disk_is_tensorboards_own_problem(tmp_path, capfd):
    threads, messages = set(threading.enumerate()), []
    full = open("/dev/full", "wb")  # noqa: SIM115

    def make():
        logger = TensorBoard(tmp_path, 0)
        logger._file.close()
        logger._file = full
        return logger

    logger = Background("tensorboard", make, messages.append)
    for step in range(50):
        logger.log({"x": 1.0}, step)
    logger.close()
    with suppress(OSError):
        full.close()
    assert len(messages) == 1
    assert "No space left on device" in messages[0]
    assert capfd.readouterr() == ("", "")
    assert set(threading.enumerate()) <= threads


SESSIONS = [
    (0, [("train", 10, 1.0), ("eval", 10, 2.0), ("train", 20, 3.0), ("eval", 20, 4.0)]),
    # Killed there; the checkpoint is at step 10, after its evaluation.
    (10, [("train", 20, 3.0), ("eval", 20, 4.0), ("train", 30, 5.0)]),
    # Killed between the two metrics of a step.
    (
        10,
        [
            ("train", 20, 3.0),
            ("eval", 20, 4.0),
            ("train", 30, 5.0),
            ("eval", 30, 6.0),
            ("eval/extra", 30, 7.0),
        ],
    ),
]
WANTED = {
    10: {"train": 1.0, "eval": 2.0},
    20: {"train": 3.0, "eval": 4.0},
    30: {"train": 5.0, "eval": 6.0, "eval/extra": 7.0},
}


def play_sessions(kind, out):
    for step, rows in SESSIONS:
        logger = kind(out, step)
        for name, at, value in rows:
            logger.log({name: value}, at)
        logger.close()


def test_a_csv_has_each_step_of_a_resumed_run_once(tmp_path):
    play_sessions(CSV, tmp_path)
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {
        int(row.pop("step")): {name: float(value) for name, value in row.items() if value}
        for row in rows
    }
    assert (found, len(rows)) == (WANTED, 3)


def test_a_row_of_a_csv_that_was_cut_short_is_written_again(tmp_path):
    file = tmp_path / "metrics.csv"
    file.write_text("step,a\n5,1.0\n10,2.0\n1")
    CSV(tmp_path, 10).log({"a": 3.0, "b": 4.0}, 15)
    assert file.read_text() == "step,a,b\n5,1.0,\n10,2.0,\n1,,\n15,3.0,4.0\n"


@pytest.fixture
def no_network(monkeypatch):
    """Fails where something connects to another machine."""
    connect = socket.socket.connect

    def local(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            assert address[0] in ("127.0.0.1", "::1", "localhost"), address
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local)


@pytest.mark.usefixtures("no_network")
def test_trackio_has_each_metric_of_a_resumed_run_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # It is read at the import.
    pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    monkeypatch.setenv("TRACKIO_PROJECT", "project")
    with Run(
        tmp_path / "run", {"agent": "hgqn", "env": "E-v0", "seed": 0, "steps": 1, "settings": {}}
    ):
        play_sessions(Trackio, tmp_path / "run")
    (name,) = SQLiteStorage.get_runs("project")
    assert name.startswith("hgqn E-v0 ")
    logged = [
        (row["step"], metric, value)
        for row in SQLiteStorage.get_logs("project", name)
        for metric, value in row.items()
        if metric not in ("step", "timestamp")
    ]
    wanted = [
        (step, metric, value) for step, row in WANTED.items() for metric, value in row.items()
    ]
    assert sorted(logged) == sorted(wanted)


@pytest.mark.usefixtures("no_network")
def test_wandb_has_each_metric_of_a_resumed_run_once(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(f"{__name__}.SESSIONS", SESSIONS[::2])  # Each starts a process.
    play_sessions(WandB, tmp_path)
    logged = wandb_history(tmp_path)
    wanted = [
        (step, metric, value) for step, row in WANTED.items() for metric, value in row.items()
    ]
    assert sorted(logged) == sorted(wanted)
    ids = {file.name.removeprefix("run-") for file in tmp_path.rglob("*.wandb")}
    assert len(ids) == 1


def wandb_history(out):
    """What W&B's files hold, which `wandb sync` uploads."""
    logged = []
    for file in sorted(out.glob("wandb/offline-*/*.wandb")):
        until = time.monotonic() + 30
        while not any(record.HasField("exit") for record in wandb_records(file)):
            assert time.monotonic() < until  # Its own process may write after `finish` returned.
            time.sleep(0.05)
        for record in wandb_records(file):
            step = record.history.step.num
            items = [(item.nested_key[0], item.value_json) for item in record.history.item]
            logged += [(step, name, float(json)) for name, json in items if name[0] != "_"]
    return logged


def wandb_records(file):
    """Records in LevelDB's log format, up to one that is being written."""
    from wandb.proto.wandb_internal_pb2 import Record

    records, data = [], file.read_bytes()[7:]
    while len(data) >= 7 and len(data) >= (end := 7 + int.from_bytes(data[4:6], "little")):
        records.append(Record.FromString(data[7:end]))
        data = data[end:]
    return records


def test_a_logger_whose_package_is_missing_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setattr(loggers, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"loggers wandb needs wandb: pip install 'hyper"):
        check_installed("wandb")
    check_installed("csv")
