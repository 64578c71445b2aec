"""Training: it learns, repeats itself bit for bit, and stops in order when a loss explodes."""

import inspect
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from bmaml import train, training_loop
from bmaml.errors import BmamlError, DivergedError
from bmaml.inner import GradientDescent
from bmaml.learner import Learner
from bmaml.meta import Validation
from bmaml.models import mlp
from bmaml.posterior import FlatPrior, Posterior, SquaredError
from bmaml.tasks import Arrays, Data, Task
from bmaml.train import fit, fit_seeds
from bmaml.trained import Trained

POSTERIOR = Posterior(mlp(1, 1, hidden=(8,)), SquaredError(), FlatPrior())
LEARNER = Learner(POSTERIOR, GradientDescent(0.01, step_control=False), Validation(), num_particles=2)


def lines(seed, count, slope=2.0):
    """Tasks y = 2x + b, where b differs, made without compiling anything."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1.0, 1.0, (2, count, 5, 1)).astype(np.float32)
    y = (slope * x + random.normal(size=(1, count, 1, 1))).astype(np.float32)
    support, query = (Data(jnp.asarray(x[part]), jnp.asarray(y[part])) for part in (0, 1))
    return Task(support, query)


TASKS = Arrays(lines(0, 20), lines(1, 10))
SETTINGS: dict[str, Any] = {"steps": 60, "batch_size": 4, "validate_every": 25, "progress": False}


@pytest.fixture(scope="module", autouse=True)
def compile_once(tmp_path_factory):
    """Most trainings here are the same program, and compiling is most of their time."""
    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.getbasetemp() / "compiled"),
        "jax_persistent_cache_min_compile_time_secs": 0.1,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def assert_same_bits(left, right):
    jax.tree.map(np.testing.assert_array_equal, left, right)


@pytest.fixture(scope="module")
def trained():
    return fit(LEARNER, TASKS, seed=3, **SETTINGS)


def test_training_lowers_the_validation_error():
    learner = replace(LEARNER, optimizer=replace(LEARNER.optimizer, step_size=1e-2))
    trained = fit(learner, TASKS, steps=200, validate_every=20, progress=False)
    errors = [entry["validation"]["mse"] for entry in trained.history]
    assert min(errors) < 0.9 * errors[0]
    assert trained.step == trained.history[int(np.argmin(errors))]["step"]
    scores = trained.evaluate(TASKS.held_out("validation"))
    assert scores["mse"] == pytest.approx(min(errors), rel=1e-5)


def test_validates_at_every_interval_and_at_the_end(trained):
    assert [entry["step"] for entry in trained.history] == [25, 50, 60]
    assert int(trained.last.step) == 60
    assert {"step", "seed", "loss", "validation", "seconds", "updates_per_second"} <= set(
        trained.history[0]
    )


def test_same_seed_same_bits_whatever_the_length_of_the_loops(trained, monkeypatch):
    monkeypatch.setattr(training_loop, "SECONDS_BETWEEN_LOOKS", 0.0)  # One update at a time.
    again = fit(LEARNER, TASKS, seed=3, **SETTINGS)
    assert_same_bits(again.last, trained.last)
    assert_same_bits(again.particles, trained.particles)
    assert again.history[-1]["loss"] == trained.history[-1]["loss"]


def test_seeds_at_once_equal_seeds_alone(trained):
    several = fit_seeds(LEARNER, TASKS, seeds=[5, 3], **SETTINGS)
    assert [one.seed for one in several] == [5, 3]
    jax.tree.map(
        lambda left, right: np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5),
        several[1].last.particles,
        trained.last.particles,
    )
    weights = [jax.tree.leaves(one.particles)[0] for one in several]
    assert not np.allclose(*weights)


@pytest.fixture
def poisoned():
    """Tasks of which one has targets whose square is no longer finite."""
    tasks = lines(0, 30)
    y = tasks.query.y.at[7].set(1e30)
    broken = tasks._replace(query=tasks.query._replace(y=y))
    return Arrays(broken, TASKS.validation)


def test_what_is_kept_is_as_sure_as_validation_tasks_allow():
    # Validation tasks whose lines are not those of training: the learned noise level is too low.
    strange = Arrays(lines(0, 20), lines(1, 200, slope=-2.0))
    plain, calibrated = (fit(LEARNER, strange, **SETTINGS, calibrate=on) for on in (False, True))
    before, after = (
        trained.evaluate(strange.held_out("validation")) for trained in (plain, calibrated)
    )
    entry = next(entry for entry in calibrated.history if entry["step"] == calibrated.step)
    assert entry["validation"]["overconfidence"] > 0.5
    assert after["nll"] < before["nll"] - 0.05
    assert abs(after["coverage"] - 0.9) < abs(before["coverage"] - 0.9)
    # Nothing else of the particles, nor of the training.
    assert after["mse"] == before["mse"]
    shift = calibrated.particles.likelihood - plain.particles.likelihood
    np.testing.assert_allclose(shift, -entry["validation"]["overconfidence"], rtol=1e-5)
    assert_same_bits(plain.particles.weights, calibrated.particles.weights)
    assert_same_bits(plain.last.particles, calibrated.last.particles)


def test_divergence_is_one_sentence_and_keeps_the_last_good_state(poisoned, tmp_path):
    with pytest.raises(DivergedError, match=r"step \d+ .*smaller step size") as caught:
        fit(LEARNER, poisoned, **SETTINGS | {"batch_size": 2}, out=tmp_path / "run")
    assert str(tmp_path / "run") in str(caught.value)
    assert "\n" not in str(caught.value)
    kept = Trained.load(tmp_path / "run", LEARNER, "last")
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(kept.last))
    assert f"that of step {kept.step}," in str(caught.value)
    assert f"at step {kept.step + 1} " in str(caught.value)


def test_validations_that_are_not_finite_are_told():
    tasks = lines(1, 10)
    beyond = tasks._replace(query=tasks.query._replace(y=jnp.full_like(tasks.query.y, 1e30)))
    with pytest.warns(UserWarning, match="No validation score was a finite number"):
        trained = fit(LEARNER, Arrays(lines(0, 20), beyond), **SETTINGS)
    assert trained.step == 0


def test_data_that_seeds_share_is_not_copied(poisoned):
    from bmaml.meta_update import _stack

    one, shared = _stack([poisoned.training_set(jax.random.key(seed)) for seed in (0, 1)])
    assert shared
    assert one.support.x.shape == poisoned.train.support.x.shape


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"batch_size": 0}, {"validate_every": 0}, {"batch_size": 21}]
)
def test_wrong_numbers_are_refused_before_a_folder_is_made(wrong, tmp_path):
    with pytest.raises(ValueError, match=r"batch|steps|every"):
        fit(LEARNER, TASKS, **(SETTINGS | wrong), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_particles_of_a_validation_can_be_kept():
    kept = []
    fit(LEARNER, TASKS, **SETTINGS, on_validation=lambda step, particles: kept.append(particles))
    assert len(kept) > 1
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(kept))


def test_fit_has_the_options_of_fit_seeds_and_names_itself():
    one, several = (dict(inspect.signature(each).parameters) for each in (fit, fit_seeds))
    assert (one.pop("seed").default, several.pop("seeds").default) == (0, inspect.Parameter.empty)
    assert list(one.values()) == list(several.values())
    with pytest.raises(TypeError, match=r"^fit\(\) got an unexpected keyword argument 'batchsize'"):
        inspect.unwrap(fit)(LEARNER, TASKS, steps=1, batchsize=4)  # type: ignore[call-arg]


def test_every_option_of_fit_reaches_the_training(monkeypatch):
    learner, tasks, *names = inspect.signature(fit).parameters
    given = {name: object() for name in names}
    seen = {}
    plain = inspect.unwrap(fit)  # without the check of types
    monkeypatch.setitem(plain.__globals__, "fit_seeds", lambda *_, **all: seen.update(all) or [7])
    assert plain(learner, tasks, **given) == 7
    assert seen.pop("seeds") == [given.pop("seed")]
    assert seen == given


def test_seeds_must_differ():
    with pytest.raises(ValueError, match="different"):
        fit_seeds(LEARNER, TASKS, seeds=[1, 1], **SETTINGS)


def test_without_a_terminal_progress_is_at_most_a_line_every_tenth(capsys):
    fit(LEARNER, TASKS, **SETTINGS | {"progress": True, "validate_every": 1})
    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 10
    assert lines[-1].startswith("step 60/60")
    assert "validation mse" in lines[-1]


MEMORY = """
import sys
from contextlib import contextmanager
import psutil
from bmaml import training_loop
from bmaml.train import fit
from tests.test_train import LEARNER, TASKS

