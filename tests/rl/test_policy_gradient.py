"""VPG and SVPG: the library's inner updates fed with policy gradients."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.inner import stein_direction
from bmaml.kernels import rbf
from bmaml.rl.inner import expected_return, svpg, vpg
from bmaml.rl.kernels import authors_kernel
from tests.rl.small import POLICY, initial_particles, rows


def scores(particles, batch):
    return jax.vmap(jax.grad(expected_return, argnums=1), (None, 0, 0))(POLICY, particles, batch)


def assert_close(left, right, **tolerance):
    for one, two in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, two, **tolerance)


def test_vpg_is_gradient_ascent():
    particles, batch = initial_particles(3), rows(3)
    moved = vpg(0.1).step(POLICY, particles, batch)
    expected = jax.tree.map(lambda a, b: a + 0.1 * b, particles, scores(particles, batch))
    assert_close(moved, expected, atol=1e-6)


def test_svpg_is_the_librarys_svgd_with_scores_over_the_temperature():
    particles, batch = initial_particles(3), rows(3)
    moved = svpg(0.1, temperature=0.5).step(POLICY, particles, batch)
    fed = jax.tree.map(lambda leaf: leaf / 0.5, scores(particles, batch))
    direction = stein_direction(rbf(), particles, fed)
    assert_close(moved, jax.tree.map(lambda a, b: a + 0.1 * b, particles, direction), atol=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_one_particle_of_svpg_is_vpg_with_the_step_over_the_temperature(temperature):
    particles, batch = initial_particles(1), rows(1)
    one = svpg(0.1, temperature=temperature).step(POLICY, particles, batch)
    assert_close(one, vpg(0.1 / temperature).step(POLICY, particles, batch), atol=1e-6)


def test_the_score_is_the_gradient_of_a_plain_sum():
    """log-density times advantage, over the rows that took place."""
    particle = jax.tree.map(lambda leaf: leaf[0], initial_particles(1))
    batch = jax.tree.map(lambda leaf: leaf[0], rows(1))
    gaussian = POLICY.apply(particle, batch.observations)
    taken = np.asarray(batch.weights) > 0
    terms = np.asarray(gaussian.log_density(batch.actions) * batch.advantages)
    expected = np.mean(terms[taken])
    np.testing.assert_allclose(expected_return(POLICY, particle, batch), expected, rtol=1e-5)


def test_first_order_takes_scores_as_constants():
    particles, batch = initial_particles(2), rows(2)
    inner = vpg(0.1, first_order=True)

    def total(these):
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(inner.step(POLICY, these, batch)))

    for leaf in jax.tree.leaves(jax.grad(total)(particles)):
        np.testing.assert_allclose(leaf, 1.0, rtol=1e-6)


def test_the_authors_kernel_repels_along_its_true_gradient():
    """With the bandwidth held, as it enters the step: (2/h)(θ−θ')k."""
    distances = jnp.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
    values, repulsion = authors_kernel()(distances)
    mean = np.mean([1.0, 2.0, np.sqrt(2.0)])
    h = mean**2 / np.log(4.0)
    np.testing.assert_allclose(values, np.exp(-np.asarray(distances) / h), rtol=1e-5)
    np.testing.assert_allclose(repulsion, 2.0 / h * np.asarray(values), rtol=1e-5)


def test_coincident_particles_have_finite_gradients():
    particles = jax.tree.map(lambda leaf: jnp.repeat(leaf, 2, axis=0), initial_particles(1))
    batch = rows(2)
    for kernel in (rbf(), authors_kernel()):
        inner = svpg(0.1, kernel=kernel)

        def total(these, inner=inner):
            return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(inner.step(POLICY, these, batch)))

        gradient = jax.grad(total)(particles)
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


def test_a_temperature_must_be_positive():
    with pytest.raises(ValueError, match="temperature is 0"):
        replace(svpg(), temperature=0.0)
