"""The loop of a training: update, validate, log and save, until the last step or the first trouble.

It knows nothing of what an update is: supervised and reinforcement learning share it.
"""

import math
import threading
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from bmaml.errors import DivergedError, Interrupted, SimulationError
from bmaml.interrupt import postponed_interrupt
from bmaml.meta_update import Advance
from bmaml.run_folder import RunFolder
from bmaml.scale import processes
from bmaml.training_log import Entry, Progress, TrainingLog, number, show_progress
from bmaml.training_state import Snapshot, improve

Scores = dict[str, Float[Array, " seeds"]]
Validate = Callable[[PyTree], Scores]

# A look at the clock this often keeps a progress bar alive and costs nothing measurable.
SECONDS_BETWEEN_LOOKS = 0.5
# A checkpoint takes about 0.1 s whatever its size; it may take this share of a run's time.
SHARE_FOR_CHECKPOINTS = 0.05


class TrainingLoop:
    """Update, validate, log and save, until the last step or the first trouble."""

    def __init__(
        self,
        seeds: list[int],
        steps: int,
        every: int,
        advance: Advance,
        validate: Validate,
        selection: tuple[str, bool],
        folder: RunFolder | None,
        on_validation: Callable[[int, PyTree], None] | None,
        resumes: bool,
        training_scores: Callable[[], Scores] | None = None,
        calibrate: Callable[[PyTree, Scores], PyTree] | None = None,
    ):
        self.seeds, self.steps, self.every = seeds, steps, every
        self.advance, self.validate, self.folder = advance, validate, folder
        self.selection, self.higher_is_better = selection
        self.on_validation = on_validation
        self.resumes = resumes  # whether the same call would go on where this one stops
        # What updates saw of their own tasks since the last validation, for the log alone.
        self.training_scores = training_scores
        # From particles and their validation scores to what is kept of the best.
        self.calibrate = calibrate
        self.improve = jax.jit(improve)
        self.pace = 1
        self.saved_at, self.save_seconds = -math.inf, 0.0

    def run(
        self,
        begin: Callable[[], Snapshot],
        like: Snapshot,
        progress: bool,
        *,
        saves: bool | None = None,
    ) -> tuple[Snapshot, list[Entry]]:
        """Train from what the folder holds, or from the beginning, to the end.

        `saves` says whether there is a folder, if only the first of several processes has it.
        """
        log = None
        try:
            saved = None if self.folder is None else self.folder.checkpoints.restore(like)
            snapshot = processes.of_first(begin() if saved is None else saved)
            if self.folder is not None:
                log = TrainingLog(self.folder.path, int(snapshot.state.step))
            entries: list[Entry] = [] if log is None else log.entries
            start = int(snapshot.state.step)
            with (
                postponed_interrupt(self.folder is not None or bool(saves)) as interrupt,
                show_progress(self.steps, start, progress) as show,
            ):
                while int(snapshot.state.step) < self.steps:
                    snapshot, fresh = self._interval(snapshot, entries, interrupt, show)
                    # The log goes first: entries beyond the last checkpoint are dropped on resume,
                    # but one that was never written would be missed.
                    entries = entries + fresh
                    if log is not None:
                        log.write(fresh)
                    self._save(snapshot, force=int(snapshot.state.step) == self.steps)
            return snapshot, entries
        finally:
            if log is not None:
                log.close()
            if self.folder is not None:
                self.folder.close()

    def _interval(
        self,
        snapshot: Snapshot,
        entries: list[Entry],
        interrupt: threading.Event,
        show: Progress,
    ) -> tuple[Snapshot, list[Entry]]:
        """All updates up to the next validation, and that validation."""
        began = time.monotonic()
        state, best = snapshot
        step = first = int(state.step)
        goal = min(self.steps, (step // self.every + 1) * self.every)
        while step < goal:
            end, interrupted = processes.agree(min(goal, step + self.pace), interrupt.is_set())
            # Asked before updates, never between the last one and its validation.
            if interrupted:
                self._interrupted(Snapshot(state, best))
            looked = time.monotonic()
            try:
                state, finite = self.advance(state, end)
            except SimulationError as error:
                self._save(Snapshot(state, best), force=True)
                raise SimulationError(f"{str(error).rstrip('.')}{self._kept(step)}.") from error
            if int(state.step) < end:
                self._diverged(Snapshot(state, best), finite)
            seconds = (time.monotonic() - looked) / (end - step)
            self.pace = max(1, int(SECONDS_BETWEEN_LOOKS / max(seconds, 1e-6)))
            step = end
            show(step)
        trained = time.monotonic()
        scores = {"validation": self.validate(state.particles)}
        if self.training_scores is not None:
            scores["training"] = self.training_scores()
        selected = scores["validation"][self.selection]
        lower_is_better = -selected if self.higher_is_better else selected
        kept = state.particles
        if self.calibrate is not None:
            kept = self.calibrate(kept, scores["validation"])
        best = self.improve(best, kept, lower_is_better, state.step)
        # Of a run that was prolonged, the last validation may have been between two of the interval.
        validated = max((goal - 1) // self.every * self.every, entries[-1]["step"] if entries else 0)
        losses = np.asarray(state.loss_total) / (goal - validated)
        state = state._replace(loss_total=jnp.zeros_like(state.loss_total))
        elapsed = entries[-1]["seconds"] if entries else 0.0
        fresh = [
            {
                "step": step,
                "seed": seed,
                "loss": number(losses[index]),
                **{
                    split: {name: number(value[index]) for name, value in values.items()}
                    for split, values in scores.items()
                },
                "seconds": round(elapsed + time.monotonic() - began, 3),
                "updates_per_second": round((step - first) / max(trained - began, 1e-9), 1),
            }
            for index, seed in enumerate(self.seeds)
        ]
        show(step, loss=float(np.mean(losses)), score=(self.selection, float(jnp.mean(selected))))
        if self.on_validation is not None:
            # A copy: the next update takes the memory of these.
            self.on_validation(step, jax.tree.map(jnp.copy, state.particles))
        return Snapshot(state, best), fresh

    def _save(self, snapshot: Snapshot, *, force: bool) -> None:
        """A checkpoint, if it is time for one."""
        began = time.monotonic()
        due = (began - self.saved_at) * SHARE_FOR_CHECKPOINTS >= self.save_seconds
        if self.folder is not None and (force or due):
            self.folder.checkpoints.save(int(snapshot.state.step), snapshot)
            self.saved_at = time.monotonic()
            self.save_seconds = self.saved_at - began

    def _interrupted(self, snapshot: Snapshot) -> None:
        self._save(snapshot, force=True)
        place = "the first process's folder" if self.folder is None else self.folder.path
        how = "with resume=True (on the command line, the same command with --resume)"
        raise Interrupted(
            f"Interrupted after step {int(snapshot.state.step)} of {self.steps}; all is saved in "
            f"{place}: go on {'by running the same again' if self.resumes else how}."
        )

    def _diverged(self, snapshot: Snapshot, finite: Bool[Array, " seeds"]) -> None:
        self._save(snapshot, force=True)
        step = int(snapshot.state.step)
        ill = [seed for seed, well in zip(self.seeds, np.asarray(finite), strict=True) if not well]
        raise DivergedError(
            f"The loss or its gradient is not finite at step {step + 1} (seed {ill[0]})"
            f"{self._kept(step)}: try a smaller step size, the inner one (step_size) or Adam's "
            "(meta_step_size), and look for extreme values in the data."
        )

    def _kept(self, step: int) -> str:
        """What is left after trouble."""
        kept = "" if self.folder is None else f", which is kept in {self.folder.path}"
        return f"; the last good state is that of step {step}{kept}"
