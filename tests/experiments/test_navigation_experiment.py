import csv
import json
from dataclasses import replace

import pytest

from bmaml.errors import BmamlError
from bmaml.experiments import locomotion, navigation, policies
from bmaml.experiments.policies import Part, Scale

TINY = Scale(
    environments=("navigation",),
    methods=(("vpg-reptile", 1), ("svpg-chaser", 2)),
    seeds=(0, 1),
    iterations=2,
    tasks=2,
    episodes=2,
    held_out_tasks=2,
    validations=2,
)
RESULT = "navigation-M2-svpg-chaser-seed1.json"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("navigation")
    navigation.reproduce(TINY, out, progress=False)
    return out


def test_writes_table_and_figure(finished):
    rows = list(csv.DictReader((finished / "results.csv").read_text().splitlines()))
    assert [(row["method"], row["num_particles"], row["seed"]) for row in rows] == [
        *(("vpg-reptile", "1", "0"), ("vpg-reptile", "1", "1")),
        *(("svpg-chaser", "2", "0"), ("svpg-chaser", "2", "1")),
    ]
    for suffix in ("png", "svg"):
        assert (finished / f"returns.{suffix}").stat().st_size > 1000
    assert "SVPG-CHASER, M = 2" in (finished / "results.md").read_text()


def test_curves_have_a_row_for_each_validation(finished):
    rows = list(csv.DictReader((finished / "curves.csv").read_text().splitlines()))
    assert [row["update"] for row in rows] == ["1", "2"] * 4
    record = json.loads((finished / "parts" / RESULT).read_text())
    last = record["curve"][-1]
    assert float(rows[-1]["return_mean_validation"]) == pytest.approx(
        last["validation"]["return_mean"], abs=1e-3
    )
    assert float(rows[-1]["return_best_training"]) == pytest.approx(
        last["training"]["return_best"], abs=1e-3
    )


def test_a_result_says_how_it_came_about(finished):
    record = json.loads((finished / "parts" / RESULT).read_text())
    assert record["seed"] == record["settings"]["seed"] == 1
    assert record["settings"]["temperature"] == 0.1
    assert [entry["step"] for entry in record["curve"]] == [1, 2]
    names = {"return_best", "return_mean", "return_best_before", "return_mean_before"}
    assert names == set(record["test"]) == set(record["curve"][-1]["validation"])
    assert names <= set(record["training_at_the_end"])
    assert record["commit"]


def test_finished_parts_are_not_run_again(finished):
    before = (finished / "parts" / RESULT).stat().st_mtime_ns
    navigation.reproduce(TINY, finished, only="navigation-M2", progress=False)
    assert (finished / "parts" / RESULT).stat().st_mtime_ns == before


def test_results_of_another_scale_are_not_taken_for_ones_own(finished):
    with pytest.raises(BmamlError, match="another --out"):
        navigation.reproduce(replace(TINY, tasks=3), finished, progress=False)


def test_an_unknown_part_is_refused(tmp_path):
    with pytest.raises(BmamlError, match="No part of the experiment begins with 'cheetah'"):
        navigation.reproduce(TINY, tmp_path, only="cheetah", progress=False)


def test_the_end_of_training_is_its_last_tenth():
    curve = [{"step": step, "training": {"return_best": float(step)}} for step in (90, 95, 100)]
    assert policies.at_the_end(curve, 100) == {"return_best": 97.5}


def test_the_full_scales_are_those_of_the_paper():
    grid = {(part.method, part.num_particles) for part in policies.parts(navigation.SCALES["full"])}
    methods = ("vpg-trpo", "svpg-trpo", "vpg-reptile", "svpg-chaser")
    # With one particle svpg-trpo is vpg-trpo.
    assert grid == {(method, size) for method in methods for size in (1, 5, 10)} - {("svpg-trpo", 1)}
    settings = Part("navigation", "svpg-chaser", 5).settings(navigation.SCALES["full"], 2)
    assert (settings.iterations, settings.tasks, settings.episodes) == (100, 20, 10)
    assert (settings.settings, settings.seed) == ("authors", 2)
    paper = {str(part) for part in policies.parts(locomotion.TRPO_SCALES["paper"])}
    assert {"ant-direction-M10-svpg-trpo", "cheetah-velocity-M1-vpg-trpo"} <= paper
    assert len(paper) == 20
    assert len(policies.parts(locomotion.CHASER_SCALES["paper"])) == 24
