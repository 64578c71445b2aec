"""Meta-training: a loop that can be watched, stopped, killed and resumed.

All meta-updates between two looks at the clock are one compiled loop. The randomness of update t
depends on the seed and t alone, so neither the length of those loops nor an interruption changes a
bit of the result.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from bmaml.errors import DivergedError, Interrupted
from bmaml.interrupt import postponed_interrupt
from bmaml.learner import Learner
from bmaml.meta_update import Advance, compile_updates, over_seeds
from bmaml.run_folder import RunFolder, require_fit
from bmaml.tasks.source import TaskSource
from bmaml.tasks.task import Data
from bmaml.trained import Compiled, Trained, of_seed, score_tasks
from bmaml.training_log import Entry, Progress, TrainingLog, number, show_progress
from bmaml.training_state import (
    TRAINING_SET,
    Example,
    Snapshot,
    State,
    begin,
    describe,
    improve,
    keys_of,
)

Validate = Callable[[PyTree], dict[str, Float[Array, " seeds"]]]

# A look at the clock this often keeps a progress bar alive and costs nothing measurable.
SECONDS_BETWEEN_LOOKS = 0.5
# A checkpoint takes about 0.1 s whatever its size; it may take this share of a run's time.
SHARE_FOR_CHECKPOINTS = 0.05


def fit(learner: Learner, tasks: TaskSource, *, steps: int, seed: int = 0, **options: Any) -> Trained:
    """Meta-train `learner`: `fit_seeds` with one seed; see there for the options."""
    return fit_seeds(learner, tasks, steps=steps, seeds=[seed], **options)[0]


def fit_seeds(
    learner: Learner,
    tasks: TaskSource,
    *,
    steps: int,
    seeds: Iterable[int],
    batch_size: int = 10,
    validate_every: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
    description: dict[str, Any] | None = None,
    on_validation: Callable[[int, PyTree], None] | None = None,
) -> list[Trained]:
    """Meta-train `learner` from several seeds at once.

    Arguments:
        learner: what to train.
        tasks: where tasks come from; its "validation" split chooses the particles that are kept.
        steps: meta-updates. The step size may decay with them, so a run cannot be prolonged.
        seeds: one training for each; they share compiled code and vectorise.
        batch_size: tasks in a meta-update.
        validate_every: meta-updates between validations; None validates about 100 times, but not
            more often than every 100 updates nor more rarely than every 1000.
        out: a folder for log, TensorBoard and checkpoints.
        resume: go on with the run in `out`, or begin it if there is none.
        progress: show a bar, or a line now and then where there is no terminal.
        description: what the run is, as JSON; kept in `run.json`.
        on_validation: called with the step and the particles (a leading axis of seeds) after each
            validation, for scores of your own.

    Returns:
        A `Trained` for each seed, in order.
    """
    seeds = [int(seed) for seed in seeds]
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"seeds must be one or more different numbers, but is {seeds}.")
    every = _default_interval(steps) if validate_every is None else validate_every
    for name, value in {"steps": steps, "batch_size": batch_size, "validate_every": every}.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1.")

    training_sets = [tasks.training_set(key) for key in keys_of(seeds, TRAINING_SET)]

    def support(training_set: Any) -> Data:
        batch = tasks.batch(training_set, jax.random.key(0), 1)
        return jax.tree.map(lambda leaf: leaf[0], batch.support)

    example = Example.of(jax.eval_shape(support, training_sets[0]))
    start = jax.jit(lambda training_set: begin(learner, seeds, support(training_set).x, steps))
    like = jax.eval_shape(start, training_sets[0])
    settings = {
        "description": description,
        "steps": steps,
        "seeds": seeds,
        "batch_size": batch_size,
        "validate_every": every,
        "example": example.to_json(),
        "particles": describe(like.state.particles),
    }
    if out is not None:
        require_fit(out, settings, resume=resume)  # Before compiling, which takes its time.
    # Compiled before anything is written: a mistake in the shapes should not leave a folder behind.
    advance = compile_updates(
        learner,
        tasks,
        like.state,
        training_sets=training_sets,
        seeds=seeds,
        batch_size=batch_size,
        steps=steps,
    )
    validate = _compile_validation(learner, tasks, like.state, len(seeds))
    folder = None if out is None else RunFolder.start(out, settings, resume=resume)
    selection = learner.posterior.likelihood.selection
    loop = _Loop(seeds, steps, every, advance, validate, selection, folder, on_validation)
    snapshot, entries = loop.run(lambda: start(training_sets[0]), like, progress)
    compiled = Compiled(learner)
    return [
        of_seed(snapshot, index, seed, learner, entries, example, compiled)
        for index, seed in enumerate(seeds)
    ]


def _default_interval(steps: int) -> int:
    """Updates between validations: of a short run, validating would otherwise be most of the work."""
    return min(steps, 100) if steps < 10_000 else min(1000, steps // 100)


def _compile_validation(learner: Learner, tasks: TaskSource, state: State, count: int) -> Validate:
    """The scores of every seed's particles on the validation tasks."""
    held_out = tasks.held_out("validation")
    score = over_seeds(partial(score_tasks, learner), (0, None), count)
    compiled = jax.jit(score).lower(state.particles, held_out).compile()
    return lambda particles: compiled(particles, held_out)


