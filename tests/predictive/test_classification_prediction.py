"""The mixture of class probabilities: against NumPy, at its limits, and at extreme logits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp, softmax

from bmaml.predictive import ClassificationPrediction


@st.composite
def predictions(draw):
    # Few shapes, so that few programs are compiled.
    count = draw(st.sampled_from([1, 2, 5]))
    # Bounds that float32 holds exactly.
    size = draw(st.sampled_from([1.0, 16.0, 8192.0]))
    elements = st.floats(-size, size, width=32)
    logits = draw(hnp.arrays(np.float32, (count, 3, 4), elements=elements))
    return ClassificationPrediction(jnp.asarray(logits))


def mixture(seed=0, count=4, rows=(6,), classes=5):
    logits = 3 * jax.random.normal(jax.random.key(seed), (count, *rows, classes))
    return ClassificationPrediction(logits)


@jax.jit
def everything(prediction, y):
    return {
        "samples": prediction.samples,
        "probabilities": prediction.probabilities,
        "log_probabilities": prediction.log_probabilities,
        "confidence": prediction.confidence,
        "margin": prediction.margin,
        "epistemic_std": prediction.epistemic_std,
        "entropy": prediction.entropy,
        "expected_entropy": prediction.expected_entropy,
        "mutual_information": prediction.mutual_information,
        "log_prob": prediction.log_prob(y),
    }


def sure_of(classes, num_classes=4, size=1e4):
    """One particle for each class given, certain of it, at one row."""
    return ClassificationPrediction(size * jax.nn.one_hot(jnp.array(classes), num_classes)[:, None])


# Definitions.


def test_values_are_numpys():
    prediction, y = mixture(), jnp.array([0, 1, 2, 3, 4, 0])
    p = softmax(np.asarray(prediction.logits, np.float64), axis=-1)
    mean = p.mean(0)
    ordered = np.sort(mean, axis=-1)
    entropy = -(mean * np.log(mean)).sum(-1)
    expected_entropy = -(p * np.log(p)).sum(-1).mean(0)
    expected = {
        "samples": p,
        "probabilities": mean,
        "log_probabilities": np.log(mean),
        "confidence": ordered[:, -1],
        "margin": ordered[:, -1] - ordered[:, -2],
        "epistemic_std": p.std(0),
        "entropy": entropy,
        "expected_entropy": expected_entropy,
        "mutual_information": entropy - expected_entropy,
        "log_prob": np.log(mean[np.arange(6), y]),
    }
    for name, value in everything(prediction, y).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(prediction.labels, mean.argmax(-1))
    np.testing.assert_array_equal(prediction.particle_labels, p.argmax(-1))


def test_log_probabilities_keep_what_probabilities_round_to_zero():
    logits = jnp.array([[[0.0, -300.0]], [[0.0, -301.0]]])
    prediction = ClassificationPrediction(logits)
    assert prediction.probabilities[0, 1] == 0
    expected = logsumexp([-300.0, -301.0]) - np.log(2)
    np.testing.assert_allclose(prediction.log_prob(1), [expected], rtol=1e-6)


@given(predictions())
@settings(max_examples=40, deadline=None)
def test_values_stay_in_their_ranges(prediction):
    values = everything(prediction, jnp.array([0, 3, 1]))
    assert all(np.all(np.isfinite(value)) for value in values.values())
    classes, rounding = 4, 1e-5
    np.testing.assert_allclose(jnp.sum(values["probabilities"], axis=-1), 1.0, atol=rounding)
    assert np.all(values["log_probabilities"] <= 0)
    assert np.all((values["confidence"] >= 1 / classes - rounding) & (values["confidence"] <= 1))
    assert np.all((values["margin"] >= 0) & (values["margin"] <= values["confidence"]))
    assert np.all((values["entropy"] >= 0) & (values["entropy"] <= np.log(classes) + rounding))
    assert np.all(values["expected_entropy"] >= 0)
    assert np.all(values["mutual_information"] >= 0)
    most = np.log(min(classes, prediction.logits.shape[0]))
    assert np.all(values["mutual_information"] <= most + rounding)
    gap = values["entropy"] - values["expected_entropy"]
    np.testing.assert_allclose(values["mutual_information"], gap, atol=rounding)


@given(predictions(), st.floats(-64, 64, width=32))
@settings(max_examples=20, deadline=None)
def test_adding_a_constant_to_the_logits_changes_nothing(prediction, constant):
    # Whole numbers, whose sums are exact.
    whole = ClassificationPrediction(jnp.round(prediction.logits))
    moved = ClassificationPrediction(whole.logits + jnp.round(constant))
    y = jnp.array([0, 1, 2])
    jax.tree.map(np.testing.assert_array_equal, everything(moved, y), everything(whole, y))


# Limits.


@pytest.mark.parametrize("copies", [1, 3, 7, 41])
def test_particles_that_agree_are_one_particle_without_mutual_information(copies):
    one, y = mixture(count=1), jnp.array([0, 1, 2, 3, 4, 0])
    several = ClassificationPrediction(jnp.repeat(one.logits, copies, axis=0))
    np.testing.assert_allclose(several.mutual_information, 0, atol=1e-6)
    np.testing.assert_allclose(several.epistemic_std, 0, atol=1e-6)
    np.testing.assert_allclose(several.log_prob(y), one.log_prob(y), rtol=1e-6)
    np.testing.assert_array_equal(one.mutual_information, 0)
    np.testing.assert_array_equal(one.entropy, one.expected_entropy)


@pytest.mark.parametrize("classes", [2, 5, 100])
def test_no_preference_has_the_entropy_log_c(classes):
    prediction = ClassificationPrediction(jnp.full((3, 2, classes), 7.0))
    np.testing.assert_allclose(prediction.entropy, np.log(classes), rtol=1e-5)
    np.testing.assert_allclose(prediction.expected_entropy, np.log(classes), rtol=1e-5)
    np.testing.assert_array_equal(prediction.mutual_information, 0)
    np.testing.assert_array_equal(prediction.margin, 0)
    np.testing.assert_allclose(prediction.confidence, 1 / classes, rtol=1e-6)


@pytest.mark.parametrize("classes", [(0, 1), (2, 0, 3), (0, 1, 2, 3)])
def test_particles_sure_of_different_classes_are_all_mutual_information(classes):
    prediction = sure_of(classes)
    np.testing.assert_allclose(prediction.entropy, np.log(len(classes)), rtol=1e-6)
    np.testing.assert_array_equal(prediction.expected_entropy, 0)
    np.testing.assert_allclose(prediction.mutual_information, prediction.entropy, rtol=1e-6)


def test_particles_sure_of_the_same_class_are_certain():
    prediction = sure_of((2, 2, 2))
    np.testing.assert_array_equal(prediction.labels, [2])
    np.testing.assert_array_equal(prediction.log_prob(2), [0.0])
    for name in ("confidence", "margin"):
        np.testing.assert_array_equal(getattr(prediction, name), [1.0])
    for name in ("entropy", "expected_entropy", "mutual_information"):
        np.testing.assert_array_equal(getattr(prediction, name), [0.0])


def test_the_mean_of_probabilities_may_choose_what_the_mean_of_logits_would_not():
    logits = jnp.array([[[0.0, -20.0]], [[0.0, 1.0]], [[0.0, 1.0]]])
    assert ClassificationPrediction(logits).labels == 0
    logits = jnp.array([[[0.0, -20.0]], [[0.0, 3.0]], [[0.0, 3.0]]])
    assert ClassificationPrediction(logits).labels == 1


# Extremes.


@jax.jit
@jax.value_and_grad
def total_of_everything(logits, y):
    values = everything(ClassificationPrediction(logits), y)
    # −∞ for what is ruled out, as it should be.
    return sum(jnp.sum(value) for name, value in values.items() if name != "log_probabilities")


@pytest.mark.parametrize("classes", [(1, 1), (0, 2)])
def test_values_and_gradients_are_finite_at_extreme_logits(classes):
    for size in (1e4, 1e30, 3e38, np.inf):
        sure = jnp.stack([jnp.where(jnp.arange(4) == c, 0.0, -size) for c in classes])[:, None]
        logits = sure.astype(jnp.float32) + (size if np.isfinite(size) else 0.0)
        value, gradient = total_of_everything(logits, jnp.array([classes[0]]))
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))


def test_an_infinite_logit_rules_a_class_out():
    allowed = mixture(classes=3)
    refused = jnp.full((*allowed.logits.shape[:-1], 1), -jnp.inf)
    prediction = ClassificationPrediction(jnp.concatenate([allowed.logits, refused], axis=-1))
    for name in ("entropy", "expected_entropy", "mutual_information", "margin"):
        np.testing.assert_allclose(
            getattr(prediction, name), getattr(allowed, name), rtol=1e-5, atol=1e-7
        )
    np.testing.assert_array_equal(prediction.log_prob(3), -np.inf)


@pytest.mark.parametrize("count", [1, 3])
def test_gradients_are_finite_at_coincident_particles(count):
    _, gradient = total_of_everything(jnp.ones((count, 2, 3)), jnp.array([0, 1]))
    assert np.all(np.isfinite(gradient))


# Transformations.


def test_order_of_particles_does_not_matter():
    prediction, y = mixture(), jnp.array([0, 1, 2, 3, 4, 0])
    permuted = ClassificationPrediction(prediction.logits[jnp.array([2, 0, 3, 1])])
    for name, value in everything(permuted, y).items():
        if name != "samples":
            np.testing.assert_allclose(value, everything(prediction, y)[name], rtol=1e-4, atol=1e-6)


def test_jit_and_vmap_agree_with_plain_calls():
    tasks, y = [mixture(seed) for seed in range(3)], jnp.array([0, 1, 2, 3, 4, 0])
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *tasks)
    batched = jax.jit(jax.vmap(everything, in_axes=(0, None)))(stacked, y)
    for index, task in enumerate(tasks):
        for name, value in everything(task, y).items():
            np.testing.assert_allclose(batched[name][index], value, rtol=1e-4, atol=1e-6)


def test_rows_have_any_shape():
    flat = mixture(rows=(6,))
    grid = ClassificationPrediction(flat.logits.reshape(4, 2, 3, 5))
    y = jnp.array([0, 1, 2, 3, 4, 0])
    np.testing.assert_array_equal(grid.log_prob(y.reshape(2, 3)).reshape(-1), flat.log_prob(y))
    np.testing.assert_array_equal(grid.labels.reshape(-1), flat.labels)


def test_double_precision_is_kept():
    with jax.enable_x64(True):
        prediction = ClassificationPrediction(jnp.log(jnp.array([[[0.9, 0.1]], [[0.5, 0.5]]])))
        np.testing.assert_allclose(prediction.probabilities, [[0.7, 0.3]], rtol=1e-14)
        np.testing.assert_allclose(prediction.log_prob(np.array([1])), np.log(0.3), rtol=1e-14)
        assert prediction.labels == jnp.array([0], jnp.int32)


# Mistakes.


def test_labels_that_are_no_class_give_nan():
    log_prob = mixture(rows=(4,)).log_prob(jnp.array([0, 5, -1, 4]))
    np.testing.assert_array_equal(np.isnan(log_prob), [False, True, True, False])


@pytest.mark.parametrize("shape", [(), (5,), (6, 1), (1, 6)])
def test_labels_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match="y has shape"):
        mixture().log_prob(jnp.zeros(shape, jnp.int32))


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int32])
def test_labels_of_any_integer_type_are_taken(dtype):
    y = np.array([0, 1, 2, 3, 4, 0])
    np.testing.assert_array_equal(
        mixture().log_prob(y.astype(dtype)), mixture().log_prob(jnp.asarray(y))
    )


@pytest.mark.parametrize("shape", [(), (3,), (0, 2, 3), (2, 3, 1)])
def test_logits_without_particles_or_classes_are_refused(shape):
    with pytest.raises(ValueError, match=r"at least one particle .* two classes"):
        _ = ClassificationPrediction(jnp.zeros(shape)).probabilities


def test_logits_of_integers_are_refused():
    with pytest.raises(ValueError, match="logits must be floating point"):
        _ = ClassificationPrediction(jnp.zeros((1, 2, 3), jnp.int32)).entropy


def test_it_is_told_in_one_line():
    told = repr(mixture(count=10, rows=(500,)))
    assert told == "ClassificationPrediction(particles=10, logits=(10, 500, 5))"
