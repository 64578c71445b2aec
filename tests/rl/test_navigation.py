"""The rules of two-dimensional navigation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.rl.envs import Navigation
from bmaml.rl.rollout import draw_tasks

KEY = jax.random.key(0)


@pytest.mark.parametrize("reward", ["paper", "authors"])
def test_moves_are_clipped_and_the_reward_is_the_distance(reward):
    environment = Navigation(reward=reward)
    goal = jnp.array([0.3, -0.4])
    state, value, ended = environment.step(goal, jnp.zeros(2), jnp.array([5.0, -0.5]), KEY)
    np.testing.assert_allclose(state, [0.1, -0.05], atol=1e-6)
    distance = np.hypot(0.2, 0.35)
    np.testing.assert_allclose(value, -(distance**2) if reward == "paper" else -distance, rtol=1e-6)
    assert not ended


def test_an_episode_ends_near_the_goal():
    goal = jnp.array([0.05, 0.009])
    action = jnp.array([0.5, 0.0])
    assert Navigation().step(goal, jnp.zeros(2), action, KEY).ended
    corner = goal - jnp.array([-0.009, 0.0])
    assert not Navigation().step(corner, jnp.zeros(2), action, KEY).ended
    assert Navigation(reward="authors").step(corner, jnp.zeros(2), action, KEY).ended


def test_goals_fill_the_square_and_do_not_depend_on_their_number():
    goals = draw_tasks(Navigation(), KEY, 200)
    assert goals.min() >= -0.5
    assert goals.max() <= 0.5
    assert np.ptp(goals) > 0.9
    np.testing.assert_array_equal(draw_tasks(Navigation(), KEY, 3), goals[:3])


def test_an_unknown_reward_is_refused():
    with pytest.raises(ValueError, match="Unknown reward 'cubic'"):
        Navigation(reward="cubic")
