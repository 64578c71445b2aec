"""The choice of an inner step size."""

import pytest

from bmaml.errors import DivergedError
from bmaml.experiments import grid, tuning
from bmaml.experiments.result_files import require_same
from bmaml.experiments.sinusoid import Part

SCALE = grid.Scale(steps=1, seeds=(0,), methods=(("maml", 1),), step_sizes=(0.01, 0.1), tuning_steps=1)
PART = Part("maml", 1, 5, 10)


@pytest.fixture
def largest_allowed(monkeypatch):
    """Trainings with a larger step size diverge; which do so by themselves depends on rounding."""
    fit = tuning.fit

    def allow(size):
        def limited(learner, *arguments, **options):
            if learner.inner.step_size > size:
                raise DivergedError("The loss is not finite.")
            return fit(learner, *arguments, **options)

        monkeypatch.setattr(tuning, "fit", limited)

    return allow


@pytest.fixture
def out(tmp_path):
    (tmp_path / "parts").mkdir()
    return tmp_path


def test_a_step_size_that_diverges_is_not_chosen(out, largest_allowed):
    largest_allowed(0.01)
    assert tuning.tune(PART, SCALE, out, progress=False) == 0.01
    record = require_same(out / "parts" / f"{PART}-tuning.json")
    assert list(record["validation_mse"]) == ["0.01", "0.1"]
    assert record["validation_mse"]["0.01"] > 0
    assert record["validation_mse"]["0.1"] is None
    assert record["tried"] == [0.01, 0.1]


def test_an_interrupted_choice_goes_on_where_it_stopped(out, monkeypatch):
    fit, tried = tuning.fit, []

    def interrupted(learner, *arguments, **options):
        tried.append(learner.inner.step_size)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return fit(learner, *arguments, **options)

    monkeypatch.setattr(tuning, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuning.tune(PART, SCALE, out, progress=False)
    chosen = tuning.tune(PART, SCALE, out, progress=False)
    assert tried == [0.01, 0.1, 0.1]
    assert tuning.tune(PART, SCALE, out, progress=False) == chosen
    assert len(tried) == 3


def test_a_grid_that_diverges_throughout_gets_a_sentence(out, largest_allowed):
    largest_allowed(0.0)
    with pytest.raises(DivergedError, match=r"diverged with every step size of 0.01, 0.1: leave it"):
        tuning.tune(PART, SCALE, out, progress=False)