class _Loop:
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
    ):
        self.seeds, self.steps, self.every = seeds, steps, every
        self.advance, self.validate, self.folder = advance, validate, folder
        self.selection, self.higher_is_better = selection
        self.on_validation = on_validation
        self.improve = jax.jit(improve)
        self.pace = 1
        self.saved_at, self.save_seconds = -math.inf, 0.0

    def run(
        self, begin: Callable[[], Snapshot], like: Snapshot, progress: bool
    ) -> tuple[Snapshot, list[Entry]]:
        """Train from what the folder holds, or from the beginning, to the end."""
        log = None
        try:
            saved = None if self.folder is None else self.folder.restore(like)
            snapshot = begin() if saved is None else saved
            if self.folder is not None:
                log = TrainingLog(self.folder.path, int(snapshot.state.step))
            entries: list[Entry] = [] if log is None else log.entries
            start = int(snapshot.state.step)
            with (
                postponed_interrupt(self.folder is not None) as interrupt,
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
            # Asked before updates, never between the last one and its validation.
            if interrupt.is_set():
                self._interrupted(Snapshot(state, best))
            end, looked = min(goal, step + self.pace), time.monotonic()
            state, finite = self.advance(state, end)
            if int(state.step) < end:
                self._diverged(Snapshot(state, best), finite)
            seconds = (time.monotonic() - looked) / (end - step)
            self.pace = max(1, int(SECONDS_BETWEEN_LOOKS / max(seconds, 1e-6)))
            step = end
            show(step)
        trained = time.monotonic()
        scores = self.validate(state.particles)
        selected = scores[self.selection]
        lower_is_better = -selected if self.higher_is_better else selected
        best = self.improve(best, state.particles, lower_is_better, state.step)
        losses = np.asarray(state.loss_total) / (goal - (goal - 1) // self.every * self.every)
        state = state._replace(loss_total=jnp.zeros_like(state.loss_total))
        elapsed = entries[-1]["seconds"] if entries else 0.0
        fresh = [
            {
                "step": step,
                "seed": seed,
                "loss": number(losses[index]),
                "validation": {name: number(value[index]) for name, value in scores.items()},
                "seconds": round(elapsed + time.monotonic() - began, 3),
                "updates_per_second": round((step - first) / max(trained - began, 1e-9), 1),
            }
            for index, seed in enumerate(self.seeds)
        ]
        show(step, loss=float(np.mean(losses)), score=(self.selection, float(jnp.mean(selected))))
        if self.on_validation is not None:
            self.on_validation(step, state.particles)
        return Snapshot(state, best), fresh

    def _save(self, snapshot: Snapshot, *, force: bool) -> None:
        """A checkpoint, if it is time for one."""
        began = time.monotonic()
        due = (began - self.saved_at) * SHARE_FOR_CHECKPOINTS >= self.save_seconds
        if self.folder is not None and (force or due):
            self.folder.save(int(snapshot.state.step), snapshot)
            self.saved_at = time.monotonic()
            self.save_seconds = self.saved_at - began

    def _interrupted(self, snapshot: Snapshot) -> None:
        assert self.folder is not None
        self._save(snapshot, force=True)
        raise Interrupted(
            f"Interrupted after step {int(snapshot.state.step)} of {self.steps}; all is saved in "
            f"{self.folder.path}: go on with resume=True (on the command line, --resume)."
        )

    def _diverged(self, snapshot: Snapshot, finite: Bool[Array, " seeds"]) -> None:
        self._save(snapshot, force=True)
        step = int(snapshot.state.step)
        ill = [seed for seed, well in zip(self.seeds, np.asarray(finite), strict=True) if not well]
        kept = "" if self.folder is None else f", which is kept in {self.folder.path}"
        raise DivergedError(
            f"The loss or its gradient is not finite at step {step + 1} (seed {ill[0]}); the last "
            f"good state is that of step {step}{kept}: try a smaller step size, and look for "
            "extreme values in the data."
        )
