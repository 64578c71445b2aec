"""`bmaml evaluate` on runs of every kind: scores, JSON, the page, and what can go wrong."""

import json
import shutil

import numpy as np
import pandas
import pytest

from bmaml.cli.evaluate import Evaluate
from bmaml.cli.main import main
from bmaml.recipe import Recipe
from bmaml.run_folder import read_description
from bmaml.tasks import Sinusoid
from bmaml.trained import Trained
from tests.tasks.images.made_up import MadeUp


def refused(capsys, *arguments):
    """The sentence on a command that must fail."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in arguments])
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told


def evaluated(capsys, *arguments):
    main(["evaluate", *map(str, arguments)])
    return capsys.readouterr()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs on a table, on sinusoids; and the table."""
    folder = tmp_path_factory.mktemp("runs")
    random = np.random.default_rng(0)
    task = np.repeat(np.arange(12), 8)
    x = random.normal(size=96)
    y = random.normal(size=12)[task] + x
    pandas.DataFrame({"[b]": task, "x": x, "y": y}).to_csv(folder / "data.csv", index=False)
    few = ["--particles", "2", "--steps", "2", "--quiet", "--batch-size", "3"]
    table = [
        str(folder / "data.csv"),
        "--task",
        "[b]",
        "--target",
        "y",
        "--hidden",
        "4",
        "--shots",
        "2",
    ]
    main(["train", *table, "--out", str(folder / "table"), *few])
    main(["train", "sinusoid", "--out", str(folder / "sinusoid"), *few])
    return folder


def test_a_run_on_a_table_is_scored_against_support_rows_beside_baselines(runs, capsys):
    told = evaluated(capsys, runs / "table")
    for text in ("pooled + offset", "ridge per task", "gaussian process per task", "network per task"):
        assert text in told.out
    assert "At 2 support rows" in told.out
    assert str(runs / "table" / "report.html") in told.err
    page = (runs / "table" / "report.html").read_text()
    assert "bmaml train table" in page
    assert "pooled + offset" in page


def test_json_is_one_object_and_all_there_is_on_standard_output(runs, capsys):
    options = ("--json", "--no-baselines", "--no-page", "--support-rows", 0, 2)
    (runs / "table" / "report.html").unlink(missing_ok=True)
    told = evaluated(capsys, runs / "table", *options)
    values = json.loads(told.out)
    assert values["method"] == "bmaml"
    assert [score["support_rows"] for score in values["scores"]] == [0, 2]
    assert {score["method"] for score in values["scores"]} == {"bmaml"}
    assert {"mse", "mse_interval", "nll", "crps", "coverage", "tasks"} <= set(values["scores"][0])
    assert set(values["trust"]) == {"0", "2"}
    assert not (runs / "table" / "report.html").exists()


def test_other_runs_are_scored_as_trained_evaluate_does_and_have_a_page_too(runs, capsys):
    folder = runs / "sinusoid"
    told = evaluated(capsys, folder, "--json")
    recipe = Recipe.from_json(read_description(folder))
    tasks = recipe.task_source().held_out("test")
    expected = Trained.load(folder, recipe.learner()).evaluate(tasks)
    values = json.loads(told.out)
    assert list(values) == [*expected, "tasks", "method"]
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, rel=1e-5)
    assert "bmaml train sinusoid" in (folder / "report.html").read_text()
    assert str(folder / "report.html") in told.err


def test_the_data_may_have_moved(runs, tmp_path, capsys):
    moved = tmp_path / "moved.csv"
    shutil.copy(runs / "data.csv", moved)
    recipe_file = tmp_path / "run"
    shutil.copytree(runs / "table", recipe_file)
    settings = json.loads((recipe_file / "run.json").read_text())
    settings["description"]["task_options"]["path"] = str(tmp_path / "gone.csv")
    (recipe_file / "run.json").write_text(json.dumps(settings))
    options = ("--no-baselines", "--json", "--support-rows", 1)
    assert "gone.csv" in refused(capsys, "evaluate", recipe_file, *options)
    values = json.loads(evaluated(capsys, recipe_file, "--data", moved, *options).out)
    there = json.loads(evaluated(capsys, runs / "table", "--no-page", *options).out)
    assert values["scores"] == there["scores"]
    assert str(moved) in (recipe_file / "report.html").read_text()


def test_a_table_that_has_grown_is_scored_on_the_same_tasks(runs, tmp_path, capsys):
    folder, grown = tmp_path / "run", tmp_path / "grown.csv"
    shutil.copytree(runs / "table", folder)
    frame = pandas.read_csv(runs / "data.csv")
    frame = pandas.concat([frame, frame.assign(**{"[b]": frame["[b]"] + 100})])
    frame.to_csv(grown, index=False)
    options = ("--no-baselines", "--json", "--support-rows", 1)
    before = json.loads(evaluated(capsys, folder, *options).out)
    assert "dealt" not in (folder / "report.html").read_text()
    settings = json.loads((folder / "run.json").read_text())
    settings["description"]["task_options"]["path"] = str(grown)
    (folder / "run.json").write_text(json.dumps(settings))
    told = evaluated(capsys, folder, *options)
    assert json.loads(told.out)["scores"] == before["scores"]
    # A file that is named is one of tasks to score: all that training has not seen.
    told = evaluated(capsys, folder, "--data", grown, *options)
    assert json.loads(told.out)["scores"][0]["tasks"] == before["scores"][0]["tasks"] + 12
    frame[frame["[b]"] >= 100].to_csv(grown, index=False)
    told = evaluated(capsys, folder, "--data", grown, "--json", "--support-rows", 1)
    assert "none of the training tasks, so there is nothing to compare with" in told.err
    assert "2 of the run's 2 test tasks are not in" in told.err
    assert json.loads(told.out)["scores"][0]["tasks"] == 12


def test_a_changed_description_is_one_sentence(runs, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(runs / "table", folder)
    settings = json.loads((folder / "run.json").read_text())
    settings["description"]["task_options"]["surprise"] = 1
    (folder / "run.json").write_text(json.dumps(settings))
    assert "surprise" in refused(capsys, "evaluate", folder)


def test_a_page_that_cannot_be_written_costs_no_scores(runs, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(runs / "table", folder, ignore=shutil.ignore_patterns("report.html"))
    (folder / "report.html").mkdir()  # stands for any folder that takes no file of that name
    told = evaluated(capsys, folder, "--json", "--no-baselines", "--support-rows", 0)
    assert json.loads(told.out)["scores"]
    assert "No page: Cannot write to" in told.err
    assert told.err.count("\n") == 1
    assert not list(folder.glob("*.tmp"))


@pytest.mark.parametrize(
    ("run", "options", "words"),
    [
        ("table", ("--support-rows", "9"), "trained for 0 to 2"),
        ("table", ("--support-rows", "-1"), "trained for 0 to 2"),
        ("table", ("--steps", "-1"), "--steps must not be negative"),
        ("table", ("--data", "/no/such/file.csv"), "/no/such/file.csv"),
        ("sinusoid", ("--support-rows", "1"), "for runs on tables"),
        ("sinusoid", ("--data", "x.csv"), "made, not read"),
    ],
)
def test_what_cannot_be_is_one_sentence(runs, capsys, run, options, words):
    assert words in refused(capsys, "evaluate", runs / run, *options)


def test_unknown_classes_are_asked_about_only_where_there_are_some(tmp_path):
    source = MadeUp(ways=5, classes=5, test_tasks=1)
    source.held_out("test")
    assert Evaluate(tmp_path)._unknown_classes(None, source) == {}
    assert Evaluate(tmp_path)._unknown_classes(None, Sinusoid()) == {}
