"""A trained learner: clear about its inputs, fast when warm, the same after loading."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bmaml
from bmaml.errors import BmamlError, RunError
from bmaml.inner import GradientDescent
from bmaml.learner import Learner, MetaOptimizer
from bmaml.meta import Validation
from bmaml.models import conv, mlp
from bmaml.posterior import FlatPrior, Posterior, SquaredError
from bmaml.presets import maml
from bmaml.recipe import Recipe
from bmaml.tasks import Arrays, Data
from bmaml.train import fit_seeds
from bmaml.trained import Trained
from tests.test_train import TASKS, compile_once  # noqa: F401 - a fixture for all tests here.


def make_learner(width=8):
    posterior = Posterior(mlp(1, 1, hidden=(width,)), SquaredError(), FlatPrior())
    inner = GradientDescent(0.01, step_control=False)
    return Learner(posterior, inner, Validation(), num_particles=2)


LEARNER = make_learner()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run with two seeds, and its results."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    options = {"batch_size": 4, "validate_every": 5, "progress": False}
    return folder, fit_seeds(LEARNER, TASKS, steps=12, seeds=[0, 4], out=folder, **options)


@pytest.fixture(scope="module")
def trained(run):
    return run[1][0]


X, Y = np.array([[0.5], [1.0], [-2.0]]), np.array([[1.0], [0.3], [2.0]])


def test_adapts_and_predicts(trained):
    prediction = trained.adapt(X, Y).predict(X)
    assert prediction.samples.shape == (2, 3, 1)
    more = trained.adapt(X, Y, steps=50).predict(X)
    assert np.mean((more.mean - Y) ** 2) < np.mean((prediction.mean - Y) ** 2)


def test_what_is_trained_and_adapted_is_told_in_one_line(trained):
    shapes = "x=(rows, 1), y=(rows, 1)"
    expected = f"Trained(custom, particles=2, update={trained.step} of 12, seed=0, {shapes})"
    assert repr(trained) == expected
    told = "AdaptedPosterior(custom, particles=2, rows=3, steps={}, " + shapes + ")"
    assert repr(trained.adapt(X, Y)) == told.format(1)
    assert repr(trained.adapt(X, Y, steps=7)) == told.format(7)


def test_evaluating_a_source_is_evaluating_its_test_tasks(trained):
    source = Arrays(TASKS.train, TASKS.validation, TASKS.validation)
    assert trained.evaluate(source) == trained.evaluate(TASKS.validation)


def test_lists_and_flat_targets_are_welcome(trained):
    left = trained.adapt(X.tolist(), [1.0, 0.3, 2.0]).predict(X.tolist())
    np.testing.assert_array_equal(left.mean, trained.adapt(X, Y).predict(X).mean)


def test_no_steps_leave_the_particles_alone(trained):
    adapted = trained.adapt(X, Y, steps=0)
    jax.tree.map(np.testing.assert_array_equal, adapted.particles, trained.particles)


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        ([[np.nan], [1.0]], [1.0, 2.0], "x contains NaN or infinity"),
        ([[0.0], [1.0]], [1.0, np.inf], "y contains NaN or infinity"),
        ([[0.0], [1e300]], [1.0, 2.0], "x contains NaN or infinity"),
        ([0.0, 1.0], [1.0, 2.0], r"x has shape \(2,\).*shape \(rows, 1\)"),
        ([[0.0], [1.0]], [[[1.0]], [[2.0]]], r"y has shape \(2, 1, 1\)"),
        ([[0.0], [1.0]], [1.0, 2.0, 3.0], "x has 2 rows and y has 3"),
        (np.zeros((0, 1)), np.zeros((0, 1)), "x has no rows"),
        ([[0.0, 1.0]], [1.0], r"x has rows of shape \(2,\).*\(1,\)"),
        ([[0.0]], [[1.0, 2.0]], r"y has rows of shape \(2,\)"),
        ([["a"]], [1.0], "x is not an array of numbers"),
        ([[1j]], [1.0], "x is not an array of numbers: complex numbers"),
        ([[0.0], [1.0, 2.0]], [1.0, 2.0], "x is not an array of numbers"),
    ],
)
def test_wrong_data_is_told_in_a_sentence(trained, x, y, told):
    with pytest.raises(ValueError, match=told) as caught:
        trained.adapt(x, y)
    assert "\n" not in str(caught.value)


def test_wrong_inputs_of_a_prediction_and_negative_steps(trained):
    with pytest.raises(ValueError, match="x contains NaN"):
        trained.adapt(X, Y).predict([[np.nan]])
    with pytest.raises(ValueError, match="steps is -1"):
        trained.adapt(X, Y, steps=-1)


def test_padded_query_rows_are_not_scored(trained):
    tasks = TASKS.held_out("validation")
    rows = tasks.query.y.shape[1]
    mask = np.broadcast_to(np.arange(rows) < rows // 2, tasks.query.y.shape[:2])
    fewer = Data(tasks.query.x[:, : rows // 2], tasks.query.y[:, : rows // 2])
    expected = trained.evaluate(tasks._replace(query=fewer))
    found = trained.evaluate(tasks._replace(query=tasks.query._replace(mask=mask)))
    assert found == pytest.approx(expected, rel=1e-4)


def test_compiles_once_for_each_shape_and_for_all_seeds(run):
    first, second = run[1]
    first.adapt(X, Y).predict(X)
    sizes = first.compiled.adapt._cache_size(), first.compiled.predict._cache_size()
    for trained in (first, second):
        for shift in (0.0, 1.0):
            trained.adapt(X + shift, Y - shift).predict(X - shift)
    assert (first.compiled.adapt._cache_size(), first.compiled.predict._cache_size()) == sizes


def test_a_transformation_is_pointed_to_the_pure_functions(run):
    trained = run[1][0]
    with pytest.raises(TypeError, match=r"x is being traced .* trained\.learner\.adapt"):
        jax.jit(lambda x: trained.adapt(x, jnp.ones((2, 1))).predict(x).mean)(jnp.zeros((2, 1)))


@pytest.mark.parametrize("index", [0, 1])
def test_loading_gives_the_same_bits(run, index):
    folder, results = run
    original = results[index]
    best = Trained.load(folder, LEARNER, seed=original.seed)
    jax.tree.map(np.testing.assert_array_equal, best.particles, original.particles)
    jax.tree.map(np.testing.assert_array_equal, best.last, original.last)
    assert (best.step, best.history) == (original.step, original.history)
    last = Trained.load(folder, LEARNER, "last", seed=original.seed)
    jax.tree.map(np.testing.assert_array_equal, last.particles, original.last.particles)
    assert last.step == 12


def test_a_run_of_the_command_line_is_loaded_by_its_folder_alone(tmp_path):
    recipe = Recipe("sinusoid", "maml", {"step_size": 0.03}, {"num_tasks": 4}, {"hidden": (5,)})
    with pytest.raises(RunError, match="not a run folder"):
        Trained.load(tmp_path / "run")
    trained = bmaml.fit(
        recipe.learner(),
        recipe.task_source(),
        steps=2,
        batch_size=4,
        out=tmp_path / "run",
        description=recipe.to_json(),
        progress=False,
    )
    loaded = Trained.load(tmp_path / "run")
    assert loaded.learner.describe() == trained.learner.describe()
    np.testing.assert_array_equal(
        loaded.adapt(X, Y).predict(X).mean, trained.adapt(X, Y).predict(X).mean
    )


def test_loading_what_has_no_recipe_asks_for_the_learner(run, tmp_path):
    with pytest.raises(RunError, match=r"no description .* Trained\.load\(folder, learner\)"):
        Trained.load(run[0])
    with pytest.raises(BmamlError, match=r"policies.*TrainedPolicies"):
        Recipe.from_json({"reinforcement": {}})


def test_loading_to_adapt_otherwise_than_trained_is_warned_of(run):
    folder, _ = run
    longer = replace(LEARNER, inner=replace(LEARNER.inner, steps=7))
    with pytest.warns(UserWarning, match=r"inner\.steps 1, and is loaded with 7"):
        assert Trained.load(folder, longer).learner.inner.steps == 7
    other_training = replace(LEARNER, optimizer=MetaOptimizer(0.5), name="mine")
    Trained.load(folder, other_training)  # Predictions do not depend on these: no warning.


def test_loading_with_another_model_seed_or_folder_is_refused(run, tmp_path):
    folder, _ = run
    with pytest.raises(RunError, match="another model"):
        Trained.load(folder, make_learner(9))
    with pytest.raises(RunError, match="another model"):
        Trained.load(folder, maml(conv(5)))  # which refuses such inputs itself
    with pytest.raises(RunError, match=r"seeds \[0, 4\], but not 1"):
        Trained.load(folder, LEARNER, seed=1)
    with pytest.raises(RunError, match="not a run folder"):
        Trained.load(tmp_path, LEARNER)
