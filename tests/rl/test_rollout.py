"""Episodes: reproducible, independent of each other, and the same on either kind of environment."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.rl.rollout import draw_tasks, make_rollout
from tests.rl.small import ENVIRONMENT, POLICY, HostNavigation, for_tasks, initial_particles

KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def played():
    particles = for_tasks(initial_particles(2), 3)
    tasks = draw_tasks(ENVIRONMENT, jax.random.key(1), 3)
    return make_rollout(ENVIRONMENT, POLICY, 4)(particles, tasks, KEY)


def test_shapes(played):
    assert played.observations.shape == (3, 2, 4, 6, 2)
    assert played.actions.shape == (3, 2, 4, 6, 2)
    assert played.rewards.shape == played.mask.shape == (3, 2, 4, 6)


def test_episodes_differ_from_each_other(played):
    first = np.asarray(played.actions)[..., 0, 0].ravel()
    assert len(np.unique(first)) == first.size


def test_an_episode_does_not_depend_on_how_many_others_there_are(played):
    particles = for_tasks(initial_particles(2), 2)
    tasks = draw_tasks(ENVIRONMENT, jax.random.key(1), 2)
    fewer = make_rollout(ENVIRONMENT, POLICY, 3)(particles, tasks, KEY)
    np.testing.assert_allclose(fewer.actions, played.actions[:2, :, :3], atol=1e-6)


def test_the_mask_ends_with_the_episode(played):
    goals = draw_tasks(ENVIRONMENT, jax.random.key(1), 3)
    near = jnp.zeros_like(goals) + 0.01
    particles = for_tasks(initial_particles(2), 3)
    close = make_rollout(ENVIRONMENT, POLICY, 4)(particles, near, KEY)
    mask = np.asarray(close.mask)
    assert mask[..., 0].all()
    assert not mask.all()
    assert (np.diff(mask.astype(int), axis=-1) <= 0).all()


def test_a_host_environment_gives_the_same_episodes(played):
    particles = for_tasks(initial_particles(2), 3)
    tasks = draw_tasks(ENVIRONMENT, jax.random.key(1), 3)
    other = make_rollout(HostNavigation(), POLICY, 4)(particles, tasks, KEY)
    np.testing.assert_array_equal(other.mask, played.mask)
    taken = np.asarray(played.mask)
    for one, two in zip(other[:3], played[:3], strict=True):
        np.testing.assert_allclose(np.asarray(one)[taken], np.asarray(two)[taken], atol=1e-5)


def test_nan_from_a_simulator_is_told():
    particles = for_tasks(initial_particles(1), 1)
    tasks = draw_tasks(ENVIRONMENT, jax.random.key(1), 1)
    with pytest.raises(BmamlError, match="NaN or infinity at step 1"):
        make_rollout(HostNavigation(spoil=True), POLICY, 1)(particles, tasks, KEY)


def test_nan_from_a_reset_is_told():
    class Lost(HostNavigation):
        def reset(self, tasks, keys):
            return np.full_like(super().reset(tasks, keys), np.nan)

    particles = for_tasks(initial_particles(1), 1)
    tasks = draw_tasks(ENVIRONMENT, jax.random.key(1), 1)
    with pytest.raises(BmamlError, match="first observations are NaN"):
        make_rollout(Lost(), POLICY, 1)(particles, tasks, KEY)
