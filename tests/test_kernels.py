import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml import particles as sets
from bmaml.kernels import KERNELS, as_bandwidth, authors_rbf, fixed, median, rbf


@pytest.mark.parametrize("name", ["rbf", "imq"])
def test_repulsion_is_the_gradient_of_the_kernel(name):
    particles = jax.random.normal(jax.random.key(0), (4, 3))
    kernel = KERNELS[name](0.7)
    _, repulsion = kernel(sets.squared_distances(particles))

    def value(theta_j, theta_i):
        return kernel.profile(jnp.sum(jnp.square(theta_i - theta_j)) / 0.7)

    for i in range(4):
        for j in range(4):
            expected = jax.grad(value)(particles[j], particles[i])
            ours = repulsion[i, j] * (particles[i] - particles[j])
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", list(KERNELS))
def test_kernel_is_symmetric_one_on_the_diagonal_and_positive_definite(name):
    values, _ = KERNELS[name]()(sets.squared_distances(jax.random.normal(jax.random.key(1), (6, 2))))
    np.testing.assert_allclose(values, values.T, rtol=1e-6)
    np.testing.assert_allclose(jnp.diagonal(values), 1.0)
    assert np.all(np.linalg.eigvalsh(np.asarray(values, np.float64)) > -1e-6)


@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.parametrize("size", [1, 2, 5])
def test_coincident_particles_give_finite_values_and_gradients(name, size):
    kernel = KERNELS[name]()

    def total(particles):
        values, repulsion = kernel(sets.squared_distances(particles))
        return jnp.sum(values) + jnp.sum(sets.mix(repulsion, particles))

    particles = jnp.ones((size, 3))
    assert np.isfinite(total(particles))
    assert np.all(np.isfinite(jax.grad(total)(particles)))


def test_median_is_over_pairs_and_the_authors_median_over_all_entries():
    distances = jnp.array([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    np.testing.assert_allclose(median(distances), 4.0 / np.log(4.0), rtol=1e-6)
    np.testing.assert_allclose(authors_rbf().bandwidth(distances), 1.0 / np.log(3.0), rtol=1e-6)


def test_authors_repulsion_lacks_the_factor_two():
    distances = sets.squared_distances(jax.random.normal(jax.random.key(2), (5, 2)))
    bandwidth = float(authors_rbf().bandwidth(distances))
    np.testing.assert_allclose(
        authors_rbf()(distances).repulsion, 0.5 * rbf(bandwidth)(distances).repulsion, rtol=1e-5
    )


def test_bandwidth_is_a_constant_to_differentiation():
    def total(scale):
        return jnp.sum(rbf()(scale * jnp.array([[0.0, 1.0], [1.0, 0.0]])).values)

    # With the gradient through the median, scaling all distances would change nothing.
    assert abs(jax.grad(total)(jnp.asarray(1.0))) > 0.1


def test_bad_bandwidths_are_refused():
    with pytest.raises(ValueError, match="positive"):
        fixed(0.0)
    with pytest.raises(ValueError, match="Unknown bandwidth"):
        as_bandwidth("mean")
