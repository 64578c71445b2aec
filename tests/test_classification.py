"""Classification from end to end: every method on image episodes."""

import jax
import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.novelty import novelty_auroc
from bmaml.presets import METHODS
from bmaml.recipe import Recipe
from bmaml.train import fit

TASKS = {"ways": 3, "validation_tasks": 2, "test_tasks": 2, "held_out_query": 2}


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Glyphs are drawn once for all workers' tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BMAML_CACHE", str(tmp_path_factory.mktemp("glyphs")))
        yield


def train(method, **model_options):
    particles = {} if method in ("maml", "fomaml") else {"num_particles": 2}
    options = {"inner_steps": 1, **particles}
    recipe = Recipe("glyphs", method, options, TASKS, {"filters": 4, **model_options})
    source = recipe.task_source()
    return source, fit(recipe.learner(), source, steps=2, batch_size=2, progress=False)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_trains_adapts_and_predicts(method):
    source, trained = train(method)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(trained.particles))
    task = source.held_out("test")[0]
    prediction = trained.adapt(task.support.x, task.support.y).predict(task.query.x)
    assert prediction.probabilities.shape == (6, 3)
    np.testing.assert_allclose(np.sum(prediction.probabilities, axis=1), 1.0, rtol=1e-5)
    if method == "bmaml":
        _labels_are_checked(trained, task)
        _unknown_classes_are_scored(trained, source)


def _labels_are_checked(trained, task):
    with pytest.raises(ValueError, match="numbered 0 to 2"):
        trained.adapt(task.support.x, [0, 1, 3])
    with pytest.raises(ValueError, match="whole numbers"):
        trained.adapt(task.support.x, [0.0, 0.5, 1.0])


def _unknown_classes_are_scored(trained, source):
    scores = novelty_auroc(trained, source.held_out_with_unknown("test"))
    assert set(scores) == {"entropy", "mutual_information", "confidence"}
    assert all(0 <= score <= 1 for score in scores.values())
    with pytest.raises(ValueError, match="unknown classes"):
        novelty_auroc(trained, source.held_out("test"))


def test_a_transductive_network_is_told_the_query():
    source, trained = train("emaml", norm="transductive")
    task = source.held_out("test")[0]
    with pytest.raises(ValueError, match="query_x"):
        trained.adapt(task.support.x, task.support.y)
    posterior = trained.adapt(task.support.x, task.support.y, query_x=task.query.x)
    assert posterior.predict(task.query.x).labels.shape == (6,)
    assert 0 <= trained.evaluate(source.held_out("test"))["accuracy"] <= 1


def test_wrong_networks_and_settings_are_refused_in_a_sentence():
    with pytest.raises(BmamlError, match="no code for classification"):
        Recipe("glyphs", "bmaml", {"settings": "authors"}).learner()
    with pytest.raises(BmamlError, match="Unknown tasks"):
        Recipe("letters", "bmaml").learner()
