import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from bmaml.active import curve
from bmaml.errors import BmamlError
from bmaml.experiments import active, classification, result_files
from bmaml.experiments.classification import SCALES, Scale
from bmaml.trained import Trained

TINY = Scale(
    tasks="glyphs",
    steps=2,
    batch_size=2,
    seeds=(0,),
    num_tasks=(None, 4),
    methods=(("maml", 1), ("emaml", 5), ("bmaml", 5)),
    step_sizes=(0.1,),
    tuning_steps=1,
    validations=1,
    task_options=(("validation_tasks", 2), ("test_tasks", 3), ("held_out_query", 5)),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("classification")
    classification.reproduce(TINY, out, only="Tendless", progress=False)
    return out


def test_writes_tables_and_pictures(finished):
    rows = list(csv.DictReader((finished / "results.csv").read_text().splitlines()))
    assert [row["method"] for row in rows] == ["maml", "maml", "emaml", "emaml", "bmaml", "bmaml"]
    assert [row["adaptation"] for row in rows] == 3 * ["trained", "chosen"]
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)
    assert all(0 <= float(row["unknown_auroc_entropy"]) <= 1 for row in rows[::2])
    for name in ("curves", "particles", "episodes"):
        for suffix in ("png", "svg"):
            assert (finished / f"{name}.{suffix}").stat().st_size > 1000


def test_validation_tasks_choose_the_steps_of_adaptation(finished):
    record = json.loads((finished / "parts" / "Tendless-bmaml-M5-seed0.json").read_text())
    tried = {
        int(steps): scores["accuracy"]
        for steps, scores in record["validation_by_adaptation_steps"].items()
    }
    trained, chosen = record["adaptation_steps"]["trained"], record["adaptation_steps"]["chosen"]
    assert set(tried) == {trained, *classification.ADAPTATION_STEPS}
    assert tried[chosen] == max(tried.values())
    part = classification.parts(TINY)[2]
    learner = Trained.load(classification.result_files.run_path(finished, part, 0))
    again = learner.evaluate(part.recipe(None).task_source().held_out("test"), steps=chosen)
    assert record["test_chosen_steps"] == pytest.approx(again, rel=1e-4)


def test_of_an_unfinished_experiment_what_there_is_is_drawn(finished):
    larger = replace(TINY, methods=(*TINY.methods, ("emaml", 9), ("bmaml", 3)))
    found = classification.trained_runs(classification.parts(larger), larger, finished)
    assert list(found) == ["MAML", "EMAML, M = 5", "BMAML, M = 5"]


def test_active_learning_uses_the_trained_learners(finished):
    path = finished / "parts" / "Tendless-emaml-M5-seed0.json"
    result = json.loads(path.read_text())
    result["adaptation_steps"]["chosen"] = 7  # a number that is no default
    path.write_text(json.dumps(result))
    before = path.stat().st_mtime_ns
    active.reproduce(TINY, finished, progress=False)
    assert path.stat().st_mtime_ns == before
    record = json.loads((finished / "parts" / "Tendless-emaml-M5-seed0-active.json").read_text())
    curves = record["curves"]
    assert set(curves) == set(active.ACQUISITIONS)
    assert {len(scores["accuracy"]) for scores in curves.values()} == {active.POOL + 1}
    # Nothing has been chosen yet. (Programs that go on differently may round differently.)
    first, *others = (scores["nll"][0] for scores in curves.values())
    assert others == pytest.approx([first] * len(others), rel=1e-5)
    run = finished / "runs" / "Tendless-emaml-M5-seed0"
    trained, tasks = (
        Trained.load(run),
        classification.parts(TINY)[1].recipe(None).task_source().held_out("test"),
    )
    as_chosen = curve(trained, tasks, pool=active.POOL, count=0, steps=7)
    assert first == pytest.approx(float(as_chosen["nll"][0]), rel=1e-5)
    assert (finished / "active.png").stat().st_size > 1000
    each = active.curve_of_tasks(trained, tasks, "entropy", pool=active.POOL, steps=7)
    expected = each["accuracy"][:, 1:].mean(axis=1)
    np.testing.assert_allclose(record["by_task"]["entropy"], expected, atol=1e-6)
    told = (finished / "active-differences.md").read_text().splitlines()
    assert sum("| EMAML |" in line for line in told) == len(active.ACQUISITIONS)
    assert sum("| random choice |" in line for line in told) == 2 * (len(active.ACQUISITIONS) - 1)


def test_differences_of_active_learning_are_taken_task_by_task():
    def run(method, seed, accuracies):
        by_task = dict.fromkeys(active.ACQUISITIONS, accuracies)
        return {"part": {"method": method}, "seed": seed, "by_task": by_task}

    results = [
        run("emaml", 0, [0.5, 0.9]),
        run("emaml", 1, [0.5, 0.9]),
        run("bmaml", 0, [0.6, 0.9]),
        run("bmaml", 1, [0.6, 1.0]),
        run("bmaml", 2, [0.0, 0.0]),  # a seed that EMAML has not
    ]
    (row,) = [
        row for row in active.difference_rows(results) if row[1] == "EMAML" and row[2] == "entropy"
    ]
    assert row[0] == "BMAML, M = 5"
    assert row[3:5] == ["2", "+5.00, +10.00"]
    mean, interval = row[5].split(" ± ")
    assert float(mean) == 7.5
    assert float(interval) == pytest.approx(
        12.706 * 100 * np.std([0.1, 0.05], ddof=1) / 2**0.5, abs=0.01
    )


def test_results_of_an_older_version_are_named(tmp_path):
    part = classification.parts(TINY)[1]
    result_files.prepare_folder(tmp_path)
    result = result_files.result_path(tmp_path, part, 0)
    result.write_text(json.dumps({"test": {}}))
    with pytest.raises(BmamlError, match=r"M5-seed0\.json does not say .* remove it"):
        active.run(part, 0, tmp_path, progress=False)
    result.write_text(json.dumps({"adaptation_steps": {"trained": 10, "chosen": 50}}))
    curves = active.path_of(tmp_path, part, 0)
    for found, told in (({}, "is damaged"), ({"adaptation_steps": 10}, "other settings")):
        curves.write_text(json.dumps({"curves": {}, **found}))
        with pytest.raises(BmamlError, match=told):
            active.run(part, 0, tmp_path, progress=False)


def test_images_that_do_not_come_along_must_be_given(tmp_path):
    with pytest.raises(BmamlError, match="--folder"):
        classification.reproduce(SCALES["paper"], tmp_path, progress=False)


def test_the_paper_scale_covers_the_paper():
    scale = SCALES["paper"]
    assert scale.tasks == "miniimagenet"
    assert scale.num_tasks == (800_000, 10_000)
    assert scale.steps * scale.batch_size == 800_000
    assert {size for _, size in scale.methods} == {1, 5, 10}
