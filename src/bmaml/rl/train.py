"""Meta-training of policies: the loop of supervised training around episodes.

The randomness of iteration t depends on the seed and t alone, so an interruption changes no bit of
the result.
"""

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, PyTree

from bmaml import particles as sets
from bmaml.checks import require_seeds
from bmaml.errors import BmamlError
from bmaml.rl.envs.environment import TaskEnvironment
from bmaml.rl.evaluation import held_out_returns
from bmaml.rl.play import Player, summarise
from bmaml.rl.policy import GaussianPolicy, gaussian_policy
from bmaml.rl.presets import Method
from bmaml.rl.rollout import draw_tasks
from bmaml.rl.settings import Settings
from bmaml.rl.sharing import Update, make_update
from bmaml.rl.trained import TrainedPolicies
from bmaml.run_folder import RunFolder, require_fit
from bmaml.scale import processes, task_mesh
from bmaml.training_loop import TrainingLoop
from bmaml.training_state import INIT, UPDATE, Best, Snapshot, State, describe, keys_of

# Chooses the particles that are kept: higher is better.
SELECTION = ("return_best", True)
TOTALS = (
    "return_best",
    "return_mean",
    "return_best_before",
    "return_mean_before",
    "steps_taken",
    "divergence",
)


class Carried(NamedTuple):
    """The meta-update's state, and sums of what to log since the last validation."""

    meta: PyTree
    totals: dict[str, Float[Array, " seeds"]]


def fit(
    settings: Settings,
    *,
    environment: TaskEnvironment | None = None,
    policy: GaussianPolicy | None = None,
    validate_every: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
    on_validation: Callable[[int, PyTree], None] | None = None,
    devices: int | Mesh | None = None,
) -> TrainedPolicies:
    """Meta-train policies.

    Arguments:
        settings: what to do.
        environment: one of your own instead of the one that `settings` name.
        policy: one of your own instead of the paper's.
        validate_every: iterations between validations on held-out tasks; None is a twentieth of all.
        out: a folder for log, TensorBoard and checkpoints.
        resume: go on with the run in `out`, or begin it if there is none.
        progress: show a bar, or a line now and then where there is no terminal.
        on_validation: called with the iteration and the particles after each validation.
        devices: how many share the tasks of a meta-update, or a mesh of one axis; None is one, or all
            where several processes train together (see `bmaml.scale`). Each process then plays its own
            share of the tasks.
    """
    settings = settings.resolved()
    require_seeds([settings.seed])
    assert settings.iterations is not None
    world = settings.build_environment() if environment is None else environment
    policy = policy_for(world, policy)
    method = settings.build_method()
    every = max(1, settings.iterations // 20) if validate_every is None else validate_every
    if every < 1:
        raise ValueError(f"validate_every is {every}; it must be at least 1.")

    update = make_update(policy, method, settings.tasks, task_mesh(devices))
    # Of several processes, the first writes for all.
    written_to = out if processes.is_first() else None

    def start() -> Snapshot:
        return begin(settings, world, policy, method)

    like = jax.eval_shape(start)
    written = {
        "description": describe_run(settings),
        "environment": world.describe(),
        "steps": settings.iterations,
        "seeds": [settings.seed],
        "validate_every": every,
        "particles": describe(like.state.particles),
    }
    if written_to is not None:
        require_fit(written_to, written, resume=resume)
    player = Player(world, policy, method, settings, together=True)
    advance = Iterations(player, update, settings, every)

    def validate(particles: PyTree) -> dict[str, Float[Array, " seeds"]]:
        scores = held_out_returns(player, _only(particles), "validation", settings.held_out_tasks)
        return {name: value[None] for name, value in scores.items()}

    folder = None if written_to is None else RunFolder.start(written_to, written, resume=resume)
    loop = TrainingLoop(
        [settings.seed],
        settings.iterations,
        every,
        advance,
        validate,
        SELECTION,
        folder,
        None if on_validation is None else lambda step, these: on_validation(step, _only(these)),
        resume,
        advance.means,
    )
    shown = progress and processes.is_first()
    snapshot, entries = loop.run(start, like, shown, saves=out is not None)
    return TrainedPolicies(
        settings,
        world,
        policy,
        _only(snapshot.best.particles),
        _only(snapshot.state.particles),
        int(snapshot.best.step[0]),
        entries,
    )


def policy_for(environment: TaskEnvironment, policy: GaussianPolicy | None) -> GaussianPolicy:
    """The paper's policy for these actions, or the given one if it fits them."""
    size = environment.action_size
    if policy is None:
        return gaussian_policy(size)
    if policy.action_size != size:
        raise BmamlError(
            f"The policy's actions have {policy.action_size} numbers, those of the environment {size}: "
            f"make it with gaussian_policy({size})."
        )
    return policy


def describe_run(settings: Settings) -> dict[str, Any]:
    """The settings that bits depend on, for `run.json`."""
    values = asdict(settings)
    del values["threads"]
    return {"reinforcement": values}


def begin(
    settings: Settings, environment: TaskEnvironment, policy: GaussianPolicy, method: Method
) -> Snapshot:
    """Before the first iteration; an axis of one seed throughout."""
    example = jnp.zeros((1, environment.observation_size))
    key = keys_of([settings.seed], INIT)[0]
    particles = sets.make(lambda one: policy.init(one, example), key, settings.particles)
    totals = {name: jnp.zeros(()) for name in TOTALS}
    own = jax.tree.map(
        lambda leaf: leaf[None], (particles, Carried(method.meta.init(particles), totals))
    )
    state = State(own[0], own[1], jnp.zeros((), jnp.int32), jnp.zeros(1))
    best = Best(own[0], jnp.full(1, jnp.inf), jnp.zeros(1, jnp.int32))
    # An update returns strong types; starting from weak ones would compile everything twice.
    return jax.tree.map(
        lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype), Snapshot(state, best)
    )


