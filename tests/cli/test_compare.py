"""`bmaml compare` on runs of several kinds, and what can go wrong."""

import json

import numpy as np
import pandas
import pytest

from bmaml.cli.main import main
from tests.cli.test_evaluate import refused

FEW = ["--steps", "2", "--quiet", "--batch-size", "3"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two methods on sinusoids, one with more shots, and two on a table."""
    folder = tmp_path_factory.mktemp("compared")

    def train(name, *words):
        main(["train", *words, "--out", str(folder / name), *FEW])

    train("emaml", "sinusoid", "--method", "emaml", "--particles", "2")
    train("maml", "sinusoid", "--method", "maml")
    train("more", "sinusoid", "--method", "maml", "--shots", "3")
    random = np.random.default_rng(0)
    task, x = np.repeat(np.arange(12), 8), random.normal(size=96)
    y = random.normal(size=12)[task] + x
    pandas.DataFrame({"who": task, "x": x, "y": y}).to_csv(folder / "data.csv", index=False)
    table = [str(folder / "data.csv"), "--task", "who", "--target", "y", "--hidden", "4"]
    train("table", *table, "--method", "maml", "--shots", "2")
    train("table-emaml", *table, "--method", "emaml", "--particles", "2", "--shots", "2")
    return folder


def compared(capsys, *words):
    main(["compare", *map(str, words)])
    return capsys.readouterr().out


def test_differences_are_those_of_the_scores(runs, capsys):
    told = json.loads(compared(capsys, runs / "emaml", runs / "maml", "--json"))
    main(["evaluate", str(runs / "maml"), "--json", "--no-page"])
    maml = json.loads(capsys.readouterr().out)
    first, second = told["scores"]
    assert (first["method"], second["method"], told["first"]) == ("emaml", "maml", "emaml")
    assert second["mse"] == pytest.approx(maml["mse"], rel=1e-5)
    (difference,) = told["differences"]
    for name in ("mse", "nll", "crps", "coverage"):
        assert difference[name] == pytest.approx(second[name] - first[name], abs=1e-5)
        assert difference[f"{name}_interval"] > 0


def test_more_test_tasks_narrow_the_interval(runs, capsys):
    words = ("compare", str(runs / "emaml"), str(runs / "maml"), "--json", "--test-tasks")
    few, many = (json.loads(compared(capsys, *words[1:], count)) for count in (100, 1600))
    assert (few["tasks"], many["tasks"]) == (100, 1600)
    intervals = [one["differences"][0]["coverage_interval"] for one in (few, many)]
    assert intervals[1] < 0.5 * intervals[0]


def test_tables_for_the_eye(runs, capsys):
    told = compared(capsys, runs / "emaml", runs / "maml", "--steps", 0)
    assert "500 test tasks" in told
    assert "More than emaml by" in told
    assert "At 5 support rows" in told


def test_runs_on_a_table_are_compared_at_each_number_of_support_rows(runs, capsys):
    words = (runs / "table", runs / "table-emaml", "--support-rows", 0, 2, "--json")
    told = json.loads(compared(capsys, *words))
    assert [one["support_rows"] for one in told["differences"]] == [0, 2]
    assert {one["method"] for one in told["differences"]} == {"table-emaml"}


def test_what_cannot_be_compared_is_one_sentence(runs, capsys):
    one, other, more, table = (runs / name for name in ("emaml", "maml", "more", "table"))
    assert "name two run folders or more" in refused(capsys, "compare", one)
    assert "named twice" in refused(capsys, "compare", one, one)
    assert "not on the same kind of tasks: emaml on sinusoid, table on table" in refused(
        capsys, "compare", one, table
    )
    assert "more has other test tasks than maml" in refused(capsys, "compare", other, more)
    assert "--steps must not be negative" in refused(capsys, "compare", one, other, "--steps", -1)
    assert "--support-rows is for runs on tables" in refused(
        capsys, "compare", one, other, "--support-rows", 2
    )
    assert "--test-tasks is 0; it must be at least 1" in refused(
        capsys, "compare", one, other, "--test-tasks", 0
    )
    tables = (table, runs / "table-emaml")
    assert "a table has the tasks it has" in refused(capsys, "compare", *tables, "--test-tasks", 9)
    assert "not a run folder" in refused(capsys, "compare", one, runs / "none")
