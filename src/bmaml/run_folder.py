"""A training run on disk: `run.json`, `log.jsonl`, `tensorboard/`, `checkpoints/` and `lock`.

Whatever instant a run is killed at, the folder can be resumed: `run.json` is replaced in one go, a
checkpoint counts once it is complete, and the log is cut back to the checkpoint.
"""

import errno
import importlib.metadata
import json
import logging
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import jax
import numpy as np
from jaxtyping import PyTree

from bmaml.errors import RunError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 1
CONTENTS = ("log.jsonl", "tensorboard", "checkpoints")
# What a checkpoint takes beside its arrays, generously.
CHECKPOINT_OVERHEAD = 2**20
# How often to look at checkpoints that come and go.
LOOKS = 5
# EFBIG: a limit on file sizes, as batch systems set, is a full disk of another kind.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunFolder:
    """An open run folder; `settings` is what `run.json` says.

    One that `start` opened is a training's, which nobody else may train into until it is closed. One
    that `read` opened leaves everything as it is, so that a run can be looked at while it goes on.
    """

    def __init__(self, path: Path, settings: dict[str, Any], lock: IO[str] | None = None):
        self.path = path
        self.settings = settings
        self._lock = lock
        self._manager = None

    @classmethod
    def start(
        cls, path: str | os.PathLike[str], settings: dict[str, Any], *, resume: bool
    ) -> "RunFolder":
        """Make a folder for a new run, or with `resume` open that of the same run."""
        folder = Path(path).absolute()
        require_fit(folder, settings, resume=resume)
        with reporting_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = _lock(folder)
            if (folder / "run.json").exists():
                return cls(folder, cls.read(folder).settings, lock)
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

    def save(self, step: int, tree: PyTree) -> None:
        """Write a complete checkpoint; the one before it stays until the next."""
        with reporting_write_errors(self.path), _quiet():
            import orbax.checkpoint as ocp

            # Orbax's threads print tracebacks of their own when the disk fills up under them.
            needed = CHECKPOINT_OVERHEAD + sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
            if shutil.disk_usage(self.path).free < needed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            manager = self._open_manager()
            if step not in manager.all_steps():
                if jax.process_count() > 1:  # Orbax expects arrays of one process to be NumPy's.
                    tree = jax.tree.map(np.asarray, tree)
                manager.save(step, args=ocp.args.StandardSave(tree))
                manager.wait_until_finished()

    def restore(self, like: PyTree) -> PyTree | None:
        """The last checkpoint in the form of `like` (shapes will do), or None if there is none."""
        steps = sorted(self._steps(), reverse=True)
        for index, step in enumerate(steps):
            try:
                tree = self._restore_step(step, like)
            except Exception as error:
                if index + 1 == len(steps):
                    raise RunError(
                        f"No checkpoint in {self.path} can be read, all are damaged: restore the "
                        "folder from a backup or train again into another one."
                    ) from error
                continue
            if index > 0:
                damaged = self.path / "checkpoints" / str(steps[0])
                raise RunError(
                    f"The last checkpoint in {self.path} is damaged, but that of step {step} is "
                    f"intact: delete {damaged} to go on from there."
                )
            return tree
        return None

    def close(self) -> None:
        """Let go of the folder."""
        if self._manager is not None:
            with _quiet():
                self._manager.close()
            self._manager = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _steps(self) -> list[int]:
        if not (self.path / "checkpoints").is_dir():
            return []
        looks = 1
        while True:
            try:
                with _quiet():
                    return list(self._open_manager().all_steps())
            except (OSError, ValueError) as error:
                # A training that goes on may have removed one as it was looked at.
                if looks == LOOKS:
                    raise RunError(
                        f"The checkpoints in {self.path} cannot be read: {error}."
                    ) from error
                looks += 1
                time.sleep(0.1)

    def _restore_step(self, step: int, like: PyTree) -> PyTree:
        with _quiet():
            import orbax.checkpoint as ocp

            # On a device of this machine: the one it was saved on may not be here.
            here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
            like = jax.tree.map(
                lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), like
            )
            return self._open_manager().restore(step, args=ocp.args.StandardRestore(like))

    def _open_manager(self) -> Any:
        # Half a second to import, which only runs with a folder should pay.
        import orbax.checkpoint as ocp

        if self._manager is None:
            # Of several processes only the first has a folder, and must not wait for the others.
            alone = ocp.options.MultiprocessingOptions()
            if jax.process_count() > 1:
                alone = ocp.options.MultiprocessingOptions(
                    primary_host=0, active_processes={0}, barrier_sync_key_prefix="first"
                )
            if self._lock is None:
                # A training may be writing a checkpoint here: what it has begun is not ours to clear.
                options = ocp.CheckpointManagerOptions(read_only=True, multiprocessing_options=alone)
            else:
                options = ocp.CheckpointManagerOptions(
                    # Two, so that one damaged checkpoint is not the end of a run.
                    preservation_policy=ocp.checkpoint_managers.preservation_policy.LatestN(2),
                    enable_async_checkpointing=False,
                    cleanup_tmp_directories=True,
                    multiprocessing_options=alone,
                    create=False,
                )
                with reporting_write_errors(self.path):
                    (self.path / "checkpoints").mkdir(exist_ok=True)
            self._manager = ocp.CheckpointManager(self.path / "checkpoints", options=options)
        return self._manager


