"""Ctrl-C, heard when it suits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def postponed_interrupt(active: bool) -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a flag, since an exception amid an update would lose the state.

    A second one goes through. Only the main thread hears of signals.
    """
    pressed = threading.Event()
    if not active or threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    previous = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous)
