from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.inner import SVGD
from bmaml.kernels import rbf
from bmaml.learner import Learner
from bmaml.meta import Validation
from bmaml.models import mlp, share
from bmaml.pictures.fewer_classes import with_classes
from bmaml.posterior import Categorical, GaussianPrior, Posterior
from bmaml.tasks.task import Data

WAYS, CLASSES = 5, 3
WHOLE = mlp(2, WAYS, hidden=(4,))


class Kept(NamedTuple):
    probabilities: jax.Array
    entropy: jax.Array
    mutual_information: jax.Array


def masked(learner):
    """The learner with logits of −∞ instead of left out ones."""
    model = learner.posterior.model

    def apply(*arguments):
        outputs = model.apply(*arguments)
        return jnp.where(jnp.arange(WAYS)[None] < CLASSES, outputs, -jnp.inf)

    return replace(learner, posterior=replace(learner.posterior, model=model._replace(apply=apply)))


@pytest.mark.parametrize("model", [WHOLE, share(WHOLE, ["[0]"])], ids=["own", "shared"])
def test_left_out_classes_are_as_if_ruled_out(model):
    posterior = Posterior(model, Categorical(), GaussianPrior())
    inner = SVGD(0.1, steps=3, step_control=False, kernel=rbf(1.0))
    learner = Learner(posterior, inner, Validation(), num_particles=2)
    x = jax.random.normal(jax.random.key(0), (6, 2))
    particles = jax.jit(learner.init)(jax.random.key(1), x)
    support = Data(x, jnp.array([0, 1, 2, 2, 1, 0]))

    @partial(jax.jit, static_argnums=0)
    def predict(change):
        changed = change(learner)
        prediction = changed.predict(changed.adapt(particles, support), x)
        return Kept(prediction.probabilities, prediction.entropy, prediction.mutual_information)

    few, ruled_out = predict(partial(with_classes, classes=CLASSES)), predict(masked)
    assert few.probabilities.shape == (6, CLASSES)
    np.testing.assert_allclose(few.probabilities, ruled_out.probabilities[:, :CLASSES], atol=1e-6)
    np.testing.assert_allclose(few.entropy, ruled_out.entropy, atol=1e-6)
    np.testing.assert_allclose(few.mutual_information, ruled_out.mutual_information, atol=1e-6)
    np.testing.assert_allclose(few.probabilities.sum(1), 1.0, atol=1e-6)
    # It makes a difference to adaptation, too: masking afterwards would be something else.
    late = predict(lambda learner: learner).probabilities[:, :CLASSES]
    assert not np.allclose(late / late.sum(1, keepdims=True), few.probabilities, atol=1e-3)
