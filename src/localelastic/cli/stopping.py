"""Being stopped from outside, so that what was begun is cleaned up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(BaseException):
    """Ctrl-C, a polite kill or a closed terminal; not an error that anyone should catch."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """Turns those signals into ``Stopped`` inside the block; ignored ones stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread alone
        return
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: object) -> None:
    raise Stopped(number)
