"""SGLD and HMC: where their chains settle, beside blackjax's with the same settings."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from blackjax.mcmc.integrators import IntegratorState, velocity_verlet
from blackjax.mcmc.metrics import default_metric
from scipy.stats import norm

from bmaml.inner import HMC, SGLD, GradientDescent, Target
from bmaml.inner.sampler import standard_normal

CHAINS = 2000
BOTH = pytest.mark.parametrize("sampler", [SGLD, HMC])


def target_of(log_density, scales=lambda theta: jnp.ones(())):
    return Target(log_density, scales)


PRECISION = jnp.array([[2.0, -1.0], [-1.0, 1.5]])
MEAN = jnp.array([1.0, -2.0])


def gaussian(theta):
    return -0.5 * (theta - MEAN) @ PRECISION @ (theta - MEAN)


BEND, WIDTH = 0.5, 0.6


def banana(theta):
    """θ₁ is standard normal, and so is (θ₂ − BEND θ₁²) / WIDTH."""
    return -0.5 * jnp.sum(jnp.square(straighten(theta)))


def straighten(theta):
    return jnp.stack([theta[..., 0], (theta[..., 1] - BEND * theta[..., 0] ** 2) / WIDTH], axis=-1)


def whiten(theta, covariance):
    return (theta - MEAN[None]) @ jnp.linalg.inv(jnp.linalg.cholesky(covariance)).T


def assert_standard_normal(samples):
    """Mean, covariance and quantiles within four standard errors."""
    samples = np.asarray(samples, np.float64)
    count = samples.shape[0]
    error = 4.0 / np.sqrt(count)
    np.testing.assert_allclose(samples.mean(axis=0), 0.0, atol=error)
    np.testing.assert_allclose(np.cov(samples.T), np.eye(2), atol=error * np.sqrt(2.0))
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        exact = norm.ppf(level)
        spread = error * np.sqrt(level * (1.0 - level)) / norm.pdf(exact)
        np.testing.assert_allclose(np.quantile(samples, level, axis=0), exact, atol=spread)


def settle(sampler, target, steps, seed=0):
    """Where many chains are after `steps`, from a start that is neither wide nor in place."""
    start = 0.5 * jax.random.normal(jax.random.key(seed), (CHAINS, 2))
    return jax.jit(lambda start: sampler.run(target, start, steps=steps, key=jax.random.key(seed + 1)))(
        start
    )


def settle_blackjax(step, steps, make):
    def chain(position, key):
        state, _ = jax.lax.scan(
            lambda state, one: (step(one, state), None), make(position), jax.random.split(key, steps)
        )
        return state

    start = 0.5 * jax.random.normal(jax.random.key(0), (CHAINS, 2))
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        return jax.jit(jax.vmap(chain))(start, jax.random.split(jax.random.key(1), CHAINS))


def blackjax_hmc(log_density, step_size, leapfrog_steps, steps):
    algorithm = blackjax.hmc(log_density, (2.0 * step_size) ** 0.5, jnp.ones(2), leapfrog_steps)
    return settle_blackjax(
        lambda key, state: algorithm.step(key, state)[0], steps, algorithm.init
    ).position


def blackjax_sgld(log_density, step_size, steps):
    algorithm = blackjax.sgld(lambda position, _: jax.grad(log_density)(position))
    return settle_blackjax(
        lambda key, position: algorithm.step(key, position, 0, step_size), steps, lambda start: start
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("whose", ["ours", "ours under control", "blackjax"])
@pytest.mark.parametrize("shape", ["gaussian", "banana"])
def test_hmc_with_metropolis_samples_exactly(shape, whose):
    log_density = {"gaussian": gaussian, "banana": banana}[shape]
    step_size, leapfrog_steps, steps = 0.05, 5, 60
    if whose == "blackjax":
        samples = blackjax_hmc(log_density, step_size, leapfrog_steps, steps)
    else:
        sampler = HMC(
            step_size,
            leapfrog_steps=leapfrog_steps,
            metropolis=True,
            step_control=whose != "ours",
        )
        samples = settle(sampler, target_of(log_density), steps)
    straight = straighten(samples)
    if shape == "gaussian":
        straight = whiten(samples, jnp.linalg.inv(PRECISION))
    assert_standard_normal(straight)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("whose", ["ours", "blackjax"])
def test_sgld_on_a_gaussian_has_the_covariance_of_its_step_size(whose):
    """$\\Sigma_\\alpha = (\\Lambda(I - \\alpha\\Lambda/2))^{-1}$, which is Λ⁻¹ as α goes to zero."""
    step_size, steps = 0.2, 150
    if whose == "blackjax":
        samples = blackjax_sgld(gaussian, step_size, steps)
    else:
        samples = settle(SGLD(step_size), target_of(gaussian), steps)
    exact = jnp.linalg.inv(PRECISION @ (jnp.eye(2) - 0.5 * step_size * PRECISION))
    assert_standard_normal(whiten(samples, exact))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("whose", ["ours", "blackjax"])
def test_sgld_in_small_steps_samples_a_banana(whose):
    step_size, steps = 0.005, 1500
    if whose == "blackjax":
        samples = blackjax_sgld(banana, step_size, steps)
    else:
        samples = settle(SGLD(step_size), target_of(banana), steps)
    assert_standard_normal(straighten(samples))


def test_a_trajectory_is_that_of_blackjax():
    """In a metric, too: our momentum is the mass's square root times theirs."""
    start, key = jnp.array([[0.3, -0.7]]), jax.random.key(3)
    metric, step_size = jnp.array([0.5, 2.0]), 0.03
    target = Target(lambda theta: banana(jnp.stack(theta)), lambda theta: tuple(metric))
    hmc = HMC(step_size, leapfrog_steps=6, step_control=False)
    ours = hmc.step(target, (start[:, 0], start[:, 1]), step_size, key)
    momentum = jnp.stack(standard_normal(jax.random.split(key)[0], (start[:, 0], start[:, 1])))[:, 0]
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        integrate = velocity_verlet(banana, default_metric(metric).kinetic_energy)
        state = IntegratorState(
            start[0], momentum / jnp.sqrt(metric), *jax.value_and_grad(banana)(start[0])
        )
        for _ in range(6):
            state = integrate(state, (2.0 * step_size) ** 0.5)
    np.testing.assert_allclose(jnp.stack(ours)[:, 0], state.position, rtol=1e-4, atol=1e-5)


