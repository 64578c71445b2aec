"""A training run on disk: `run.json`, `log.jsonl`, `tensorboard/`, `checkpoints/` and `lock`.

Whatever instant a run is killed at, the folder can be resumed: `run.json` is replaced in one go, a
checkpoint counts once it is complete, and the log is cut back to the checkpoint.
"""

import importlib.metadata
import json
import os
from pathlib import Path
from typing import IO, Any

from bmaml.checkpoints import Checkpoints
from bmaml.errors import RunError
from bmaml.writing import reporting_write_errors, write_atomically

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 1
CONTENTS = ("log.jsonl", "tensorboard", "checkpoints")


class RunFolder:
    """An open run folder; `settings` is what `run.json` says.

    One that `start` opened is a training's, which nobody else may train into until it is closed. One
    that `read` opened leaves everything as it is, so that a run can be looked at while it goes on.
    """

    def __init__(self, path: Path, settings: dict[str, Any], lock: IO[str] | None = None):
        self.path = path
        self.settings = settings
        self._lock = lock
        self.checkpoints = Checkpoints(path, written=lock is not None)

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        settings: dict[str, Any],
        *,
        resume: bool,
        prolong: bool = False,
    ) -> "RunFolder":
        """Make a folder for a new run, or with `resume` open that of the same run.

        With `prolong` the run may have had fewer steps; from now on it has as many as `settings` say.
        """
        folder = Path(path).absolute()
        require_fit(folder, settings, resume=resume, prolong=prolong)
        with reporting_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = _lock(folder)
            if _has_begun(folder):
                before = cls.read(folder).settings
                settings = {**before, "steps": settings["steps"]} if prolong else before
                if settings == before:
                    return cls(folder, before, lock)
            else:
                settings = {"format": FORMAT, "bmaml": _version(), **settings}
            write_atomically(folder / "run.json", json.dumps(settings, indent=2) + "\n")
        return cls(folder, settings, lock)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "RunFolder":
        """Open an existing run."""
        folder = Path(path).absolute()
        try:
            settings = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise RunError(
                f"{folder} is not a run folder: its run.json cannot be read ({error.strerror})."
            ) from error
        except ValueError as error:
            raise RunError(
                f"{folder / 'run.json'} is damaged: restore it from a backup or train again into "
                "another folder."
            ) from error
        if not isinstance(settings, dict) or settings.get("format") != FORMAT:
            raise RunError(
                f"{folder} was not written by this version of bmaml, which reads format {FORMAT}: "
                "use the version that made it."
            )
        return cls(folder, settings)

    def close(self) -> None:
        """Let go of the folder."""
        self.checkpoints.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def require_fit(
    path: str | os.PathLike[str], settings: dict[str, Any], *, resume: bool, prolong: bool = False
) -> None:
    """Refuse a folder that holds a run, unless the same is to be resumed; nothing is written.

    With `prolong`, a run of fewer steps is the same.
    """
    folder = Path(path).absolute()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not existing.is_dir():
        raise RunError(f"{existing} is a file: choose a folder to write the run to.")
    if _has_begun(folder):
        if not resume:
            raise RunError(
                f"{folder} already holds a run: resume it (resume=True, on the command line --resume), "
                "or choose another folder."
            )
        before, now = RunFolder.read(folder).settings, json.loads(json.dumps(settings))  # no tuples
        steps = before.get("steps")
        if prolong and isinstance(steps, int) and steps < now["steps"]:
            now["steps"] = steps
        _require_same(folder, before, now)
    elif not (folder / "run.json").exists() and any((folder / name).exists() for name in CONTENTS):
        raise RunError(f"{folder} holds parts of a run but no run.json: choose another folder.")


def _has_begun(folder: Path) -> bool:
    """Whether the run in `folder` has anything to lose.

    One that ended before its first validation, for want of memory say, has not.
    """
    if not (folder / "run.json").exists():
        return False
    log = folder / "log.jsonl"
    logged = log.exists() and log.stat().st_size > 0
    return logged or any(place.name.isdigit() for place in (folder / "checkpoints").glob("*"))


def _lock(folder: Path) -> IO[str]:
    """Refuse to train where another process does; the lock ends with the process that holds it."""
    file = open(folder / "lock", "w")  # noqa: SIM115 - it stays open as long as the run folder
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise RunError(
                f"{folder} is being trained into by another process: wait until it has ended, or "
                "choose another folder."
            ) from error
        except OSError:  # A file system without locks.
            pass
    return file


def read_description(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was given to `fit` as `description`, from the folder of a run."""
    description = RunFolder.read(path).settings.get("description")
    if not isinstance(description, dict):
        raise RunError(
            f"{path} has no description to rebuild its learner from: load it in Python, with "
            "Trained.load(folder, learner)."
        )
    return description


def _require_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """The settings a run goes on with must be those it began with."""
    for name, value in now.items():
        if name in ("learner", "tasks", "environment"):
            if name not in before:
                continue  # Folders of earlier versions do not say what these were.
            value = as_far_as_told(before[name], value)
        if before.get(name) == value:
            continue
        if name == "particles":
            raise RunError(
                f"{folder} holds a run of another model, with particles of other shapes: resume "
                "with the model it began with, or choose another folder."
            )
        which, old, new = difference(name, before.get(name), value)
        raise RunError(
            f"{folder} holds a run whose {which} is {json.dumps(old)}, not {json.dumps(new)}: resume "
            "with the settings it began with, on the same data, or choose another folder."
        )


def as_far_as_told(before: Any, now: Any) -> Any:
    """The description `now`, as far as the version of bmaml that wrote `before` could have told it.

    It did not have the settings that were added since, and did not name every function.
    """
    if isinstance(before, str) and "<lambda>" in before:
        return before
    if isinstance(before, dict) and isinstance(now, dict):
        return {key: as_far_as_told(before[key], value) for key, value in now.items() if key in before}
    return now


def difference(name: str, before: Any, now: Any) -> tuple[str, Any, Any]:
    """The innermost part that differs, by its path: a whole description is too long to compare."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in (*now, *before):
            if before.get(key) != now.get(key):
                return difference(f"{name}.{key}", before.get(key), now.get(key))
    if isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            return f"number of {name}", len(before), len(now)
        for index, (old, new) in enumerate(zip(before, now, strict=True)):
            if old != new:
                return difference(f"{name}[{index}]", old, new)
    return name, before, now


def _version() -> str:
    try:
        return importlib.metadata.version("bmaml")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
