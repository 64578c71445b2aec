"""What training leaves: particles from which a few rows of data lead to a posterior."""

import json
import math
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from bmaml.adapted import AdaptedPosterior
from bmaml.checks import require_seeds
from bmaml.compiled import Compiled
from bmaml.errors import RunError
from bmaml.given_rows import given_rows
from bmaml.learner import Learner
from bmaml.recipe import Recipe
from bmaml.run_folder import RunFolder, as_far_as_told, difference, read_description
from bmaml.saving import save_run
from bmaml.scale import processes
from bmaml.tasks.source import TaskSource
from bmaml.tasks.task import Data, Task
from bmaml.tasks.task_set import TaskSet
from bmaml.training_log import read_log
from bmaml.training_state import (
    Best,
    Example,
    Snapshot,
    State,
    begin,
    describe,
    join,
    pick,
    require_validated,
)


@dataclass(frozen=True)
class Trained:
    """A meta-trained learner.

    Arguments:
        learner: what was trained.
        particles: the initial particles Θ₀ of the best validation, as sure as it allows (see `fit`).
        last: the state after the last meta-update, for one seed.
        history: the entries of the log, one for each validation (see `TrainingLog`).
        step: after how many meta-updates `particles` were taken.
        seed: the seed of the training.
        example: shapes and types of a support set.
        compiled: the learner's functions.
        settings: of the training, as they stand in the `run.json` of a run folder.
    """

    learner: Learner
    particles: PyTree
    last: State
    history: list[dict[str, Any]]
    step: int
    seed: int
    example: Example
    compiled: Compiled
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """In one line: the particles of a network are pages of numbers."""
        return (
            f"Trained({self.learner.name}, particles={self.learner.num_particles}, update={self.step} "
            f"of {int(self.last.step)}, seed={self.seed}, {self.example.told()})"
        )

    def adapt(
        self,
        x: Any,
        y: Any,
        steps: int | None = None,
        *,
        query_x: Any = None,
        key: Key[Array, ""] | None = None,
    ) -> AdaptedPosterior:
        """The posterior of a new task, from a few rows of it.

        Arguments:
            x: inputs, `(rows, features...)`; arrays or lists.
            y: targets, `(rows, outputs)`, or `(rows,)` if there is one output; for classification
                labels 0, 1, …, `(rows,)`.
            steps: inner updates; None is the trained number. More steps fit more closely.
            query_x: the inputs that will be asked about, for models that normalise support and query
                together; others do not need them.
            key: for inner updates that draw noise; None always draws the same.

        Returns:
            The posterior; ask it to `predict`.
        """
        support = Data(given_rows("x", x, self.example.x), given_rows("y", y, self.example.y))
        if support.x.shape[0] != support.y.shape[0]:
            raise ValueError(
                f"x has {support.x.shape[0]} rows and y has {support.y.shape[0]}: give one target "
                "for each input."
            )
        self.learner.posterior.likelihood.check_targets(
            support.y, lambda: self.compiled.prediction_shapes(self.particles, support)
        )
        if query_x is not None:
            query_x = given_rows("query_x", query_x, self.example.x)
        key = jax.random.key(0) if key is None else key
        adapted = self.compiled.adapt(self.particles, support, key, query_x, steps=steps)
        return AdaptedPosterior(adapted, self.example, self.compiled, support.x.shape[0], steps)

    def evaluate(
        self, tasks: Task | TaskSet | TaskSource, steps: int | None = None
    ) -> dict[str, float]:
        """Every metric over tasks, such as `source.held_out("test")`; the main one with an interval.

        Of a source of tasks, they are its test tasks. "mse_interval" or "accuracy_interval" is half of
        the 95 % interval of the mean over tasks.
        """
        if isinstance(tasks, TaskSource):
            tasks = tasks.held_out("test")
        if not isinstance(tasks, Task | TaskSet):
            raise TypeError(
                f"evaluate takes a source of tasks, or tasks such as source.held_out('test'), not "
                f"{type(tasks).__name__}."
            )
        scores = self.compiled.score(self.particles, tasks, steps=steps)
        return {name: float(value) for name, value in scores.items()}

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keep a result that was trained without `out`, in a run folder as `out` would have made it.

        `load` gives the same particles back, the `bmaml` command takes the folder if the training had a
        `description`, and `fit` goes on from there with `resume=True` and more `steps`. Of what was
        loaded with `which="last"`, the last particles count as the best from then on.

        Arguments:
            folder: a new or an empty one.
        """
        score = next((entry["validation"] for entry in self.history if entry["step"] == self.step), {})
        name, higher_is_better = self.learner.posterior.likelihood.selection
        best = math.inf if (value := score.get(name)) is None else -value if higher_is_better else value
        kept = Best(self.particles, jnp.asarray(best, jnp.float32), jnp.asarray(self.step, jnp.int32))
        snapshot = join(Snapshot(self.last, kept))
        settings = {
            "description": None,
            "steps": int(self.last.step),
            **self.settings,
            "learner": {**self.settings.get("learner", {}), **self.learner.describe()},
            "seeds": [self.seed],
            "example": self.example.to_json(),
            "particles": describe(snapshot.state.particles),
        }
        if processes.is_first():
            save_run(folder, settings, snapshot, self.history)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        learner: Learner | None = None,
        which: Literal["best", "last"] = "best",
        *,
        seed: int | None = None,
    ) -> "Trained":
        """The result of a run, finished or not, from its folder.

        Arguments:
            folder: what was given to `fit` as `out`, or to the command line as `--out`.
            learner: composed as for the training, which is warned of where it would predict otherwise;
                None rebuilds it, of runs that the command line made.
            which: the particles that validated best, or those of the last checkpoint.
            seed: which of the run's seeds; None is the first.
        """
        run = RunFolder.read(folder)
        if learner is None:
            learner = Recipe.from_json(read_description(folder)).learner()
        try:
            seeds: list[int] = run.settings["seeds"]
            example = Example.from_json(run.settings["example"])
            inputs, steps = example.inputs(), int(run.settings["steps"])
            shapes = run.settings["particles"]
            require_seeds(seeds)
        except KeyError as error:
            raise RunError(
                f"{run.path / 'run.json'} lacks {error}: restore it from a backup or train again."
            ) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise RunError(
                f"{run.path / 'run.json'} is damaged ({error}): restore it from a backup, or train "
                "again."
            ) from error
        another = (
            f"{run.path} was trained with another model, with particles of other shapes: compose the "
            "learner as it was for the training."
        )
        try:
            like = jax.eval_shape(lambda: begin(learner, seeds, inputs, steps))
        except (TypeError, ValueError) as error:  # A model that such inputs mean nothing to.
            raise RunError(another) from error
        if shapes != describe(like.state.particles):
            raise RunError(another)
        _warn_of_differences(run, learner)
        if seed is not None and seed not in seeds:
            raise RunError(f"{run.path} holds the seeds {seeds}, but not {seed}.")
        try:
            snapshot = run.checkpoints.restore(like)
        finally:
            run.close()
        if snapshot is None:
            raise RunError(f"{run.path} has no checkpoint yet: resume the run first.")
        entries = [
            entry
            for entry in read_log(run.path / "log.jsonl")
            if entry["step"] <= int(snapshot.state.step)
        ]
        index = 0 if seed is None else seeds.index(seed)
        if which == "best":
            require_validated(run.path, *pick(snapshot, index))
        return of_seed(
            snapshot,
            index,
            seeds[index],
            learner,
            entries,
            example,
            Compiled(learner),
            which,
            run.settings,
        )


def of_seed(
    snapshot: Snapshot,
    index: int,
    seed: int,
    learner: Learner,
    entries: list[dict[str, Any]],
    example: Example,
    compiled: Compiled,
    which: Literal["best", "last"] = "best",
    settings: dict[str, Any] | None = None,
) -> Trained:
    """One seed's result out of a snapshot of several."""
    last, best = pick(snapshot, index)
    particles, step = (best.particles, best.step) if which == "best" else (last.particles, last.step)
    history = [entry for entry in entries if entry["seed"] == seed]
    return Trained(
        learner, particles, last, history, int(step), seed, example, compiled, settings or {}
    )


def _warn_of_differences(run: RunFolder, learner: Learner) -> None:
    """Say which of the settings that predictions depend on is not that of the training."""
    before = run.settings.get("learner", {})
    now = as_far_as_told(before, json.loads(json.dumps(learner.describe())))  # no tuples
    for part in ("likelihood", "prior", "inner"):
        if isinstance(before, dict) and before.get(part) != now.get(part):
            which, old, new = difference(part, before[part], now[part])
            warnings.warn(
                f"{run.path} was trained with {which} {json.dumps(old)}, and is loaded with "
                f"{json.dumps(new)}: it will adapt and predict otherwise than it was trained to.",
                stacklevel=3,
            )
