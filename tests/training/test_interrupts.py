"""Interrupts: asked once, work finishes its step; asked twice, it stops, but not in an update."""

import signal

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
