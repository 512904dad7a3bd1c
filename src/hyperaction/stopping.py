"""Being asked to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class StoppedError(Exception):
    """What was asked to stop, and can go on later."""


@contextmanager
def stoppable(told: Callable[[], None] = lambda: None) -> Iterator[Callable[[], bool]]:
    """Whether somebody asked to stop, of which `told` tells; asked twice, it stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        told()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
