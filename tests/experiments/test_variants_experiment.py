import csv
import json
import shutil
from dataclasses import replace

import pytest

from bmaml.errors import BmamlError, DivergedError
from bmaml.experiments import study, variants
from bmaml.experiments.variants import VARIANTS, Scale
from bmaml.recipe import Recipe

TINY = Scale(
    steps=2,
    seeds=(1,),
    shots=(3,),
    num_tasks=10,
    held_out_tasks=5,
    num_particles=2,
    variants=("emaml", "emaml-learned-steps"),
    step_sizes=(0.01, 0.03),
    tuning_steps=1,
    validations=1,
    timed_rounds=2,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("variants")
    variants.reproduce(TINY, out, progress=False)
    return out


def test_writes_the_table_with_costs_and_the_picture(finished):
    rows = list(csv.DictReader((finished / "results.csv").read_text().splitlines()))
    assert [row["variant"] for row in rows] == ["emaml", "emaml-learned-steps"]
    assert 0.5 < float(rows[0]["cost"]) < 2.0  # EMAML costs as much as itself.
    assert float(rows[-1]["cost"]) > 0
    for name in ("mse", "nll", "coverage", "crps", "step_size", "commit"):
        assert rows[0][name]
    assert "| 3 | emaml-learned-steps | 1 |" in (finished / "results.md").read_text()
    for suffix in ("png", "svg"):
        assert (finished / f"variants.{suffix}").stat().st_size > 1000


def test_a_variant_takes_the_step_size_of_its_pair(finished):
    tuned = json.loads((finished / "parts" / "K3-emaml-tuning.json").read_text())
    assert set(tuned["validation_mse"]) == {"0.01", "0.03"}
    record = json.loads((finished / "parts" / "K3-emaml-learned-steps-seed1.json").read_text())
    assert record["step_size"] == tuned["chosen"]
    options = record["recipe"]["method_options"]
    assert options == {"step_size": tuned["chosen"], "num_particles": 2, "learned_steps": True}


def test_finished_parts_are_not_run_again_nor_mistaken(finished):
    before = {path: path.stat().st_mtime_ns for path in (finished / "parts").iterdir()}
    variants.reproduce(TINY, finished, only="K3-emaml", progress=False)
    assert {path: path.stat().st_mtime_ns for path in (finished / "parts").iterdir()} == before
    with pytest.raises(BmamlError, match="another --out"):
        variants.reproduce(replace(TINY, steps=3), finished, progress=False)


def test_a_diverged_training_is_a_row_and_does_not_stop_the_others(finished, tmp_path, monkeypatch):
    out = tmp_path / "copy"
    shutil.copytree(finished, out)
    (out / "parts" / "K3-emaml-learned-steps-seed1.json").unlink()

    def diverge(*_, **__):
        raise DivergedError("The loss is not finite.")

    monkeypatch.setattr(study, "fit", diverge)
    for _ in range(2):  # It is not tried again.
        variants.reproduce(TINY, out, progress=False)
        table = (out / "results.md").read_text()
        assert "| 3 | emaml | 1 | 0." in table
        assert "| 3 | emaml-learned-steps | 0 (1 diverged) | – |" in table
        monkeypatch.setattr(study, "fit", None)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_every_variant_can_be_composed_and_has_one_to_be_tuned_as(name):
    variant = VARIANTS[name]
    tuned = VARIANTS[variant.tuned_as]
    assert (tuned.method, tuned.tuned_as) == (variant.method, variant.tuned_as)
    # By way of JSON, as from a run folder.
    recipes = [variants.part_of(TINY, one, 5).recipe(0.02) for one in (name, variant.tuned_as)]
    learner, other = (
        Recipe.from_json(json.loads(json.dumps(one.to_json()))).learner() for one in recipes
    )
    assert type(learner.inner) is type(other.inner)
    assert type(learner.meta) is type(other.meta)
    assert learner.inner.step_size == 0.02


def test_the_medium_scale_has_every_variant_in_both_settings_and_three_seeds():
    scale = variants.SCALES["medium"]
    assert (scale.shots, scale.num_tasks, scale.num_particles) == ((5, 10), 100, 10)
    assert scale.variants == tuple(VARIANTS)
    assert len(scale.seeds) == 3
