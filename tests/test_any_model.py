"""Any model meta-trains, with no wrapper written by the user."""

import equinox as eqx
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import bmaml
from bmaml.tasks import Sinusoid


class LinenNetwork(flax.linen.Module):
    @flax.linen.compact
    def __call__(self, x):
        return flax.linen.Dense(1)(jnp.tanh(flax.linen.Dense(8)(x)))


class NNXNetwork(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.first = nnx.Linear(1, 8, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(jnp.tanh(self.first(x)))


def pair():
    def init(key):
        first, last = jax.random.split(key)
        return {"first": jax.random.normal(first, (1, 8)), "last": jax.random.normal(last, (8, 1))}

    def apply(weights, x):
        return jnp.tanh(x @ weights["first"]) @ weights["last"]

    return init, apply


MODELS = {
    "functions": pair,
    "equinox instance": lambda: eqx.nn.MLP(1, 1, 8, 1, key=jax.random.key(0)),
    "equinox function": lambda: lambda key: eqx.nn.MLP(1, 1, 8, 1, key=key),
    "nnx instance": lambda: NNXNetwork(nnx.Rngs(0)),
    "nnx function": lambda: lambda rngs: NNXNetwork(rngs),
    "linen": LinenNetwork,
    "mlp": lambda: bmaml.models.mlp(1, 1, hidden=(8,)),
}


@pytest.mark.parametrize("kind", list(MODELS))
def test_meta_trains_adapts_and_predicts(kind):
    learner = bmaml.bmaml(MODELS[kind](), num_particles=3)
    tasks = Sinusoid(num_tasks=20, held_out_tasks=20, held_out_query=10)
    trained = bmaml.fit(learner, tasks, steps=30, validate_every=15, progress=False)
    assert [entry["step"] for entry in trained.history] == [15, 30]
    prediction = trained.adapt([[0.0], [1.0]], [0.5, -0.5]).predict(np.linspace(-5, 5, 7)[:, None])
    assert prediction.mean.shape == (7, 1)
    assert np.all(np.isfinite(prediction.std))
    # All but the prior's precision, which the chaser holds.
    before, after = (
        jax.tree.leaves(particles._replace(prior=()))
        for particles in (learner.init(jax.random.key(0), jnp.zeros((1, 1))), trained.particles)
    )
    assert not any(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
