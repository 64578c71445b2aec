"""A Gymnasium vector environment of one's own."""

import jax
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from bmaml.errors import BmamlError
from bmaml.rl import Settings, fit, gaussian_policy
from bmaml.rl.envs import VectorTasks

pytestmark = pytest.mark.filterwarnings("ignore")


class Line(gymnasium.Env):
    """Walk to a goal on a line; actions lie in [0, 4]."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = gymnasium.spaces.Box(0.0, 4.0, (1,), np.float32)
    goal = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal()
        return np.array([self.place]), {}

    def step(self, action):
        self.moved = float(action[0])
        self.place += 0.1 * (self.moved - 2.0)
        gap = abs(self.place - self.goal)
        return np.array([self.place]), -gap, gap < 0.05, False, {}


def line_tasks() -> VectorTasks:
    return VectorTasks(
        lambda count: gymnasium.vector.SyncVectorEnv([Line] * count),
        draw_task=lambda key: jax.random.uniform(key, ()),
        set_tasks=lambda vector, goals: vector.set_attr("goal", goals.tolist()),
        horizon=5,
    )


def test_tasks_and_seeds_reach_every_copy_and_actions_are_scaled():
    tasks = line_tasks()
    keys = jax.random.split(jax.random.key(0), 3)
    first = tasks.reset(np.array([0.1, 0.2, 0.3]), keys)
    assert [one.goal for one in tasks.environment.envs] == [0.1, 0.2, 0.3]
    assert len(np.unique(first)) == 3
    np.testing.assert_array_equal(tasks.reset(np.zeros(3), keys), first)
    tasks.step(np.array([[-1.0], [0.0], [7.0]], np.float32), np.ones(3, bool))
    assert [one.moved for one in tasks.environment.envs] == [0.0, 2.0, 4.0]


def test_it_can_be_trained_on():
    settings = Settings(
        "line", "vpg-reptile", particles=2, iterations=1, tasks=2, episodes=2, held_out_tasks=1
    )
    policy = gaussian_policy(1, hidden=(4,))
    trained = fit(settings, environment=line_tasks(), policy=policy, progress=False)
    assert np.isfinite(trained.history[0]["validation"]["return_best"])


class Buttons(Line):
    action_space = gymnasium.spaces.Discrete(3)


class Picture(Line):
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (4, 4), np.float64)


class Boundless(Line):
    action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)


class Steps(Line):
    action_space = gymnasium.spaces.Box(0, 4, (1,), np.int64)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Buttons, "actions are Discrete"),
        (Picture, "observations are Box"),
        (Boundless, "have no bounds"),
        (Steps, "actions are whole numbers"),
    ],
)
def test_spaces_that_do_not_fit_are_told(kind, message):
    with pytest.raises(BmamlError, match=message):
        VectorTasks(
            lambda count: gymnasium.vector.SyncVectorEnv([kind] * count),
            draw_task=lambda key: key,
            horizon=5,
        )


@pytest.mark.parametrize(
    ("make", "horizon", "message"),
    [
        (lambda count: Line(), 5, "made a Line, which is no vector environment"),
        (lambda count: gymnasium.vector.SyncVectorEnv([Line] * count), 0, "horizon is 0"),
        (
            lambda count: gymnasium.vector.SyncVectorEnv(
                [Line] * count, autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED
            ),
            5,
            "does not begin anew by itself",
        ),
    ],
)
def test_environments_that_cannot_be_played_are_told(make, horizon, message):
    with pytest.raises(BmamlError, match=message):
        VectorTasks(make, draw_task=lambda key: key, horizon=horizon)


def test_a_policy_that_has_lost_its_mind_does_not_reach_the_environment():
    tasks = line_tasks()
    tasks.reset(np.zeros(2), jax.random.split(jax.random.key(0), 2))
    with pytest.raises(BmamlError, match="action is NaN"):
        tasks.step(np.array([[0.0], [np.nan]], np.float32), np.ones(2, bool))
    tasks.step(np.array([[0.0], [np.nan]], np.float32), np.array([True, False]))
