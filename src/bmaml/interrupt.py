"""Ctrl-C, heard when it suits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def postponed_interrupt(active: bool) -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a flag, since an exception amid an update would lose the state.

    A second one goes through. Only the main thread hears of signals; a job that a shell script put into
    the background was told to ignore them, and goes on doing so.
    """
    pressed = threading.Event()
    previous = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not active or not main or previous == signal.SIG_IGN:
        yield pressed
        return

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous)
