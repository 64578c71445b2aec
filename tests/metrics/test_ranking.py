"""Ranking by uncertainty: against counting all pairs, and at its limits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bmaml.metrics import auroc, refusal_curve

# Few different values, so that there are ties.
scores = st.sampled_from([1, 7]).flatmap(
    lambda count: hnp.arrays(np.float32, count, elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0]))
)


@given(scores, scores)
@settings(max_examples=40, deadline=None)
def test_auroc_counts_pairs_and_half_of_ties(positive, negative):
    s, t = positive[:, None], negative[None]
    expected = np.mean((s > t) + 0.5 * (s == t))
    np.testing.assert_allclose(auroc(jnp.asarray(positive), jnp.asarray(negative)), expected, rtol=1e-6)
    swapped = auroc(jnp.asarray(negative), jnp.asarray(positive))
    np.testing.assert_allclose(swapped, 1 - expected, rtol=1e-6, atol=1e-7)


def test_auroc_is_one_for_a_separation_and_a_half_for_chance():
    values = jnp.arange(10.0).reshape(2, 5)
    assert auroc(values + 10, values) == 1
    assert auroc(values, values + 10) == 0
    assert jax.jit(auroc)(jnp.ones(3), jnp.ones(4)) == 0.5


def test_auroc_does_not_change_under_a_rising_function():
    positive, negative = jax.random.normal(jax.random.key(0), (2, 50))
    np.testing.assert_array_equal(
        auroc(jnp.exp(positive), jnp.exp(negative)), auroc(positive, negative)
    )


def test_auroc_does_not_hide_nan_and_refuses_nothing_to_compare():
    assert np.isnan(auroc(jnp.array([1.0, jnp.nan]), jnp.zeros(3)))
    assert np.isnan(auroc(jnp.ones(3), jnp.array([1.0, jnp.nan])))
    with pytest.raises(ValueError, match="0 positive and 3 negative"):
        auroc(jnp.zeros(0), jnp.zeros(3))


def test_the_refusal_curve_starts_at_the_accuracy_and_rises_if_mistakes_are_uncertain():
    correct = jnp.array([True, False, True, True, False])
    curve = jax.jit(refusal_curve)(jnp.array([0.1, 0.8, 0.2, 0.3, 0.9]), correct)
    np.testing.assert_allclose(curve.refused, [0, 0.2, 0.4, 0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(curve.accuracy, [0.6, 0.75, 1, 1, 1], rtol=1e-6)


def test_the_refusal_curve_of_a_constant_uncertainty_is_flat():
    correct = jnp.array([[True, False], [True, True]])
    np.testing.assert_allclose(refusal_curve(jnp.ones((2, 2)), correct).accuracy, 0.75, rtol=1e-6)


def test_ties_count_as_the_mean_over_their_orders():
    uncertainty, correct = np.array([0.1, 0.5, 0.5, 0.9]), np.array([True, True, False, False])
    distinct = [uncertainty + np.array([0, 0, e, 0]) for e in (-0.1, 0.1)]
    curves = [
        refusal_curve(jnp.asarray(u, jnp.float32), jnp.asarray(correct)).accuracy for u in distinct
    ]
    tied = refusal_curve(jnp.asarray(uncertainty, jnp.float32), jnp.asarray(correct)).accuracy
    np.testing.assert_allclose(tied, np.mean(curves, axis=0), rtol=1e-6)
