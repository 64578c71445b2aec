"""The checkpoints of a run, kept by Orbax: a checkpoint counts once it is complete."""

import errno
import logging
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from bmaml.errors import RunError
from bmaml.writing import reporting_write_errors

# What a checkpoint takes beside its arrays, generously.
CHECKPOINT_OVERHEAD = 2**20
# How often to look at checkpoints that come and go.
LOOKS = 5


class Checkpoints:
    """The folder `checkpoints` of a run folder.

    Unless they are `written` to, everything stays as it is: a training may be at work there.
    """

    def __init__(self, run: Path, *, written: bool):
        self.run = run
        self.written = written
        self._manager = None

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.run / "checkpoints"

    def save(self, step: int, tree: PyTree) -> None:
        """Write a complete checkpoint; the one before it stays until the next."""
        with reporting_write_errors(self.run), _quiet():
            import orbax.checkpoint as ocp

            # Orbax's threads print tracebacks of their own when the disk fills up under them.
            needed = CHECKPOINT_OVERHEAD + sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
            if shutil.disk_usage(self.run).free < needed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            manager = self._open_manager()
            if step not in manager.all_steps():
                if jax.process_count() > 1:  # Orbax expects arrays of one process to be NumPy's.
                    tree = jax.tree.map(np.asarray, tree)
                manager.save(step, args=ocp.args.StandardSave(tree))
                manager.wait_until_finished()

    def restore(self, like: PyTree) -> PyTree | None:
        """The last checkpoint in the form of `like` (shapes will do), or None if there is none."""
        steps = self._steps()
        while True:
            try:
                return self._restore_last(steps, like)
            except RunError:
                # A training that goes on may have replaced what was there by later ones meanwhile.
                self.close()
                now = self._steps()
                if self.written or now == steps:
                    raise
                steps = now

    def _restore_last(self, steps: list[int], like: PyTree) -> PyTree | None:
        for index, step in enumerate(steps):
            try:
                tree = self._restore_step(step, like)
            except Exception as error:
                # Orbax takes the form of all checkpoints from the first it looked at: forget that.
                self.close()
                if index + 1 == len(steps):
                    raise RunError(
                        f"No checkpoint in {self.run} can be read, all are damaged: restore the "
                        "folder from a backup or train again into another one."
                    ) from error
                continue
            if index > 0:
                damaged = self.folder / str(steps[0])
                raise RunError(
                    f"The last checkpoint in {self.run} is damaged, but that of step {step} is "
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

    def _steps(self) -> list[int]:
        """The last one first."""
        if not self.folder.is_dir():
            return []
        looks = 1
        while True:
            try:
                with _quiet():
                    return sorted(self._open_manager().all_steps(), reverse=True)
            except (OSError, ValueError) as error:
                # A training that goes on may have removed one as it was looked at.
                if looks == LOOKS:
                    raise RunError(f"The checkpoints in {self.run} cannot be read: {error}.") from error
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
            if not self.written:
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
                with reporting_write_errors(self.run):
                    self.folder.mkdir(exist_ok=True)
            self._manager = ocp.CheckpointManager(self.folder, options=options)
        return self._manager


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
