"""Every acquisition in the registry passes the contract; each wants what its name says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.active import ACQUISITIONS
from bmaml.active.acquisitions import wanted
from bmaml.active.choice import draw_ties, ranking
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from tests.active.settings import POOL, SETTINGS

FITTING = [
    (name, kind)
    for name, one in ACQUISITIONS.items()
    for kind in SETTINGS
    if issubclass(kind, one.kind)
]
EVERY = pytest.mark.parametrize(
    ("name", "kind"), FITTING, ids=lambda value: value if isinstance(value, str) else value.__name__
)
# Rows: sure; all particles unsure in the same way; particles sure of different classes.
PROBABILITIES = jnp.array(
    [[[0.98, 0.01, 0.01], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]]] * 2
    + [[[0.98, 0.01, 0.01], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]]] * 2
)
CLASSES = ClassificationPrediction(jnp.log(PROBABILITIES))
# Rows: agreement under much noise; disagreement under little.
NUMBERS = RegressionPrediction(
    jnp.array([[[1.0], [0.0]], [[1.0], [2.0]]]), jnp.array([[[9.0], [0.1]]] * 2)
)
HAND_MADE = {ClassificationPrediction: CLASSES, RegressionPrediction: NUMBERS}


@EVERY
def test_scores_each_row(name, kind):
    prediction = HAND_MADE[kind]
    scores = jax.jit(wanted, static_argnums=0)(name, prediction)
    assert scores.shape == (prediction.samples.shape[1],)
    assert np.all(np.isfinite(scores))


@EVERY
def test_chooses_the_row_it_wants_most_and_each_row_once(name, kind):
    setting = SETTINGS[kind]
    support, pool, _ = setting.parts
    learned = setting.run(support, pool, acquisition=name)
    assert sorted(learned.chosen.tolist()) == list(range(POOL))
    adapted = jax.jit(setting.learner.adapt)(setting.initial, support)
    scores = jax.jit(lambda own, x: wanted(name, setting.learner.predict(own, x)))(adapted, pool.x)
    np.testing.assert_allclose(scores[learned.chosen[0]], np.max(scores), rtol=1e-4)


@EVERY
def test_suits_only_its_kind(name, kind):
    for other, prediction in HAND_MADE.items():
        if not issubclass(other, ACQUISITIONS[name].kind):
            with pytest.raises(ValueError, match=f"'{name}' is not for a {other.__name__}: use one of"):
                wanted(name, prediction)


@pytest.mark.parametrize(
    ("name", "prediction", "row"),
    [
        ("entropy", CLASSES, 1),
        ("mutual_information", CLASSES, 2),
        ("margin", CLASSES, 2),
        ("variance", NUMBERS, 1),
        (None, CLASSES, 1),
        (None, NUMBERS, 1),
        (lambda prediction: prediction.confidence, CLASSES, 0),
    ],
)
def test_wants_what_its_name_says(name, prediction, row):
    assert int(jnp.argmax(jax.jit(wanted, static_argnums=0)(name, prediction))) == row


def test_noise_that_is_equal_at_all_rows_changes_no_choice():
    quiet, noisy = (
        NUMBERS._replace(noise_variances=noise) for noise in jnp.array([[0.1, 0.1], [5, 9]])
    )
    np.testing.assert_array_equal(wanted("variance", quiet), wanted("variance", noisy))
    total = jnp.sum(noisy.variance, axis=1)
    assert jnp.argmax(total) == jnp.argmax(wanted("variance", noisy))


def test_mistakes_get_a_sentence():
    with pytest.raises(ValueError, match="no acquisition 'doubt': use one of entropy"):
        wanted("doubt", CLASSES)
    with pytest.raises(ValueError, match=r"shape \(\) for 3 rows"):
        wanted(lambda prediction: jnp.zeros(()), CLASSES)


def test_ranking_never_begins_with_what_is_taken():
    scores = jnp.array([jnp.inf, jnp.nan, -jnp.inf, 2.0])
    ties = jnp.zeros(4)
    order = ranking(scores, ties, jnp.array([False, True, True, False]))
    assert order.tolist() == [2, 1, 0, 3]


def test_equals_are_chosen_among_uniformly():
    def first(key):
        return ranking(jnp.array([0.0, 1.0, 1.0, 1.0]), draw_ties(key, 4))[0]

    firsts = jax.jit(jax.vmap(first))(jax.random.split(jax.random.key(0), 3000))
    counts = np.bincount(firsts, minlength=4)
    assert counts[0] == 0
    # Five standard deviations of a binomial count.
    np.testing.assert_allclose(counts[1:], 1000, atol=130)
