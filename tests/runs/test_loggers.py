"""Loggers never stop training, whatever they do."""

import threading
from contextlib import suppress

import pytest
from tensorboardX.proto.event_pb2 import Event

from hyperaction.runs import Run, loggers
from hyperaction.runs.loggers import LOGGERS, MAX_WAITING, Background, TensorBoard


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
    with Run(tmp_path, {}, loggers=list(LOGGERS)) as run:
        run.resume()
        assert not list(tmp_path.glob("events*"))
        run.log("eval", {"step": 7, "return": 2.5})
    assert len(list(tmp_path.glob("events*"))) == 1


def events(out):
    """The events of all files, in the order they were written."""
    found = []
    for file in sorted(out.glob("events*")):
        data = file.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            found.append(Event.FromString(data[12 : 12 + length]))
            data = data[16 + length :]
    return found


def test_tensorboard_reads_scalars_and_where_a_run_was_resumed(tmp_path):
    logger = TensorBoard(tmp_path, 30)
    logger.log({"eval/return": 2.5, "eval/length": 10.0}, 40)
    version, begin, *scalars = events(tmp_path)  # Written already.
    logger.close()
    assert version.file_version == "brain.Event:2"
    assert (begin.step, begin.session_log.status) == (31, 1)
    logged = [(e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in scalars]
    assert logged == [(40, "eval/return", 2.5), (40, "eval/length", 10.0)]
    assert all(event.wall_time > 0 for event in scalars)


def test_a_full_disk_is_tensorboards_own_problem(tmp_path, capfd):
    threads, messages = set(threading.enumerate()), []
    full = open("/dev/full", "wb")  # noqa: SIM115

    def make():
        logger = TensorBoard(tmp_path, 0)
        logger._writer._py_recordio_writer._writer.close()
        logger._writer._py_recordio_writer._writer = full
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
