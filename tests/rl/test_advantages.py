"""Advantages are what they are defined to be, and standardised over the steps that took place."""

import jax
import jax.numpy as jnp
import numpy as np

from bmaml.rl.advantages import all_experience, experience, generalised_advantages
from bmaml.rl.trajectories import Trajectories, discounted_sums


def random_episodes(*batch: int, steps: int = 12, seed: int = 0) -> Trajectories:
    keys = jax.random.split(jax.random.key(seed), 4)
    lengths = jax.random.randint(keys[3], (*batch, 1), 3, steps + 1)
    return Trajectories(
        jax.random.normal(keys[0], (*batch, steps, 2)),
        jax.random.normal(keys[1], (*batch, steps, 1)),
        jax.random.normal(keys[2], (*batch, steps)),
        jnp.arange(steps).reshape((1,) * len(batch) + (steps,)) < lengths,
    )


def test_with_smoothing_one_it_is_the_return_less_the_value():
    episodes = random_episodes(4)
    values = jnp.where(episodes.mask, 0.5, 0.0)
    advantages = generalised_advantages(
        episodes.rewards, values, episodes.mask, discount=0.9, smoothing=1.0
    )
    returns = discounted_sums(episodes.rewards, 0.9, episodes.mask)
    np.testing.assert_allclose(advantages, returns - values, atol=1e-5)


def test_with_smoothing_zero_it_is_one_steps_surprise():
    episodes = random_episodes(4)
    values = jnp.where(episodes.mask, 0.5, 0.0)
    advantages = generalised_advantages(
        episodes.rewards, values, episodes.mask, discount=0.9, smoothing=0.0
    )
    after = np.concatenate([values[:, 1:], np.zeros((4, 1))], axis=1)
    surprise = np.where(episodes.mask, episodes.rewards + 0.9 * after - values, 0.0)
    np.testing.assert_allclose(advantages, surprise, atol=1e-6)


def test_rows_are_standardised_and_weighted():
    rows = experience(random_episodes(4))
    np.testing.assert_allclose(np.sum(rows.weights), 1.0, rtol=1e-6)
    np.testing.assert_allclose(rows.weights @ rows.advantages, 0.0, atol=1e-6)
    np.testing.assert_allclose(rows.weights @ rows.advantages**2, 1.0, rtol=1e-4)


def test_nothing_beyond_the_end_reaches_a_row():
    episodes = random_episodes(4)
    spoilt = Trajectories(
        jnp.where(episodes.mask[..., None], episodes.observations, jnp.nan),
        jnp.where(episodes.mask[..., None], episodes.actions, jnp.nan),
        jnp.where(episodes.mask, episodes.rewards, jnp.nan),
        episodes.mask,
    )
    for clean, other in zip(experience(episodes), experience(spoilt), strict=True):
        np.testing.assert_array_equal(clean, other)


def test_every_task_and_particle_has_a_baseline_of_its_own():
    episodes = random_episodes(2, 3, 4)
    together = all_experience(episodes)
    alone = experience(jax.tree.map(lambda leaf: leaf[1, 2], episodes))
    np.testing.assert_allclose(together.advantages[1, 2], alone.advantages, atol=1e-4)