class Iterations:
    """Meta-updates from a state to a later one; what `compile_updates` is to supervised training."""

    def __init__(self, player: Player, update: Update, settings: Settings, every: int):
        self.player, self.update, self.every = player, update, every
        self.key = keys_of([settings.seed], UPDATE)[0]
        self.last: dict[str, Float[Array, " seeds"]] = {}
        self.count = 1
        self.draw = jax.jit(lambda key: draw_tasks(player.environment, key, settings.tasks))
        self.summarise = jax.jit(summarise)

    def __call__(self, state: State, end: int) -> tuple[State, Bool[Array, " seeds"]]:
        """Iterate up to `end`, or to the last good state before it."""
        for step in range(int(state.step), end):
            key = jax.random.fold_in(self.key, step)
            task_key, play_key = jax.random.split(key)
            particles, carried = _only(state.particles), state.optimizer_state
            played = self.player(particles, self.draw(task_key), play_key)
            moved, meta, report = self.update(particles, _only(carried.meta), played.batch)
            if not bool(report.finite):
                return state, jnp.zeros(1, bool)
            scores = self.summarise(played.returns)
            scores |= {"steps_taken": report.accepted, "divergence": report.divergence}
            fresh = step % self.every == 0
            totals = {
                name: (jnp.zeros_like(total) if fresh else total) + scores[name]
                for name, total in carried.totals.items()
            }
            state = State(
                jax.tree.map(lambda leaf: leaf[None], moved),
                Carried(jax.tree.map(lambda leaf: leaf[None], meta), totals),
                jnp.asarray(step + 1, jnp.int32),
                state.loss_total + report.loss,
            )
            self.last, self.count = totals, step % self.every + 1
        return state, jnp.ones(1, bool)

    def means(self) -> dict[str, Float[Array, " seeds"]]:
        """What was gathered on training tasks since the last validation, for each iteration."""
        return {name: total / self.count for name, total in self.last.items()}


def _only(tree: PyTree) -> PyTree:
    """Without the axis of seeds, which has one entry."""
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[0]), tree)