def test_a_step_of_sgld_is_its_formula():
    start, key = jnp.array([[0.3, -0.7], [1.0, 2.0]]), jax.random.key(3)
    target = target_of(banana, lambda theta: jnp.asarray(0.5))
    moved = SGLD(0.1, temperature=0.7, step_control=False).step(target, start, 0.1, key)
    noise = standard_normal(key, start)
    expected = start + 0.05 * jax.vmap(jax.grad(banana))(start) + jnp.sqrt(2 * 0.05 * 0.7) * noise
    np.testing.assert_allclose(moved, expected, rtol=1e-5)


def test_heat_is_a_factor_on_the_covariance():
    sampler = HMC(0.05, leapfrog_steps=5, metropolis=True, step_control=False, temperature=0.3)
    samples = settle(sampler, target_of(gaussian), steps=60)
    assert_standard_normal(whiten(samples, 0.3 * jnp.linalg.inv(PRECISION)))


@pytest.mark.parametrize(("sampler", "options"), [(SGLD, {}), (HMC, {"leapfrog_steps": 1})])
def test_without_heat_sgld_and_one_leapfrog_step_are_gradient_ascent(sampler, options):
    start = jax.random.normal(jax.random.key(0), (4, 2))
    cold = sampler(0.1, 3, temperature=0.0, step_control=False, **options)
    ascent = GradientDescent(0.1, 3, step_control=False).run(target_of(banana), start)
    np.testing.assert_allclose(cold.run(target_of(banana), start), ascent, rtol=1e-5)


@pytest.mark.parametrize(
    "sampler", [SGLD(0.01), HMC(0.02, metropolis=True, step_control=False)], ids=["sgld", "hmc"]
)
def test_step_scales_change_the_path_and_not_where_it_leads(sampler):
    """A metric of its own for each part; that of the second depends on the particle."""

    def log_density(theta):
        return banana(jnp.concatenate([theta["first"], theta["second"]]))

    def scales(theta):
        return {"first": jnp.asarray(2.0), "second": 0.5 + jax.nn.sigmoid(theta["second"][0])}

    start = {
        name: 0.5 * jax.random.normal(jax.random.key(index), (CHAINS, 1))
        for index, name in enumerate(("first", "second"))
    }
    moved = jax.jit(
        lambda start: sampler.run(Target(log_density, scales), start, steps=700, key=jax.random.key(5))
    )(start)
    assert_standard_normal(straighten(jnp.concatenate([moved["first"], moved["second"]], axis=1)))


@BOTH
def test_a_part_with_the_scale_zero_stays(sampler):
    target = Target(lambda theta: banana(jnp.stack(theta)), lambda theta: (jnp.exp(theta[0]), 0.0))
    start = (jnp.ones(3), jnp.ones(3))

    def total(start):
        return jnp.sum(sampler(0.01, steps=2).run(target, start)[0])

    moved = sampler(0.01, steps=2).run(target, start)
    assert np.all(np.asarray(moved[0]) != 1.0)
    np.testing.assert_array_equal(moved[1], 1.0)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(jax.jit(jax.grad(total))(start)))


