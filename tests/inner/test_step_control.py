import jax
import jax.numpy as jnp
import numpy as np

from bmaml.inner import GradientDescent, Target


def quadratic(curvature):
    return Target(
        lambda theta: -0.5 * curvature * jnp.sum(jnp.square(theta)), lambda theta: jnp.ones(())
    )


def test_a_step_that_does_what_it_promises_is_taken_in_full():
    start = jnp.ones((2, 3))
    controlled = GradientDescent(0.1).run(quadratic(1.0), start)
    free = GradientDescent(0.1, step_control=False).run(quadratic(1.0), start)
    np.testing.assert_array_equal(controlled, free)


def test_an_overshooting_step_is_shortened_per_particle():
    curvature = jnp.array([1.0, 1000.0])

    def log_density(theta):
        return -0.5 * jnp.sum(curvature * jnp.square(theta))

    start = jnp.array([[1.0, 0.0], [0.0, 1.0]])
    moved = GradientDescent(0.1).run(Target(log_density, lambda theta: jnp.ones(())), start)
    np.testing.assert_allclose(moved[0], [0.9, 0.0], rtol=1e-6)
    assert 0 <= abs(float(moved[1, 1])) < 1.0


def test_log_density_never_falls_under_gradient_ascent():
    def log_density(theta):
        return -jnp.sum(theta**4) - 50.0 * jnp.sum(jnp.square(theta[1:] - theta[:-1] ** 2))

    target = Target(log_density, lambda theta: jnp.ones(()))
    particles = jax.random.normal(jax.random.key(0), (5, 3))
    before = jax.vmap(log_density)(particles)
    for _ in range(30):
        particles = GradientDescent(1.0).run(target, particles)
        after = jax.vmap(log_density)(particles)
        assert np.all(after >= before - 1e-4 * np.abs(before))
        before = after


def test_a_move_to_where_the_density_is_not_a_number_is_refused():
    def log_density(theta):
        return jnp.sum(jnp.where(jnp.abs(theta) < 1.0, 0.5 * theta, jnp.nan))

    start = jnp.full((1, 1), 0.5)
    moved = GradientDescent(1e6).run(Target(log_density, lambda theta: jnp.ones(())), start)
    assert np.all(np.isfinite(log_density(moved)))
