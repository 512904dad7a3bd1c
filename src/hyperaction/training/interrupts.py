"""Interrupts: Ctrl-C, SIGTERM and a closed terminal ask to stop; a second time at once."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class StoppedError(Exception):
    """Work that was asked to stop and can be resumed."""


@contextmanager
def stoppable(
    on_stop: Callable[[], None] = lambda: None,
    *,
    signals: tuple[signal.Signals, ...] = SIGNALS,
    is_busy: Callable[[], bool] = lambda: False,
) -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether a stop was asked for; asked twice, it stops at once.

    Args:
        on_stop: Called when a stop is asked for.
        signals: What asks for it.
        is_busy: Whether stopping at once would leave something broken; then it is not done.
    """
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if signal.Signals(number).name == "SIGHUP":
            _leave_dead_terminal()
        if not asked:
            asked.append(number)
            on_stop()
        elif not is_busy():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # Signals go to the main thread.
        return
    heard = [number for number in signals if not _is_nohup(number)]
    before = {number: signal.signal(number, ask) for number in heard}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _leave_dead_terminal() -> None:
    """Drops what is printed to a terminal that is gone: the work that is left must not fail."""
    for number in (0, 1, 2):
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, number)
                os.close(nothing)


def _is_nohup(number: signal.Signals) -> bool:
    """Whether a closed terminal is to be ignored, as nohup asks for."""
    return number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN
