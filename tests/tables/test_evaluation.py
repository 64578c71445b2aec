"""Every method on the same episodes, in the units of the table, with honest means."""

import json
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas
import pytest

from bmaml.metrics import score
from bmaml.predictive import RegressionPrediction
from bmaml.tables import evaluation as module
from bmaml.tables.baselines import BASELINES
from bmaml.tables.baselines.baseline import NumberBaseline
from bmaml.tables.evaluation import choose_tasks, default_support_rows, evaluate_table
from bmaml.tables.grouping import TaskRows
from bmaml.tables.model import TableModel
from bmaml.tables.prepare import prepare
from bmaml.tasks.table import TableTasks

SCALE, SHIFT = 50.0, 1000.0


def table(kind="numbers", tasks=24):
    """Lines with an offset of their own, in units far from one; or their sign."""
    random = np.random.default_rng(0)
    frames = []
    for task in range(tasks):
        rows = 4 + task % 9
        x = random.normal(size=rows)
        y = 0.5 * x + random.normal() + 0.1 * random.normal(size=rows)
        frames.append(pandas.DataFrame({"task": f"t{task}", "x": x, "y": SHIFT + SCALE * y}))
    frame = pandas.concat(frames, ignore_index=True)
    if kind == "labels":
        frame["y"] = np.where(frame["y"] > SHIFT, "above", "below")
    return prepare(frame, task="task", target="y", test_share=0.4)


def trained(kind):
    prepared = table(kind)
    options = {"num_particles": 2, "inner_steps": 1}
    model = TableModel.fit(
        prepared, hidden=(4,), shots=5, steps=2, method_options=options, progress=False
    )
    return model, TableTasks(prepared, 5)


@pytest.fixture(scope="module")
def numbers():
    return trained("numbers")


@pytest.fixture(scope="module")
def labels():
    return trained("labels")


class Spy(NumberBaseline):
    """Predicts the mean, and remembers what it was shown."""

    about = "a spy"
    seen: list = []  # noqa: RUF012 - shared on purpose

    def gaussian(self, x, y, query_x):
        return np.full(len(query_x), self.mean), np.full(len(query_x), self.std)

    def predict_episodes(self, episodes, done):
        self.seen.append(episodes)
        return super().predict_episodes(episodes, done)


