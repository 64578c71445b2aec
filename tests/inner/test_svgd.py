import blackjax.vi.svgd as blackjax_svgd
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.inner import SVGD, GradientDescent, Target, stein_direction
from bmaml.kernels import imq, rbf
from bmaml.particles import squared_distances


def unit_scales(theta):
    return jnp.ones(())


@pytest.mark.parametrize("kernel", [rbf(), imq()])
def test_one_particle_is_gradient_ascent_exactly(kernel):
    target = Target(lambda theta: -jnp.sum(theta**4), unit_scales)
    start = jax.random.normal(jax.random.key(0), (1, 3))
    svgd = SVGD(step_size=0.05, steps=4, kernel=kernel).run(target, start)
    ascent = GradientDescent(step_size=0.05, steps=4).run(target, start)
    np.testing.assert_array_equal(svgd, ascent)


def test_direction_equals_the_formula():
    particles = jax.random.normal(jax.random.key(0), (5, 3))
    scores = jax.random.normal(jax.random.key(1), (5, 3))
    bandwidth = 1.3

    def kernel(theta_j, theta_i):
        return jnp.exp(-jnp.sum(jnp.square(theta_j - theta_i)) / bandwidth)

    expected = [
        sum(
            kernel(particles[j], particles[i]) * scores[j]
            + jax.grad(kernel)(particles[j], particles[i])
            for j in range(5)
        )
        / 5
        for i in range(5)
    ]
    np.testing.assert_allclose(
        stein_direction(rbf(bandwidth), particles, scores),
        jnp.stack(expected),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.filterwarnings("ignore")
def test_agrees_with_blackjax_at_a_fixed_bandwidth():
    import optax

    def log_density(theta):
        return -0.5 * jnp.sum(jnp.square(theta - 1.0))

    start = jax.random.normal(jax.random.key(0), (6, 2))
    bandwidth = 0.8
    step_size = 0.1
    optimizer = optax.sgd(step_size)
    state = blackjax_svgd.init(start, {"length_scale": bandwidth}, optimizer)
    step = blackjax_svgd.build_kernel(optimizer)
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        state = step(state, jax.grad(log_density), blackjax_svgd.rbf_kernel)
    # blackjax's kernel is exp(−d²/length_scale).
    ours = SVGD(step_size, kernel=rbf(bandwidth), step_control=False).run(
        Target(log_density, unit_scales), start
    )
    np.testing.assert_allclose(ours, state.particles, rtol=1e-5)


def test_recovers_mean_and_variance_of_a_gaussian():
    target = Target(lambda theta: -0.5 * jnp.sum(jnp.square(theta - 2.0)) / 0.5, unit_scales)
    start = jax.random.normal(jax.random.key(0), (60, 1))
    samples = SVGD(step_size=0.3, steps=2000).run(target, start)
    np.testing.assert_allclose(jnp.mean(samples), 2.0, atol=0.03)
    np.testing.assert_allclose(jnp.var(samples), 0.5, rtol=0.12)


def test_finds_both_modes_of_a_mixture():
    def log_density(theta):
        return jax.nn.logsumexp(jnp.stack([-2.0 * jnp.sum(jnp.square(theta - c)) for c in (-2.0, 2.0)]))

    start = 0.5 * jax.random.normal(jax.random.key(1), (40, 1))
    samples = SVGD(step_size=0.3, steps=2000).run(Target(log_density, unit_scales), start)
    share = float(jnp.mean(samples > 0))
    assert 0.3 < share < 0.7
    assert float(jnp.max(jnp.abs(jnp.abs(samples) - 2.0))) < 1.5


@pytest.mark.parametrize(
    ("size", "precision", "bandwidth"),
    [(5, 0.01, "median"), (10, 0.003, "median"), (10, 0.01, 70.0), (10, 0.01, 2000.0)],
)
def test_a_prior_over_many_weights_holds_few_particles_at_a_distance_known_beforehand(
    size, precision, bandwidth
):
    """docs/deviations.md, "How far apart particles stand": far closer than samples of the prior."""
    dimensions = 500
    target = Target(lambda theta: -0.5 * precision * jnp.sum(jnp.square(theta)), unit_scales)
    start = 3.0 * jax.random.normal(jax.random.key(0), (size, dimensions))
    settled = SVGD(step_size=0.5 / precision, steps=300, kernel=rbf(bandwidth)).run(target, start)
    distances = squared_distances(settled)[np.triu_indices(size, k=1)]
    expected = 2.0 * np.log(size + 1.0) / precision
    if bandwidth != "median":
        expected = bandwidth * np.log(1.0 + 2.0 * size / (precision * bandwidth))
    np.testing.assert_allclose(distances, expected, rtol=0.02)


def test_particles_interact_and_those_of_gradient_descent_do_not():
    target = Target(lambda theta: -jnp.sum(jnp.square(theta)), unit_scales)
    start = jax.random.normal(jax.random.key(0), (3, 2))
    for update, interact in ((SVGD(0.1), True), (GradientDescent(0.1), False)):
        jacobian = jax.jacobian(lambda theta, update=update: update.run(target, theta))(start)
        cross = np.asarray(jacobian[0, :, 1])
        assert bool(np.any(cross != 0)) is interact


def test_particles_of_different_step_scales_move_by_their_geometric_mean():
    def log_density(theta):
        return -0.5 * jnp.sum(jnp.square(theta))

    start = jnp.array([[0.0, 1.0], [2.0, -1.0]])
    own = SVGD(0.1).run(Target(log_density, lambda theta: jnp.exp(theta[0])), start)
    pooled = SVGD(0.1).run(Target(log_density, lambda theta: jnp.exp(1.0)), start)
    np.testing.assert_allclose(own, pooled, rtol=1e-6)
