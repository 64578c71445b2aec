import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bmaml
from bmaml.presets import METHODS
from tests.helpers import SMOOTH, initial_particles, tasks


def gradient(learner, particles):
    return jax.jit(jax.grad(learner.meta_loss))(particles, tasks())


def assert_same(left, right, rtol=1e-5):
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-6)


def test_maml_is_emaml_with_one_particle():
    maml, emaml = bmaml.maml(SMOOTH), bmaml.emaml(SMOOTH, num_particles=1)
    particles = initial_particles(maml)
    assert_same(gradient(maml, particles), gradient(emaml, particles))


def test_bfa_with_one_particle_is_maml_on_the_same_posterior():
    maml = bmaml.maml(SMOOTH, likelihood="gaussian", prior="gaussian", step_size=0.05)
    bfa = bmaml.bfa(SMOOTH, num_particles=1, step_size=0.05)
    particles = initial_particles(bfa)
    assert_same(gradient(bfa, particles), gradient(maml, particles))


def test_emaml_is_several_mamls():
    emaml, maml = bmaml.emaml(SMOOTH, num_particles=3), bmaml.maml(SMOOTH)
    particles = initial_particles(emaml)
    together = gradient(emaml, particles)
    for index in range(3):
        alone = jax.tree.map(lambda leaf, i=index: leaf[i : i + 1], particles)
        assert_same(
            jax.tree.map(lambda leaf, i=index: leaf[i : i + 1], together), gradient(maml, alone)
        )


def test_fomaml_is_first_order():
    """Its gradient is that of the validation loss at the adapted weights."""
    fomaml = bmaml.fomaml(SMOOTH)
    particles = initial_particles(fomaml)

    def at_adapted(task):
        adapted = fomaml.adapt(particles, task.support)
        loss = jax.grad(
            lambda p: jnp.sum(jax.vmap(fomaml.posterior.validation_loss, (0, None))(p, task.query))
        )
        return loss(adapted)

    expected = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), jax.vmap(at_adapted)(tasks()))
    assert_same(gradient(fomaml, particles), expected, rtol=1e-4)


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("settings", ["paper", "authors"])
def test_every_preset_has_both_settings_and_finite_gradients(name, settings):
    learner = METHODS[name](SMOOTH, settings=settings)
    leaves = jax.tree.leaves(gradient(learner, initial_particles(learner)))
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="Unknown likelihood"):
        bmaml.bmaml(SMOOTH, likelihood="poisson")
    with pytest.raises(ValueError, match="Unknown bandwidth"):
        bmaml.kernels.rbf("widest")
