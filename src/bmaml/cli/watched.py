"""A process of several, watched by another that can still speak if the runtime ends it.

JAX aborts a process, with a trace of its own inside, at the moment the first of all processes is gone.
No Python code in that process has the last word; the one that started it has.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from bmaml.errors import LOST_PROCESS

VARIABLE = "BMAML_WATCHED"
# By which a process tells the one that watches it, which then speaks: the runtime writes to the same
# stream at that moment, from threads of its own, and words among its words would be lost.
LOST_CODE = 75
# Where the runtime's last words begin, after what its parts have to say of the same.
LAST_WORDS = b"Terminating process because the JAX distributed service"
SAME = (b"coordination_service", b"preemption_sync_manager")


def is_watched() -> bool:
    """Whether this is such a process; if so, it ends with the one that watches it."""
    if VARIABLE not in os.environ:
        return False

    def end_together() -> None:
        # Until there is nobody at the other end; not by sys.stdin, whose lock Python needs to end.
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=end_together, daemon=True).start()
    return True


def run(command: Sequence[str] | None = None) -> int:
    """Run a command, this one, in another process; its exit code, after a sentence if it was ended."""
    child = subprocess.Popen(
        command or [sys.executable, "-m", "bmaml.cli.main", *sys.argv[1:]],
        env={**os.environ, VARIABLE: "1"},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Ctrl-C reaches the child as well, which knows what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    assert child.stderr is not None
    ended = False
    for line in child.stderr:
        ended = ended or LAST_WORDS in line
        if not ended and line.strip() and not any(part in line for part in SAME):
            sys.stderr.buffer.write(line)
            sys.stderr.flush()
    code = child.wait()
    if ended or code in (LOST_CODE, -signal.SIGABRT):
        print(f"bmaml: {LOST_PROCESS}", file=sys.stderr)
        return 1
    return code


def end_after_loss() -> NoReturn:
    """End a process that has lost another, with a sentence, its own or that of whoever watches it."""
    watched = VARIABLE in os.environ
    if not watched:
        print(f"bmaml: {LOST_PROCESS}", file=sys.stderr, flush=True)
    # A farewell to processes that are gone would not end, or end in a trace.
    os._exit(LOST_CODE if watched else 1)
