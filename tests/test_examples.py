"""The examples run, in miniature."""

import importlib.util
import sys

import pandas
import pytest

from bmaml.tables import evaluation
from bmaml.tables.baselines import network

pytest.importorskip("statsmodels", reason="the example's table comes with statsmodels")


@pytest.fixture(scope="module")
def temperatures(pytestconfig):
    path = pytestconfig.rootpath / "examples" / "temperatures.py"
    specification = importlib.util.spec_from_file_location("temperatures", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_table_has_a_row_for_every_month(temperatures):
    table = temperatures.monthly_temperatures()
    assert table.shape == (61 * 12, 3)
    assert table.groupby("year").month.apply(sorted).map(lambda months: months == [*range(1, 13)]).all()
    assert table.temperature.between(15, 30).all()


def test_temperatures_end_to_end(temperatures, tmp_path, monkeypatch, capsys):
    arguments = ["--splits=1", "--steps=5", "--months", "3", f"--out={tmp_path}"]
    monkeypatch.setattr(sys, "argv", ["temperatures.py", *arguments])
    # Each test year once; networks for so many at a time.
    monkeypatch.setattr(evaluation, "EPISODES", 9)
    monkeypatch.setattr(network, "BLOCK", 9)
    monkeypatch.setattr(network, "STEPS", 3)
    temperatures.main()
    scores = pandas.read_csv(tmp_path / "scores.csv")
    assert set(scores.months) == {3}
    assert {"bmaml", "pooled", "pooled + offset", "gaussian process per task"} <= set(scores.method)
    assert scores[["mse", "nll", "coverage"]].notna().all().all()
    assert "bmaml minus pooled + offset" in capsys.readouterr().out
    assert (tmp_path / "temperatures.png").stat().st_size > 10_000
