"""A training that is over, written into a run folder as if it had been trained there."""

import os
import shutil
from pathlib import Path
from typing import Any

from bmaml.errors import RunError
from bmaml.run_folder import CONTENTS, RunFolder
from bmaml.training_log import Entry, TrainingLog
from bmaml.training_state import Snapshot
from bmaml.writing import reporting_write_errors

# What an attempt leaves that could write no more than this, for want of room.
OF_NO_WORTH = ("lock", "run.json.tmp")


def save_run(
    path: str | os.PathLike[str], settings: dict[str, Any], snapshot: Snapshot, entries: list[Entry]
) -> None:
    """Write all that a run has; into a folder that holds nothing, which it is again if that fails.

    Arguments:
        path: the folder.
        settings: for its `run.json`.
        snapshot: its only checkpoint.
        entries: its log.
    """
    folder = Path(path).absolute()
    if folder.is_dir() and any(place.name not in OF_NO_WORTH for place in folder.iterdir()):
        raise RunError(f"{folder} already holds something: save to another folder, a new one.")
    with reporting_write_errors(folder, "save again"):
        run = RunFolder.start(folder, settings, resume=False)
        try:
            log = TrainingLog(run.path, 0)
            try:
                log.write(entries)
            finally:
                log.close()
            run.checkpoints.save(int(snapshot.state.step), snapshot)
        except BaseException:
            for name in ("run.json", *CONTENTS):
                place = folder / name
                shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
            raise
        finally:
            run.close()