@BOTH
def test_noise_is_a_function_of_the_key(sampler):
    start = jnp.zeros((3, 2))
    flat = target_of(lambda theta: 0.0 * jnp.sum(theta))

    def move(key, steps=1):
        return np.asarray(sampler(0.1).run(flat, start, steps=steps, key=key))

    one, other = jax.random.key(0), jax.random.key(1)
    np.testing.assert_array_equal(move(one), move(one))
    assert np.all(move(one) != move(other))
    np.testing.assert_array_equal(move(None), move(None))
    # Every number is drawn by itself: over particles, over coordinates, and over steps.
    assert np.unique(np.round(move(one), 6)).size == 6
    second = move(one, steps=2) - move(one)
    assert np.all(np.abs(second - move(one)) > 1e-6)
    without_a_key = move(None, steps=2) - move(None)
    assert np.all(np.abs(without_a_key - move(None)) > 1e-6)


@BOTH
def test_tasks_under_vmap_have_noise_of_their_own_and_the_same_as_alone(sampler):
    update = sampler(0.05, steps=2)
    start = jax.random.normal(jax.random.key(0), (3, 2))
    centres = jnp.array([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0]])
    keys = jax.random.split(jax.random.key(1), 3)

    @jax.jit
    def adapt(centre, key):
        return update.run(target_of(lambda theta: gaussian(theta - centre)), start, key=key)

    together = jax.vmap(adapt)(centres, keys)
    assert np.all(np.abs(together[0] - together[1]) > 1e-6)
    for index in range(3):
        alone = adapt(centres[index], keys[index])
        np.testing.assert_allclose(together[index], alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("control", [True, False])
def test_a_refused_trajectory_leaves_the_particle_and_a_finite_gradient(control):
    """Far too long a step: some particles overflow on the way, which must not reach the gradient."""
    hmc = HMC(1e6, metropolis=True, step_control=control)
    steep = target_of(lambda theta: -jnp.sum(theta**4))
    start = jax.random.normal(jax.random.key(0), (5, 2))
    moved, gradient = jax.jit(
        lambda start: (hmc.run(steep, start), jax.grad(lambda s: jnp.sum(hmc.run(steep, s)))(start))
    )(start)
    assert np.all(np.isfinite(moved))
    assert np.all(np.isfinite(gradient))
    if not control:
        np.testing.assert_array_equal(moved, start)
        np.testing.assert_array_equal(gradient, 1.0)


def test_a_trajectory_that_keeps_its_energy_is_not_shortened():
    start = jax.random.normal(jax.random.key(0), (50, 2))
    free = HMC(0.02, steps=3, step_control=False).run(target_of(banana), start)
    controlled = HMC(0.02, steps=3).run(target_of(banana), start)
    np.testing.assert_allclose(controlled, free, rtol=1e-5, atol=1e-6)


def test_a_cold_chain_falls_at_full_length_and_never_climbs():
    """From a hilltop, where leapfrog steps raise the energy by far more than the temperature."""

    def hill(theta):
        return -jnp.sum(jnp.square(jnp.square(theta) - 4.0)) / 8.0

    start = jnp.array([[0.3, -0.4], [0.2, 0.5]])
    cold = HMC(0.03, temperature=1e-6)
    free = HMC(0.03, temperature=1e-6, step_control=False).run(target_of(hill), start)
    np.testing.assert_allclose(cold.run(target_of(hill), start), free, rtol=1e-6)
    densities = jax.vmap(hill)
    assert np.all(densities(free) > densities(start) + 0.05)
    far = jax.jit(lambda start: HMC(3.0, temperature=0.0).run(target_of(hill), start, steps=20))(start)
    assert np.all(densities(far) > densities(start))


@BOTH
def test_a_meta_gradient_flows_through_every_sample(sampler):
    """Through the score, and through the metric that scales the noise."""
    with jax.enable_x64(True):
        start = jax.random.normal(jax.random.key(0), (2, 2), jnp.float64)
        target = target_of(banana, lambda theta: jnp.exp(0.3 * theta[0]))
        update = sampler(0.05, steps=3, step_control=False)
        direction = jnp.asarray([[1.0, 0.5], [-0.7, 2.0]])

        @jax.jit
        def along(distance):
            return jnp.sum(jnp.sin(update.run(target, start + distance * direction)))

        width = 1e-6
        numeric = (along(jnp.asarray(width)) - along(jnp.asarray(-width))) / (2 * width)
        slope = jax.grad(along)(jnp.zeros((), jnp.float64))
        np.testing.assert_allclose(slope, numeric, rtol=1e-5)


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="temperature"):
        SGLD(0.1, temperature=-1.0)
    with pytest.raises(ValueError, match="leapfrog_steps"):
        HMC(0.1, leapfrog_steps=0)
