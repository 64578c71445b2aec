"""The mixture of Gaussians: against scipy for one particle, its own definition for many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax.test_util import check_grads
from scipy.stats import norm

from bmaml.predictive import RegressionPrediction


@st.composite
def predictions(draw):
    # Few shapes, so that few programs are compiled.
    count = draw(st.sampled_from([1, 2, 5]))
    means = draw(hnp.arrays(np.float32, (count, 3), elements=st.floats(-5, 5, width=32)))
    noise = draw(hnp.arrays(np.float32, (count,), elements=st.floats(0.0625, 4, width=32)))
    return RegressionPrediction(jnp.asarray(means), jnp.asarray(noise))


def mixture(seed=0, count=4, rows=(6, 1)):
    mean_key, noise_key = jax.random.split(jax.random.key(seed))
    means = 2 * jax.random.normal(mean_key, (count, *rows))
    return RegressionPrediction(means, jax.random.uniform(noise_key, (count,), minval=0.1))


def stds(prediction):
    """Noise stds by an independent route: NumPy, in float64, one column for each particle."""
    noise = np.asarray(prediction.noise_variances, np.float64)
    return np.sqrt(noise).reshape(-1, *[1] * (prediction.means.ndim - 1))


# One particle is one Gaussian.


@pytest.mark.parametrize("y", [-3.0, 0.2, 4.0])
def test_one_particle_is_scipys_normal(y):
    prediction = RegressionPrediction(jnp.array([[-0.5, 1.0]]), jnp.array([0.49]))
    reference = (np.array([-0.5, 1.0]), 0.7)
    np.testing.assert_allclose(prediction.mean, norm.mean(*reference), rtol=1e-6)
    np.testing.assert_allclose(prediction.std, norm.std(*reference), rtol=1e-6)
    np.testing.assert_allclose(prediction.cdf(y), norm.cdf(y, *reference), rtol=2e-5)
    np.testing.assert_allclose(prediction.log_prob(y), norm.logpdf(y, *reference), rtol=1e-5)


@pytest.mark.parametrize("q", [1e-6, 0.05, 0.3, 0.5, 0.95, 0.9999])
def test_one_particle_has_scipys_quantiles(q):
    prediction = RegressionPrediction(jnp.array([[-0.5, 1.0]]), jnp.array([0.49]))
    expected = norm(np.array([-0.5, 1.0]), 0.7).ppf(q)
    np.testing.assert_allclose(prediction.quantile(q), expected, rtol=2e-6, atol=1e-6)


def test_one_particle_has_no_epistemic_uncertainty():
    prediction = mixture(count=1)
    np.testing.assert_array_equal(prediction.epistemic_std, 0)
    np.testing.assert_allclose(prediction.std, prediction.noise_std)


# Many particles are their mixture.


def test_cdf_and_density_are_means_of_the_components():
    prediction = mixture()
    y = jnp.linspace(-3, 3, 6)[:, None]
    reference = (np.asarray(prediction.means, np.float64), stds(prediction))
    np.testing.assert_allclose(prediction.cdf(y), norm.cdf(y, *reference).mean(0), rtol=1e-5)
    expected = norm.logpdf(y, *reference)
    np.testing.assert_allclose(jnp.exp(prediction.log_prob(y)), np.exp(expected).mean(0), rtol=1e-5)


def test_density_is_the_derivative_of_the_cdf():
    prediction = mixture(rows=())
    for y in (-2.0, 0.1, 3.0):
        slope = jax.grad(prediction.cdf)(y)
        np.testing.assert_allclose(slope, jnp.exp(prediction.log_prob(y)), rtol=1e-5)


@given(predictions())
@settings(max_examples=25, deadline=None)
def test_law_of_total_variance(prediction):
    total = prediction.epistemic_std**2 + prediction.noise_std**2
    np.testing.assert_allclose(prediction.variance, total, rtol=1e-5)
    np.testing.assert_allclose(prediction.std**2, total, rtol=1e-5)


def test_draws_have_the_mixtures_moments_and_quantiles():
    prediction = mixture(rows=(2,))
    draws = prediction.draw(jax.random.key(1), 40_000)
    error = 5 * prediction.std / 200  # five standard errors
    np.testing.assert_array_less(jnp.abs(draws.mean(0) - prediction.mean), error)
    np.testing.assert_allclose(draws.std(0), prediction.std, rtol=0.03)
    for q in (0.1, 0.5, 0.9):
        below = jnp.mean(draws < prediction.quantile(q)[None], axis=0)
        np.testing.assert_allclose(below, q, atol=5 * np.sqrt(q * (1 - q) / 40_000))


def test_a_draw_is_one_particle_over_all_rows():
    means = jnp.array([[-1.0, -1.0], [1.0, 1.0]])
    draws = RegressionPrediction(means, jnp.zeros(2)).draw(jax.random.key(0), 50)
    np.testing.assert_array_equal(draws[:, 0], draws[:, 1])
    assert set(np.unique(draws)) == {-1.0, 1.0}


def test_samples_are_the_particles_functions():
    prediction = mixture()
    np.testing.assert_array_equal(prediction.samples, prediction.means)


# Quantiles.


@given(predictions(), st.floats(1 / 64, 63 / 64, width=32))
@settings(max_examples=40, deadline=None)
def test_cdf_undoes_quantile(prediction, q):
    value = jax.jit(RegressionPrediction.quantile)(prediction, jnp.float32(q))
    np.testing.assert_allclose(prediction.cdf(value), q, atol=4e-6)


@jax.jit
def quantile_at_each_row(prediction, q):
    at_row = lambda means, q: prediction._replace(means=means).quantile(q)  # noqa: E731
    return jax.vmap(at_row, in_axes=(1, 0))(prediction.means, q)


@given(predictions(), st.floats(-4, 4, width=32))
@settings(max_examples=40, deadline=None)
def test_quantile_undoes_cdf(prediction, shift):
    y = prediction.mean + shift * prediction.std
    probability = prediction.cdf(y)
    # Rounding of the probability moves y by that over the density, so far into the upper tail or
    # between distant modes the probability no longer tells y.
    allowed = 1e-5 + 2.0**-22 / jnp.exp(prediction.log_prob(y))
    told = allowed < 1e-2
    error = jnp.abs(quantile_at_each_row(prediction, probability) - y)
    np.testing.assert_array_less(error[told], allowed[told])


def test_quantiles_rise():
    prediction = mixture()
    values = jax.vmap(prediction.quantile)(jnp.linspace(0.01, 0.99, 99))
    assert np.all(np.diff(values, axis=0) > 0)


def test_quantiles_are_exact_where_the_answer_is_small_beside_the_bracket():
    prediction = RegressionPrediction(jnp.array([0.0, 1e6]), jnp.array([1e-6, 1.0]))
    np.testing.assert_allclose(prediction.quantile(0.25), 0.0, atol=1e-9)
    np.testing.assert_allclose(prediction.quantile(0.4), norm.ppf(0.8) * 1e-3, rtol=1e-5)


def test_tails_are_symmetric():
    prediction = RegressionPrediction(jnp.array([[-1.0], [1.0]]), jnp.array([0.3, 0.3]))
    np.testing.assert_array_equal(prediction.quantile(2.0**-20), -prediction.quantile(1 - 2.0**-20))
    lower, upper = prediction.interval(0.999)
    np.testing.assert_array_equal(lower, -upper)


def test_quantile_of_an_array_is_infinite_at_the_ends_and_nan_beyond():
    prediction = mixture(rows=())
    values = jax.vmap(prediction.quantile)(jnp.array([-0.1, 0.0, 1.0, 1.1]))
    np.testing.assert_array_equal(values, [np.nan, -np.inf, np.inf, np.nan])


def test_quantile_has_the_derivatives_of_the_implicit_function():
    with jax.enable_x64(True):
        means, noise = jnp.array([-1.0, 0.5, 2.0]), jnp.array([0.3, 0.5, 0.1])

        def quantile(means, noise, q):
            return RegressionPrediction(means, noise).quantile(q)

        for q in (0.2, 0.8):
            arguments = (means, noise, jnp.asarray(q))
            check_grads(quantile, arguments, order=1, rtol=1e-5)


def test_quantile_is_exact_in_double_precision():
    with jax.enable_x64(True):
        prediction = RegressionPrediction(jnp.array([-1.0, 2.0]), jnp.array([0.3, 0.5]))
        for q in (1e-12, 0.3, 0.99):
            np.testing.assert_allclose(prediction.cdf(prediction.quantile(q)), q, rtol=1e-13)


# Intervals.


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_interval_holds_its_share_of_draws(level):
    prediction = mixture(rows=(3,))
    draws = prediction.draw(jax.random.key(2), 20_000)
    lower, upper = prediction.interval(level)
    inside = (lower[None] <= draws) & (draws <= upper[None])
    np.testing.assert_allclose(inside.mean(0), level, atol=5 * np.sqrt(0.25 / 20_000))
    covered = jax.vmap(lambda y: prediction.covers(y, level))(draws)
    assert jnp.mean(covered != inside) < 1e-4  # they may differ by rounding at the ends


def test_interval_leaves_equal_tails():
    prediction = mixture()
    lower, upper = prediction.interval(0.8)
    np.testing.assert_allclose(prediction.cdf(lower), 0.1, atol=1e-6)
    np.testing.assert_allclose(prediction.cdf(upper), 0.9, atol=1e-6)


def test_interval_takes_a_traced_level():
    prediction = mixture()
    ends = jax.jit(lambda level: prediction.interval(level))(jnp.asarray(0.8))
    for end, expected in zip(ends, prediction.interval(0.8), strict=True):
        np.testing.assert_allclose(end, expected, rtol=1e-6)


# Invariances and transformations.


def everything(prediction, y):
    return (
        prediction.mean,
        prediction.std,
        prediction.epistemic_std,
        prediction.noise_std,
        prediction.cdf(y),
        prediction.log_prob(y),
        prediction.quantile(0.3),
        prediction.interval(0.9),
    )


def assert_close(left, right):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), left, right)


def test_order_of_particles_does_not_matter():
    prediction, y = mixture(), jnp.linspace(-2, 2, 6)[:, None]
    order = jnp.array([2, 0, 3, 1])
    permuted = jax.tree.map(lambda leaf: leaf[order], prediction)
    assert_close(everything(permuted, y), everything(prediction, y))


def test_coincident_particles_are_one_particle():
    one, y = mixture(count=1), jnp.linspace(-2, 2, 6)[:, None]
    three = jax.tree.map(lambda leaf: jnp.repeat(leaf, 3, axis=0), one)
    assert_close(everything(three, y), everything(one, y))


def test_jit_and_vmap_agree_with_plain_calls():
    tasks = [mixture(seed) for seed in range(3)]
    y = jnp.linspace(-2, 2, 6)[:, None]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *tasks)
    batched = jax.jit(jax.vmap(everything, in_axes=(0, None)))(stacked, y)
    for index, task in enumerate(tasks):
        assert_close(jax.tree.map(lambda leaf, i=index: leaf[i], batched), everything(task, y))


@pytest.mark.parametrize("shape", [(), (1,), (4,), (4, 1), (1, 6), (4, 6, 1)])
def test_noise_lines_up_with_means_from_the_left(shape):
    means = mixture().means
    noise = jnp.full(shape, 0.3)
    y = jnp.zeros((6, 1))
    expected = everything(RegressionPrediction(means, jnp.full(4, 0.3)), y)
    assert_close(everything(RegressionPrediction(means, noise), y), expected)


def test_one_number_stands_for_a_target_at_every_row():
    prediction = mixture()
    np.testing.assert_array_equal(prediction.cdf(0.5), prediction.cdf(jnp.full((6, 1), 0.5)))
    np.testing.assert_array_equal(prediction.cdf(1), prediction.cdf(np.ones((6, 1))))


# Extremes.


@pytest.mark.parametrize("y", [1e6, -1e6, 1e9])
@pytest.mark.parametrize("noise", [1.0, 1e-4, 0.0])
def test_values_and_gradients_are_finite_far_away(y, noise):
    prediction = RegressionPrediction(jnp.array([0.0, 0.0, 1.0]), jnp.full(3, noise))
    values, gradients = jax.value_and_grad(
        lambda prediction, y: prediction.log_prob(y) + prediction.cdf(y), argnums=(0, 1)
    )(prediction, y)
    for leaf in jax.tree.leaves((values, gradients)):
        assert np.all(np.isfinite(leaf))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("noise", [0.5, 0.0])
def test_gradients_are_finite_at_coincident_particles(count, noise):
    prediction = RegressionPrediction(jnp.zeros((count, 2)), jnp.full(count, noise))
    y = jnp.array([0.0, 1.0])
    total = lambda p: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(everything(p, y)))  # noqa: E731
    value, gradient = jax.value_and_grad(total)(prediction)
    for leaf in jax.tree.leaves((value, gradient)):
        assert np.all(np.isfinite(leaf))


def test_no_noise_is_a_point_mass_at_each_particle():
    prediction = RegressionPrediction(jnp.array([-1.0, 1.0]), jnp.zeros(2))
    np.testing.assert_array_equal(prediction.noise_std, 0)
    np.testing.assert_allclose(prediction.std, 1.0)
    np.testing.assert_allclose([prediction.cdf(y) for y in (-2.0, 0.0, 2.0)], [0, 0.5, 1])
    np.testing.assert_allclose(prediction.quantile(0.3), -1.0, atol=1e-6)
    np.testing.assert_allclose(prediction.interval(0.9), (-1.0, 1.0), atol=1e-6)
    assert np.isfinite(prediction.log_prob(0.0))


def test_negative_noise_is_not_hidden():
    prediction = RegressionPrediction(jnp.zeros(2), jnp.full(2, -1.0))
    assert np.isnan(prediction.log_prob(0.0))
    assert np.isnan(prediction.noise_std)


# Mistakes.


@pytest.mark.parametrize("name", ["mean", "std", "samples"])
@pytest.mark.parametrize("shape", [(), (0, 3)])
def test_means_without_particles_are_refused(name, shape):
    with pytest.raises(ValueError, match="at least one particle"):
        getattr(RegressionPrediction(jnp.zeros(shape), jnp.array(1.0)), name)


def test_means_of_integers_are_refused():
    with pytest.raises(ValueError, match="means must be floating point"):
        _ = RegressionPrediction(jnp.array([[1], [2]]), jnp.array([0.5, 0.5])).std


@pytest.mark.parametrize("shape", [(3,), (6,), (4, 2), (4, 6, 1, 1)])
def test_noise_that_does_not_line_up_is_refused(shape):
    with pytest.raises(ValueError, match="does not line up") as error:
        _ = RegressionPrediction(mixture().means, jnp.ones(shape)).std
    assert str(shape) in str(error.value)


@pytest.mark.parametrize("shape", [(), (6,), (1, 6), (4, 6, 1)])
@pytest.mark.parametrize("name", ["residuals", "cdf", "log_prob", "covers"])
def test_targets_of_another_shape_are_refused(name, shape):
    with pytest.raises(ValueError, match="y has shape"):
        getattr(mixture(), name)(jnp.zeros(shape))


@pytest.mark.parametrize("level", [-0.1, 0, 0.0, 1, 1.0, 90.0, float("nan")])
def test_levels_outside_zero_and_one_are_refused(level):
    prediction = mixture()
    for call in (prediction.interval, prediction.quantile, lambda x: prediction.covers(0.0, x)):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            call(level)


def test_several_levels_at_once_are_refused():
    with pytest.raises(ValueError, match="one probability"):
        mixture().quantile(jnp.array([0.1, 0.9]))


def test_it_is_told_in_one_line_also_where_jax_has_put_something_else():
    prediction = mixture(count=10, rows=(500, 1))
    line = "RegressionPrediction(particles=10, means=(10, 500, 1), noise_variances=(10,))"
    assert repr(prediction) == line
    assert repr(jax.eval_shape(lambda: prediction)) == line
    assert repr(jax.tree.map(lambda _: 0, prediction)) == (
        "RegressionPrediction(means=0, noise_variances=0)"
    )
