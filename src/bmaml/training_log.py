"""What a training tells while it runs: JSON lines, TensorBoard and a progress bar."""

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from bmaml.writing import reporting_write_errors, write_atomically

Entry = dict[str, Any]


class TrainingLog:
    """One entry for each validation and seed, in `log.jsonl` and for TensorBoard.

    An entry holds "step", "seed", "loss" (the mean since the entry before), "validation" (scores by
    name), where there are any "training" (scores of the updates' own tasks), "seconds" (since training
    began, pauses left out) and "updates_per_second". A number that is not finite is null, because JSON
    has no other word for it.
    """

    def __init__(self, folder: Path, step: int):
        """Open the log of a run that stands at `step`; later entries belong to a lost future."""
        self._folder = folder
        self._path = folder / "log.jsonl"
        self._boards: dict[int, Any] = {}
        self._step = step
        self.entries = [entry for entry in read_log(self._path) if entry["step"] <= step]
        with reporting_write_errors(folder):
            write_atomically(self._path, "".join(map(_line, self.entries)))

    def write(self, entries: list[Entry]) -> None:
        """Add the entries of one validation."""
        self.entries += entries
        with reporting_write_errors(self._folder):
            with open(self._path, "a", encoding="utf-8") as file:
                file.write("".join(map(_line, entries)))
            for entry in entries:
                self._write_board(entry)

    def close(self) -> None:
        """Let go of all files."""
        for board in self._boards.values():
            # What could be written has been; a disk that is full was reported then.
            with suppress(OSError):
                board.close()
        self._boards.clear()

    def _write_board(self, entry: Entry) -> None:
        event_pb2, summary_pb2 = _messages()
        scores = {
            f"{split}/{name}": value
            for split in ("validation", "training")
            for name, value in entry.get(split, {}).items()
        }
        scores |= {"loss": entry["loss"], "updates_per_second": entry["updates_per_second"]}
        values = [
            summary_pb2.Summary.Value(tag=name, simple_value=math.nan if value is None else value)
            for name, value in scores.items()
        ]
        board = self._board(entry["seed"])
        board.write_event(
            event_pb2.Event(
                wall_time=time.time(), step=entry["step"], summary=summary_pb2.Summary(value=values)
            )
        )
        board.flush()

    def _board(self, seed: int) -> Any:
        """The event file of one seed.

        Not `SummaryWriter`: it writes from a thread of its own, where an error has no one to go to.
        """
        if seed not in self._boards:
            from tensorboardX.event_file_writer import EventsWriter

            event_pb2, _ = _messages()
            folder = self._folder / "tensorboard" / f"seed-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
            board = EventsWriter(str(folder / "events"), f".{time.time_ns()}")
            # TensorBoard then hides what an earlier process wrote after this step.
            session = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            board.write_event(
                event_pb2.Event(wall_time=time.time(), step=self._step + 1, session_log=session)
            )
            self._boards[seed] = board
        return self._boards[seed]


def _messages() -> tuple[Any, Any]:
    """TensorBoard's messages, whose classes exist only at run time, where no type checker looks."""
    from tensorboardX.proto import event_pb2, summary_pb2

    return event_pb2, summary_pb2


def read_log(path: Path) -> list[Entry]:
    """All whole entries of a `log.jsonl`; a kill may have cut the last line short."""
    entries = []
    with suppress(FileNotFoundError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                break
            if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
                break
            if not entry.keys() >= {"seed", "loss", "seconds", "validation"}:
                break
            entries.append(entry)
    return entries


def number(value: Any) -> float | None:
    """A float for JSON, or None if it is not finite."""
    value = float(value)
    return value if math.isfinite(value) else None


def _line(entry: Entry) -> str:
    return json.dumps(entry, allow_nan=False) + "\n"


# Called with the step reached, and with `loss=` and `score=` (name and value) after a validation.
Progress = Callable[..., None]


@contextmanager
def show_progress(steps: int, start: int, shown: bool) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line every tenth of the way; nothing unless `shown`."""
    if not shown:
        yield lambda step, *, loss=None, score=None: None
    elif sys.stderr.isatty():
        with _Bar(steps, start) as bar:
            yield bar
    else:
        yield _Lines(steps, start)


class _Bar:
    """The progress bar of a terminal."""

    def __init__(self, steps: int, start: int):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.fields[rate]:.3g} updates/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._start, self._began = start, time.monotonic()
        self._note: dict[str, float | None] = {"loss": None}
        self._task = self._bar.add_task("", total=steps, completed=start, rate=0.0, note="")

    def __enter__(self) -> "_Bar":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(
        self, step: int, *, loss: float | None = None, score: tuple[str, float] | None = None
    ) -> None:
        rate = (step - self._start) / max(time.monotonic() - self._began, 1e-9)
        _remember(self._note, loss, score)
        self._bar.update(self._task, completed=step, rate=rate, note=_told(self._note))


class _Lines:
    """Plain lines for a log file."""

    def __init__(self, steps: int, start: int):
        self._steps, self._start = steps, start
        self._tenth = 10 * start // steps
        self._began = time.monotonic()
        self._note: dict[str, float | None] = {"loss": None}

    def __call__(
        self, step: int, *, loss: float | None = None, score: tuple[str, float] | None = None
    ) -> None:
        _remember(self._note, loss, score)
        # A new tenth waits for the validation that is due, to tell its score.
        if 10 * step // self._steps > self._tenth and score is not None:
            self._tenth = 10 * step // self._steps
            rate = (step - self._start) / max(time.monotonic() - self._began, 1e-9)
            left = (self._steps - step) / max(rate, 1e-9)
            told = f"step {step}/{self._steps}, {rate:.3g} updates/s, {left:.0f} s left"
            print(f"{told}, {_told(self._note)}", file=sys.stderr, flush=True)


def _remember(
    note: dict[str, float | None], loss: float | None, score: tuple[str, float] | None
) -> None:
    if loss is not None:
        note["loss"] = loss
    if score is not None:
        name, value = score
        note[f"validation {name}"] = value


def _told(note: dict[str, float | None]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in note.items() if value is not None)
