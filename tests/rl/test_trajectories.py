"""What lies beyond the end of an episode never counts."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.rl.trajectories import Trajectories, discounted_sums


def test_returns_ignore_what_did_not_take_place():
    rewards = jnp.array([[1.0, 2.0, jnp.nan], [1.0, 1.0, 1.0]])
    mask = jnp.array([[True, True, False], [True, True, True]])
    episodes = Trajectories(jnp.zeros((2, 3, 1)), jnp.zeros((2, 3, 1)), rewards, mask)
    np.testing.assert_array_equal(episodes.returns, [3.0, 3.0])
    np.testing.assert_array_equal(episodes.lengths, [2, 3])


@settings(max_examples=20, deadline=None)
@given(
    length=st.integers(1, 7),
    discount=st.floats(0.0, 1.0, width=32),
    seed=st.integers(0, 100),
)
def test_discounted_sums_are_those_of_the_definition(length, discount, seed):
    values = np.asarray(jax.random.normal(jax.random.key(seed), (7,)))
    mask = np.arange(7) < length
    expected = [
        sum(discount ** (later - now) * values[later] for later in range(now, length))
        for now in range(7)
    ]
    sums = discounted_sums(jnp.asarray(values), discount, jnp.asarray(mask))
    np.testing.assert_allclose(sums, expected, atol=1e-5)