def require_fit(path: str | os.PathLike[str], settings: dict[str, Any], *, resume: bool) -> None:
    """Refuse a folder that holds a run, unless the same is to be resumed; nothing is written."""
    folder = Path(path).absolute()
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file: choose a folder to write the run to.")
    if (folder / "run.json").exists():
        if not resume:
            raise RunError(
                f"{folder} already holds a run: resume it (resume=True, on the command line --resume), "
                "or choose another folder."
            )
        # Through JSON, where a tuple is a list.
        _require_same(folder, RunFolder.read(folder).settings, json.loads(json.dumps(settings)))
    elif any((folder / name).exists() for name in CONTENTS):
        raise RunError(f"{folder} holds parts of a run but no run.json: choose another folder.")


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
        raise RunError(f"{path} has no description to rebuild its learner from; load it in Python.")
    return description


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one go: readers see the old text or the new, never half of it."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@contextmanager
def reporting_write_errors(folder: Path) -> Iterator[None]:
    """Tell a full disk, a missing permission and their like in one sentence."""
    try:
        yield
    except Exception as error:
        if _is_full(error):
            raise RunError(
                f"Cannot write to {folder}, the disk is full: make room and resume; complete "
                "checkpoints are intact."
            ) from error
        if isinstance(error, OSError):
            raise RunError(f"Cannot write to {folder}: {error.strerror or error}.") from error
        raise


def _is_full(error: BaseException | None) -> bool:
    """Orbax and TensorStore wrap the system's error, sometimes as mere text."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if any(os.strerror(code) in str(error) for code in FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


def _require_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """The settings a run goes on with must be those it began with."""
    for name, value in now.items():
        if before.get(name) == value or (name == "learner" and name not in before):
            continue  # Folders of earlier versions do not say what the learner was.
        if name == "particles":
            raise RunError(
                f"{folder} holds a run of another model, with particles of other shapes: resume "
                "with the model it began with, or choose another folder."
            )
        which, old, new = _difference(name, before.get(name), value)
        raise RunError(
            f"{folder} holds a run whose {which} is {json.dumps(old)}, not {json.dumps(new)}: resume "
            "with the settings it began with, on the same data, or choose another folder."
        )


def _difference(name: str, before: Any, now: Any) -> tuple[str, Any, Any]:
    """The innermost part that differs, by its path: a whole description is too long to compare."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in (*now, *before):
            if before.get(key) != now.get(key):
                return _difference(f"{name}.{key}", before.get(key), now.get(key))
    if isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            return f"number of {name}", len(before), len(now)
        for index, (old, new) in enumerate(zip(before, now, strict=True)):
            if old != new:
                return _difference(f"{name}[{index}]", old, new)
    return name, before, now


def _version() -> str:
    try:
        return importlib.metadata.version("bmaml")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Orbax has to say about its own workings from the user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import orbax.checkpoint  # noqa: F401 - absl sets its level up when it is imported.

        logger = logging.getLogger("absl")
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            logger.setLevel(level)