@pytest.fixture(scope="module")
def found(numbers):
    """An evaluation of the model, two spies and the pooled models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BASELINES["numbers"], "first", Spy)
        patch.setitem(BASELINES["numbers"], "second", Spy)
        names = ["first", "second", "pooled", "pooled + offset"]
        return evaluate_table(*numbers, support_rows=[0, 3], repeats=2, baselines=names)


def test_all_methods_are_shown_the_same_episodes(found):
    few, few_again, many, many_again = Spy.seen
    for one, other in ((few, few_again), (many, many_again)):
        jax.tree.map(np.testing.assert_array_equal, one, other)
    assert np.all(np.asarray(few.support.mask).sum(axis=1) == 0)
    assert np.all(np.asarray(many.support.mask).sum(axis=1) == 3)
    # With more support the query stays; every test task has more than three rows.
    jax.tree.map(np.testing.assert_array_equal, few.query, many.query)
    for rows in (0, 3):
        own, first, second, *_ = found.at(rows)
        assert (own.tasks, own.episodes) == (first.tasks, first.episodes)
        assert first.estimates == second.estimates


def test_the_models_own_scores_are_those_of_predicting_one_by_one(numbers, found):
    model, tasks = numbers
    episodes, of_task = tasks.episodes("test", 3, repeats=2)
    chosen, errors = of_task[0], []
    for index in np.flatnonzero(of_task == chosen):
        support, query = episodes[int(index)]
        known, asked = np.asarray(support.mask), np.asarray(query.mask)
        mean = model.trained.adapt(support.x[known], support.y[known]).predict(query.x).mean
        errors.append(np.mean(np.square(np.asarray(mean - query.y))[asked]))
    unit = model.encoding.targets.std
    assert 10.0 < unit < 200.0  # the table is not standardised
    assert len(errors) == 2
    own = found.at(3)[0]
    assert own.of_tasks["mse"][0] == pytest.approx(np.mean(errors) * unit**2, rel=1e-3)


def test_means_are_over_tasks(numbers, found):
    _, tasks = numbers
    for each in found.scores:
        assert each.tasks == len(tasks.prepared.parts["test"].counts) == found.available
        assert each.episodes == 2 * each.tasks
        assert each.estimates["mse"].mean == pytest.approx(each.of_tasks["mse"].mean())


def test_a_baseline_that_knows_offsets_wins_where_they_are_most_of_it(found):
    by_method = {each.method: each.estimates["mse"].mean for each in found.at(3)}
    assert by_method["pooled + offset"] < 0.7 * by_method["pooled"]
    assert found.best("mse", 3).score.method == "pooled + offset"  # the model has seen two updates
    assert found.sentences()[1].startswith(
        "At 3 support rows pooled + offset has the lowest squared error"
    )


def test_a_prediction_of_the_training_mean_has_the_variance_as_its_error(found):
    (first,) = (each for each in found.at(3) if each.method == "first")
    assert 0.3 * SCALE**2 < first.estimates["mse"].mean < 6 * SCALE**2


def test_scores_are_in_the_units_of_the_table():
    rng = np.random.default_rng(0)
    means, noise, y = (
        jnp.asarray(rng.uniform(0.5, 2.0, size=s), jnp.float32) for s in ((3, 8, 1), 3, (8, 1))
    )
    standard = score(RegressionPrediction(means, noise), y)
    unit = 7.0
    converted = module._in_units(standard, unit)
    direct = score(RegressionPrediction(unit * means, unit**2 * noise), unit * y)
    for name in ("mse", "nll", "crps", "coverage"):
        assert float(converted[name]) == pytest.approx(float(direct[name]), rel=1e-4)


def test_labels_have_accuracy_and_reliability(labels):
    model, tasks = labels
    names = ["pooled", "logistic regression per task"]
    found = evaluate_table(
        model, tasks, support_rows=[0, 4], repeats=2, baselines=names, progress=False
    )
    assert found.kind == "labels"
    assert found.methods == ("bmaml", *names)
    for each in found.scores:
        assert 0.0 <= each.estimates["accuracy"].mean <= 1.0
        assert math.isnan(each.estimates["ece"].interval)
    asked = sum(np.asarray(tasks.episodes("test", 4, repeats=2)[0][:].query.mask).sum(axis=1))
    assert found.trust[4].rows.sum() == asked
    assert found.trust[4].left[0] * asked == pytest.approx(
        round(found.trust[4].left[0] * asked), abs=1e-2
    )
    text = json.dumps(found.to_json(), allow_nan=False)
    assert json.loads(text)["trust"]["4"]["refused"][0] == 0.0


def test_the_default_numbers_of_support_rows(numbers):
    _, tasks = numbers
    assert default_support_rows(tasks) == [0, 1, 2, 5]

    def of(shots, sizes=(9,) * 4):
        counts = np.array(sizes, np.int32)
        part = TaskRows(np.zeros((1, 1), np.float32), None, counts, counts, ("",) * len(counts))
        parts = {"train": part, "test": part}
        return default_support_rows(TableTasks(replace(tasks.prepared, parts=parts), shots))

    assert of(4) == [0, 1, 2, 4]
    assert of(1) == [0, 1]
    assert of(70, [1000] * 4) == [0, 1, 2, 5, 10, 20, 50]
    assert of(90, [1000] * 4) == [0, 1, 2, 5, 10, 20, 50, 90]
    assert of(10, [2, 2, 11, 11]) == [0, 1, 2, 5, 10]
    assert of(10, [2, 2, 2, 11]) == [0, 1]


def test_of_very_many_tasks_some_are_chosen_and_few_are_asked_often():
    for available in (1, 3, 199, 200):
        chosen, repeats = choose_tasks(available)
        assert list(chosen) == list(range(available))
        assert 200 <= available * repeats < 200 + available
    chosen, repeats = choose_tasks(5000)
    assert len(set(chosen)) == 200
    assert repeats == 1
    assert chosen.max() > 4000  # not the first ones


def test_only_chosen_tasks_are_judged(numbers):
    _, tasks = numbers
    made, of_task = module._episodes(tasks, "test", 3, 2, np.array([1, 4]))
    assert sorted(of_task) == [1, 1, 4, 4]
    assert len(made) == 4
    every, numbers_of_all = tasks.episodes("test", 3, repeats=2)
    kept = every[np.flatnonzero(np.isin(numbers_of_all, [1, 4]))]
    jax.tree.map(np.testing.assert_array_equal, made[:], kept)


def test_what_cannot_be_is_named(numbers):
    model, tasks = numbers
    with pytest.raises(ValueError, match="Unknown baseline 'oracle': use some of pooled"):
        evaluate_table(model, tasks, baselines=["oracle"])
    with pytest.raises(ValueError, match="trained for 0 to 5"):
        evaluate_table(model, tasks, support_rows=[6], baselines=())
    with pytest.raises(ValueError, match="at least one"):
        evaluate_table(model, tasks, support_rows=[], baselines=())
    with pytest.raises(ValueError, match="repeats is 0"):
        evaluate_table(model, tasks, repeats=0, baselines=())
    with pytest.raises(ValueError, match="No test task has more than 5 rows"):
        module._episodes(
            tasks, "test", 5, 1, np.array([int(np.argmin(tasks.prepared.parts["test"].counts))])
        )
