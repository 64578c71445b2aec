"""A stochastic policy around any network: its output is the mean of a Gaussian."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.models import Model, as_model, mlp
from bmaml.rl.gaussian import Gaussian


class PolicyWeights(NamedTuple):
    """One particle; fast adaptation moves both parts."""

    network: PyTree
    log_std: Float[Array, " action"]


@dataclass(frozen=True)
class GaussianPolicy:
    """A network and a standard deviation that does not depend on the state.

    Like a `Model` it is a pair of pure functions: `init(key, example)` draws one particle, and
    `apply(weights, observations)` gives the distribution of the action at each row.

    Arguments:
        network: maps observations `(rows, observation)` to means `(rows, action)`.
        action_size: numbers in an action.
        initial_std: of every component, before training.
        smallest_std: a floor, far below what helps, that keeps densities finite.
    """

    network: Model
    action_size: int
    initial_std: float = 1.0
    smallest_std: float = 1e-6

    def init(self, key: Key[Array, ""], example: Any) -> PolicyWeights:
        """Draw one particle; `example` is a batch of observations."""
        log_std = jnp.full((self.action_size,), math.log(self.initial_std))
        return PolicyWeights(self.network.init(key, example), log_std)

    def apply(self, weights: PolicyWeights, observations: Float[Array, "row observation"]) -> Gaussian:
        """The distribution of the action at each row."""
        mean = self.network.apply(weights.network, observations)
        return Gaussian(mean, jnp.maximum(weights.log_std, math.log(self.smallest_std)))


def gaussian_policy(
    action_size: int,
    *,
    hidden: Sequence[int] = (100, 100),
    activation: Callable[[Any], Any] = jax.nn.relu,
    network: Any = None,
) -> GaussianPolicy:
    """The paper's policy, two hidden layers of 100 ReLU units, or one around a network of your own.

    >>> import jax
    >>> policy = gaussian_policy(2)
    >>> weights = policy.init(jax.random.key(0), jax.numpy.zeros((1, 4)))
    >>> policy.apply(weights, jax.numpy.ones((3, 4))).mean.shape
    (3, 2)

    Reference: Kim et al. 2018, Section 5.4.
    """
    model = mlp(None, action_size, hidden, activation) if network is None else as_model(network)
    return GaussianPolicy(model, action_size)