sizes = {}

@contextmanager
def watch(steps, start, shown):
    def show(step, **scores):
        if scores:
            sizes[step] = psutil.Process().memory_info().rss
    yield show

training_loop.show_progress = watch
out = dict(zip(["out"], sys.argv[1:]))
fit(LEARNER, TASKS, steps=10_000, batch_size=4, validate_every=500, **out)
print(sizes[10_000] - sizes[2_000])
"""


@pytest.mark.slow
@pytest.mark.parametrize("folder", [[], ["run"]], ids=["in memory", "with checkpoints and logs"])
def test_memory_is_flat_over_ten_thousand_updates(folder, tmp_path, pytestconfig):
    grown = subprocess.run(
        [sys.executable, "-c", MEMORY, *(str(tmp_path / name) for name in folder)],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": f"{pytestconfig.rootpath / 'src'}:{pytestconfig.rootpath}"},
    )
    assert int(grown.stdout) < 10e6


def test_validation_tasks_are_missed_before_anything_is_compiled_or_written(tmp_path, monkeypatch):
    class Halved(Arrays):
        def held_out(self, split):
            raise BmamlError(f"there is no {split} part")

    def compile_nothing(*_, **__):
        raise AssertionError("compiled first")

    monkeypatch.setattr(train, "compile_updates", compile_nothing)
    with pytest.raises(BmamlError, match="there is no validation part"):
        fit(LEARNER, Halved(lines(0, 20), lines(1, 10)), out=tmp_path / "run", **SETTINGS)
    assert not (tmp_path / "run").exists()
