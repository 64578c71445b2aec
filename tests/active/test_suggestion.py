"""Which rows to label next."""

from functools import partial

import jax
import numpy as np
import pytest

from bmaml.active import suggest
from bmaml.active.acquisitions import wanted
from bmaml.trained import AdaptedPosterior, Compiled
from bmaml.training_state import Example
from tests.active.settings import CLASSES, POOL, SETTINGS


def posterior_of(setting):
    example = Example.of(setting.parts[0])
    return AdaptedPosterior(setting.initial, example, Compiled(setting.learner))


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=["classes", "numbers"])
def test_suggests_the_most_wanted_rows(setting):
    posterior, pool_x = posterior_of(setting), np.asarray(setting.parts[1].x)
    scores = np.asarray(jax.jit(partial(wanted, None))(posterior.predict(pool_x)))
    suggestion = suggest(posterior, pool_x.tolist(), count=3)
    np.testing.assert_array_equal(suggestion.indices, np.argsort(-scores)[:3])
    np.testing.assert_allclose(suggestion.scores, scores[suggestion.indices], rtol=1e-5)
    assert all(isinstance(part, np.ndarray) for part in suggestion)
    assert suggest(posterior, pool_x).indices.tolist() == suggestion.indices[:1].tolist()


def test_random_suggestions_follow_the_key():
    posterior, pool_x = posterior_of(CLASSES), CLASSES.parts[1].x
    ask = partial(suggest, posterior, pool_x, POOL, "random")
    orders = [ask(key=jax.random.key(seed)).indices.tolist() for seed in (0, 1, 0)]
    assert orders[0] == orders[2] == ask().indices.tolist() != orders[1]
    assert sorted(orders[1]) == list(range(POOL))


def test_mistakes_get_a_sentence():
    posterior, pool_x = posterior_of(CLASSES), CLASSES.parts[1].x
    with pytest.raises(ValueError, match="7 labels were asked of a pool of 6 rows"):
        suggest(posterior, pool_x, count=7)
    with pytest.raises(ValueError, match="-1 labels"):
        suggest(posterior, pool_x, count=-1)
    with pytest.raises(ValueError, match="has no rows"):
        suggest(posterior, np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"rows of shape \(3,\)"):
        suggest(posterior, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="'variance' is not for a ClassificationPrediction"):
        suggest(posterior, pool_x, acquisition="variance")
