import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bmaml.models import mlp
from bmaml.posterior import (
    LIKELIHOODS,
    PRIORS,
    Gamma,
    GaussianLikelihood,
    GaussianPrior,
    Posterior,
    SquaredError,
)
from tests.helpers import one_task


def test_gamma_density_includes_the_jacobian():
    gamma = Gamma(2.0, 0.2)
    points = np.array([0.3, 1.0, 7.0])
    ours = [float(gamma.log_density_of_log(jnp.log(jnp.asarray(p, jnp.float32)))) for p in points]
    truth = stats.gamma(a=2.0, scale=1 / 0.2).logpdf(points) + np.log(points)
    np.testing.assert_allclose(np.diff(ours), np.diff(truth), rtol=1e-5)


def test_gaussian_log_density_equals_the_sum_of_its_parts():
    model = mlp(1, 1, hidden=(3,))
    posterior = Posterior(model, GaussianLikelihood(4.0), GaussianPrior(0.5))
    task = one_task()

    def truth(particle):
        gamma, lam = np.exp(float(particle.likelihood)), np.exp(float(particle.prior))
        outputs = np.asarray(model.apply(particle.weights, task.support.x))
        weights = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(particle.weights)])
        return (
            stats.norm(outputs, gamma**-0.5).logpdf(np.asarray(task.support.y)).sum()
            + stats.norm(0, lam**-0.5).logpdf(weights).sum()
            + stats.gamma(a=2.0, scale=1 / 0.2).logpdf(gamma)
            + np.log(gamma)
            + stats.gamma(a=2.0, scale=1 / 2.0).logpdf(lam)
            + np.log(lam)
        )

    first = posterior.init(jax.random.key(0), task.support.x)
    second = posterior.init(jax.random.key(1), task.support.x)
    second = second._replace(likelihood=second.likelihood + 0.7, prior=second.prior - 0.4)
    ours = posterior.log_density(second, task.support) - posterior.log_density(first, task.support)
    np.testing.assert_allclose(ours, truth(second) - truth(first), rtol=1e-4)


@pytest.mark.parametrize("name", list(LIKELIHOODS))
def test_every_likelihood_refuses_targets_of_another_shape(name):
    likelihood = LIKELIHOODS[name]()
    with pytest.raises(ValueError, match="reshape the targets"):
        likelihood.log_prob(likelihood.init(), jnp.zeros((4, 1)), jnp.zeros((4,)))


# Outputs that fit the targets, by the kind of targets that a likelihood takes.
TRUTHS = {
    "mse": (jnp.ones((4, 1)), jnp.ones((4, 1))),
    "accuracy": (5.0 * jnp.eye(4), jnp.arange(4)),
}


@pytest.mark.parametrize("name", list(LIKELIHOODS))
def test_every_likelihood_is_best_at_the_truth_and_predicts_a_mixture(name):
    likelihood = LIKELIHOODS[name]()
    variables = likelihood.init()
    outputs, y = TRUTHS[likelihood.selection[0]]
    at_truth = likelihood.log_prob(variables, outputs, y)
    assert float(at_truth) > float(likelihood.log_prob(variables, -outputs, y))
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), variables)
    prediction = likelihood.prediction(stacked, jnp.stack([outputs, outputs]))
    assert prediction.log_prob(y).shape == y.shape


@pytest.mark.parametrize("name", list(LIKELIHOODS))
def test_rows_that_are_masked_count_for_nothing(name):
    likelihood = LIKELIHOODS[name]()
    variables = likelihood.init()
    outputs, y = TRUTHS[likelihood.selection[0]]
    mask = jnp.array([True, False, True, False])
    for loss in (likelihood.log_prob, likelihood.validation_loss):
        value, slope = jax.value_and_grad(loss, argnums=1)(variables, outputs, y, mask)
        expected = loss(variables, outputs[::2], y[::2])
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        assert np.all(slope[1::2] == 0)
        assert float(loss(variables, outputs, y, jnp.zeros(4, bool))) == 0


@pytest.mark.parametrize("name", list(PRIORS))
def test_every_prior_gives_a_finite_density_and_gradient(name):
    prior = PRIORS[name]()
    weights = {"w": jnp.arange(3.0)}
    gradient = jax.grad(lambda w: jnp.asarray(prior.log_prob(prior.init(), w)))(weights)
    assert np.all(np.isfinite(gradient["w"]))


def test_squared_error_trains_the_network_on_the_squared_error_alone():
    likelihood = SquaredError()
    y = jnp.array([[1.0], [2.0]])
    outputs = jnp.zeros((2, 1))
    gradient = jax.grad(likelihood.validation_loss, argnums=1)(jnp.asarray(3.0), outputs, y)
    np.testing.assert_allclose(gradient, 2.0 * (outputs - y) / 2, rtol=1e-6)


def test_the_noise_level_of_squared_error_learns_the_mean_squared_residual():
    likelihood = SquaredError()
    y = jnp.array([[1.0], [3.0]])
    at_optimum = -jnp.log(jnp.asarray(5.0))
    slope = jax.grad(likelihood.validation_loss)(at_optimum, jnp.zeros((2, 1)), y)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)
