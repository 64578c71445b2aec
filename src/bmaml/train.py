"""Meta-training: a loop that can be watched, stopped, killed and resumed.

All meta-updates between two looks at the clock are one compiled loop. The randomness of update t
depends on the seed and t alone, so neither the length of those loops nor an interruption changes a
bit of the result.
"""

import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from bmaml.checks import require_counts, require_seeds
from bmaml.learner import Learner
from bmaml.meta_update import compile_updates
from bmaml.run_folder import RunFolder, require_fit
from bmaml.scale import processes, task_mesh
from bmaml.tasks.source import TaskSource
from bmaml.tasks.task import Data
from bmaml.trained import Compiled, Trained, of_seed
from bmaml.training_loop import TrainingLoop
from bmaml.training_state import (
    TRAINING_SET,
    Example,
    begin,
    describe,
    keys_of,
)
from bmaml.validating import calibration, compile_validation, interval


def fit(
    learner: Learner,
    tasks: TaskSource,
    *,
    steps: int,
    seed: int = 0,
    batch_size: int = 10,
    validate_every: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
    description: dict[str, Any] | None = None,
    on_validation: Callable[[int, PyTree], None] | None = None,
    devices: int | Mesh | None = None,
    tasks_at_once: int | None = None,
    calibrate: bool = True,
) -> Trained:
    """Meta-train `learner` from one seed: `fit_seeds`, which says more of the arguments.

    Arguments:
        learner: what to train, such as `bmaml.bmaml(model)`.
        tasks: where tasks come from; its "validation" split chooses the particles that are kept.
        steps: meta-updates.
        seed: of tasks, initial particles and batches.
        batch_size: tasks in a meta-update.
        validate_every: meta-updates between validations; None is about a hundredth of all.
        out: a folder for log, TensorBoard and checkpoints; None keeps the result in memory alone, until
            it is saved (`Trained.save`).
        resume: go on with the run in `out`, or begin it if there is none.
        progress: show a bar, or a line now and then where there is no terminal.
        description: what the run is, as JSON.
        on_validation: called with the step and the particles (with an axis of one seed) after each
            validation.
        devices: how many share the tasks of a meta-update.
        tasks_at_once: how many tasks are worked on at a time, to save memory.
        calibrate: make the particles that are kept as sure as validation tasks allow.
    """
    return fit_seeds(
        learner,
        tasks,
        steps=steps,
        seeds=[seed],
        batch_size=batch_size,
        validate_every=validate_every,
        out=out,
        resume=resume,
        progress=progress,
        description=description,
        on_validation=on_validation,
        devices=devices,
        tasks_at_once=tasks_at_once,
        calibrate=calibrate,
    )[0]


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
    devices: int | Mesh | None = None,
    tasks_at_once: int | None = None,
    calibrate: bool = True,
) -> list[Trained]:
    """Meta-train `learner` from several seeds at once.

    Arguments:
        learner: what to train.
        tasks: where tasks come from; its "validation" split chooses the particles that are kept.
        steps: meta-updates. With `resume` they may be more than the run in `out` began with, unless
            the step size decays with them (the authors' settings).
        seeds: one training for each; they share compiled code and vectorise.
        batch_size: tasks in a meta-update.
        validate_every: meta-updates between validations; None validates about 100 times, but not
            more often than every 100 updates nor more rarely than every 1000, and as often as before
            if a run is resumed.
        out: a folder for log, TensorBoard and checkpoints.
        resume: go on with the run in `out`, or begin it if there is none.
        progress: show a bar, or a line now and then where there is no terminal.
        description: what the run is, as JSON; kept in `run.json`.
        on_validation: called with the step and the particles (a leading axis of seeds) after each
            validation, for scores of your own.
        devices: how many share the tasks of a meta-update, or a mesh of one axis; None is one, or all
            where several processes train together (see `bmaml.scale`).
        tasks_at_once: keep what the gradient needs of so many tasks at a time, to save memory; None
            is all that a device has.
        calibrate: give the particles that are kept the noise level (for classes, the sharpness) that
            suits the validation tasks: networks have seen the training tasks, and are surer of them
            than of others.

    Returns:
        A `Trained` for each seed, in order.
    """
    seeds = list(seeds)
    require_seeds(seeds)
    seeds = [int(seed) for seed in seeds]  # of NumPy's kinds, too: they are written down
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"seeds must be one or more different numbers, but is {seeds}.")
    if not isinstance(tasks, TaskSource):
        raise TypeError(
            f"tasks must be a source of tasks, such as bmaml.tasks.Sinusoid() or Arrays(...), not "
            f"{type(tasks).__name__}."
        )
    require_counts(steps=steps, batch_size=batch_size)
    if validate_every is None:  # Of several processes, the first knows the folder.
        validate_every, _ = processes.agree(interval(steps, out if resume else None), False)
    require_counts(validate_every=validate_every)
    prolong = learner.optimizer.decay == 1.0
    mesh = task_mesh(devices)
    # Of several processes, the first writes for all.
    written = out if processes.is_first() else None

    training_sets = [tasks.training_set(key) for key in keys_of(seeds, TRAINING_SET)]

    def support(training_set: Any) -> Data:
        batch = tasks.batch(training_set, jax.random.key(0), 1)
        return jax.tree.map(lambda leaf: leaf[0], batch.support)

    example = Example.of(jax.eval_shape(support, training_sets[0]))
    start = jax.jit(lambda training_set: begin(learner, seeds, support(training_set).x, steps))
    like = jax.eval_shape(start, training_sets[0])
    settings = {
        "description": description,
        "learner": {**learner.describe(), "calibrate": calibrate},
        "tasks": tasks.describe(),
        "steps": steps,
        "seeds": seeds,
        "batch_size": batch_size,
        "validate_every": validate_every,
        "example": example.to_json(),
        "particles": describe(like.state.particles),
    }
    if processes.is_first():
        settings |= {"ranges": ranges} if (ranges := tasks.ranges()) else {}
    if written is not None:
        # Before compiling, which takes its time.
        require_fit(written, settings, resume=resume, prolong=prolong)
    # Drawn before compiling, too: a part of the data may be missing.
    held_out = tasks.held_out("validation")
    # Compiled before anything is written: a mistake in the shapes should not leave a folder behind.
    advance = compile_updates(
        learner,
        tasks,
        like.state,
        training_sets=training_sets,
        seeds=seeds,
        batch_size=batch_size,
        steps=steps,
        mesh=mesh,
        tasks_at_once=tasks_at_once,
    )
    validate = compile_validation(learner, held_out, like.state, len(seeds), mesh)
    folder = None
    if written is not None:
        folder = RunFolder.start(written, settings, resume=resume, prolong=prolong)
    selection = learner.posterior.likelihood.selection
    loop = TrainingLoop(
        seeds,
        steps,
        validate_every,
        advance,
        validate,
        selection,
        folder,
        on_validation,
        resume,
        calibrate=calibration(learner) if calibrate else None,
    )
    shown = progress and processes.is_first()
    snapshot, entries = loop.run(lambda: start(training_sets[0]), like, shown, saves=out is not None)
    if not np.all(snapshot.best.step):
        warnings.warn(
            "No validation score was a finite number, so the particles are kept as they were before "
            "training: look for NaN in the validation tasks.",
            stacklevel=3,
        )
    compiled = Compiled(learner)
    return [
        of_seed(snapshot, index, seed, learner, entries, example, compiled, settings=settings)
        for index, seed in enumerate(seeds)
    ]
