"""Interrupts: asked once, work finishes its step; asked twice, it stops, but not in an update."""

import os
import signal
import subprocess
import sys

import pytest

from hyperaction.training.interrupts import SIGNALS, stoppable


def test_a_closed_terminal_asks_to_stop_as_ctrl_c_does():
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} == set(SIGNALS)


@pytest.mark.parametrize("number", SIGNALS)
def test_asked_twice_it_stops_unless_it_is_busy(number):
    asked, busy = [], [True]
    before = signal.getsignal(number)
    with stoppable(lambda: asked.append(1), is_busy=lambda: busy[0]) as should_stop:
        assert not should_stop()
        signal.raise_signal(number)
        assert should_stop()
        signal.raise_signal(number)
        busy[0] = False
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert asked == [1]
    assert signal.getsignal(number) is before


def test_a_closed_terminal_is_ignored_under_nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # As nohup does.
    try:
        with stoppable() as should_stop:
            signal.raise_signal(signal.SIGHUP)
            assert not should_stop()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


IN_A_TERMINAL = """
import fcntl, sys, termios, time
from hyperaction.training.interrupts import stoppable
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
with stoppable() as should_stop:
    print("ready", flush=True)
    until = time.monotonic() + 20
    while not should_stop() and time.monotonic() < until:
        time.sleep(0.01)
print("stopped", flush=True)
print("stopped", flush=True, file=sys.stderr)
sys.exit(7 if should_stop() else 8)
"""


def test_what_is_printed_after_the_terminal_is_closed_is_dropped():
    ours, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    assert b"ready" in os.read(ours, 100)
    os.close(ours)
    assert process.wait(30) == 7
