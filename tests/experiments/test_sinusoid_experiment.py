import csv
import json
import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from bmaml.errors import BmamlError, DivergedError
from bmaml.experiments import sinusoid, study
from bmaml.experiments.sinusoid import Scale
from bmaml.tasks import sinusoid as sinusoid_tasks

TINY = Scale(
    steps=4,
    seeds=(0, 1),
    shots=(3,),
    num_tasks=(20,),
    methods=(("maml", 1), ("bmaml", 2)),
    step_sizes=(0.01, 0.03),
    tuning_steps=2,
    validations=2,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("sinusoid")
    sinusoid.reproduce(TINY, out, progress=False)
    return out


def test_writes_table_and_both_figures(finished):
    rows = list(csv.DictReader((finished / "results.csv").read_text().splitlines()))
    assert len(rows) == 4
    assert {row["method"] for row in rows} == {"maml", "bmaml"}
    assert {row["seed"] for row in rows} == {"0", "1"}
    for name in ("curves", "fits"):
        for suffix in ("png", "svg"):
            assert (finished / f"{name}.{suffix}").stat().st_size > 1000


def test_writes_the_test_scores_along_every_training(finished):
    rows = list(csv.DictReader((finished / "curves.csv").read_text().splitlines()))
    assert [row["update"] for row in rows] == ["2", "4"] * 4
    path = finished / "parts" / "K3-T20-bmaml-M2-seed1-curve.jsonl"
    last = json.loads(path.read_text().splitlines()[-1])
    assert (rows[-1]["method"], rows[-1]["seed"]) == ("bmaml", "1")
    assert float(rows[-1]["mse"]) == pytest.approx(last["mse"], abs=1e-4)


def test_every_method_is_tuned_over_the_same_grid(finished):
    for method in ("maml-M1", "bmaml-M2"):
        record = json.loads((finished / "parts" / f"K3-T20-{method}-tuning.json").read_text())
        assert set(record["validation_mse"]) == {"0.01", "0.03"}
        best = min(record["validation_mse"], key=record["validation_mse"].get)
        assert record["chosen"] == float(best)


def test_a_result_says_how_it_came_about(finished):
    record = json.loads((finished / "parts" / "K3-T20-bmaml-M2-seed1.json").read_text())
    assert record["seed"] == 1
    assert [point["step"] for point in record["validation"]] == [2, 4]
    assert {"mse", "particle_mse", "nll", "coverage", "crps"} <= set(record["test"])
    assert record["commit"]


def test_finished_parts_are_not_run_again(finished):
    path = finished / "parts" / "K3-T20-maml-M1-seed0.json"
    before = path.stat().st_mtime_ns
    sinusoid.reproduce(TINY, finished, only="K3-T20-maml", progress=False)
    assert path.stat().st_mtime_ns == before


def test_results_of_another_scale_are_not_taken_for_ones_own(finished):
    before = {path: path.read_bytes() for path in (finished / "parts").iterdir()}
    for other in (replace(TINY, steps=6), replace(TINY, step_sizes=(0.01,))):
        with pytest.raises(BmamlError, match="another --out"):
            sinusoid.reproduce(other, finished, progress=False)
    assert {path: path.read_bytes() for path in (finished / "parts").iterdir()} == before


def test_a_damaged_result_is_named(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    broken = copy / "parts" / "K3-T20-maml-M1-seed0.json"
    broken.write_text("{")
    with pytest.raises(BmamlError, match=f"{broken.name} is damaged"):
        sinusoid.reproduce(TINY, copy, progress=False)


def test_an_unknown_part_is_refused(tmp_path):
    with pytest.raises(BmamlError, match="No part of the experiment begins with 'K7'"):
        sinusoid.reproduce(TINY, tmp_path, only="K7", progress=False)


def test_the_paper_scale_covers_the_paper():
    scale = sinusoid.SCALES["paper"]
    assert (scale.steps, scale.shots, scale.num_tasks) == (100_000, (5, 10), (100, 1000))
    assert {size for method, size in scale.methods if method == "bmaml"} == {5, 10, 20}


def test_a_training_that_diverges_is_scored_where_it_validated_best(finished, tmp_path, monkeypatch):
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    path = out / "parts" / "K3-T20-bmaml-M2-seed1.json"
    whole = json.loads(path.read_text())
    path.unlink()
    curve = path.with_name("K3-T20-bmaml-M2-seed1-curve.jsonl")
    curve.write_text(curve.read_text().splitlines()[0])

    def diverge(*_, **__):
        raise DivergedError("The loss is not finite at step 5.")

    monkeypatch.setattr(study, "fit", diverge)
    for _ in range(2):  # It is not tried again.
        sinusoid.reproduce(TINY, out, progress=False)
        monkeypatch.setattr(study, "fit", None)
    record = json.loads(path.read_text())
    assert (record["diverged"], whole["diverged"]) == (5, None)
    assert record["chosen_checkpoint"] == whole["chosen_checkpoint"]
    assert record["test"] == pytest.approx(whole["test"], rel=1e-5)
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert [row["diverged"] for row in rows] == ["", "", "", "5"]
    assert "2 (1 diverged)" in (out / "results.md").read_text()


def test_a_training_that_diverges_before_any_validation_has_nothing_to_keep(
    finished, tmp_path, monkeypatch
):
    out, name = tmp_path / "copy", "K3-T20-bmaml-M2-seed1"
    shutil.copytree(finished, out)
    (out / "parts" / f"{name}.json").unlink()
    shutil.rmtree(out / "runs" / name)
    draw_wave = sinusoid_tasks.draw_wave
    monkeypatch.setattr(
        sinusoid_tasks, "draw_wave", lambda key: draw_wave(key)._replace(phase=jnp.full((), jnp.nan))
    )
    jax.clear_caches()
    try:
        with pytest.raises(DivergedError, match=f"not finite at step 1 .*{name}"):
            sinusoid.reproduce(TINY, out, progress=False)
    finally:
        jax.clear_caches()
    assert not (out / "parts" / f"{name}.json").exists()


def test_a_lost_curve_is_named(finished, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    (out / "parts" / "K3-T20-bmaml-M2-seed1-curve.jsonl").unlink()
    with pytest.raises(BmamlError, match=r"seed1-curve.jsonl cannot be read: remove .*seed1.json"):
        sinusoid.reproduce(TINY, out, progress=False)
