"""Meta-training of policies: logs, resumes bit for bit, keeps the best, and does not hang."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jax
import numpy as np
import pytest

from bmaml.errors import BmamlError, DivergedError, Interrupted, RunError, SimulationError
from bmaml.rl import Settings, TrainedPolicies, fit, gaussian_policy
from bmaml.rl.envs import Locomotion, Navigation
from bmaml.rl.play import summarise
from bmaml.rl.train import Iterations
from tests.rl.small import ENVIRONMENT, POLICY, HostNavigation

SETTINGS = Settings(
    "navigation", "svpg-chaser", "authors", 2, iterations=4, tasks=2, episodes=2, held_out_tasks=2
)
OPTIONS = {"environment": ENVIRONMENT, "policy": POLICY, "progress": False, "validate_every": 2}


def same(left, right):
    return all(
        np.array_equal(one, two)
        for one, two in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "rl"
    return fit(SETTINGS, out=folder, **OPTIONS), folder


def test_the_log_tells_returns_before_and_after_for_best_and_mean(run):
    trained, folder = run
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries] == [2, 4]
    names = {"return_best", "return_mean", "return_best_before", "return_mean_before"}
    assert set(entries[-1]["validation"]) == names
    assert set(entries[-1]["training"]) == {*names, "steps_taken", "divergence"}
    assert list((folder / "tensorboard").rglob("events*"))
    assert trained.history == entries


def test_the_best_particle_is_at_least_as_good_as_the_mean(run):
    scores = run[0].evaluate(2)
    assert scores["return_best"] >= scores["return_mean"]
    assert scores["return_best_before"] >= scores["return_mean_before"]


def test_a_folder_is_all_that_is_needed_to_go_on(run):
    trained, folder = run
    loaded = TrainedPolicies.load(folder, environment=ENVIRONMENT, policy=POLICY)
    assert same(loaded.particles, trained.particles)
    assert loaded.settings == trained.settings
    last = TrainedPolicies.load(folder, which="last", environment=ENVIRONMENT, policy=POLICY)
    assert same(last.particles, trained.last)


def test_another_policy_is_refused(run):
    with pytest.raises(RunError, match="trained with another policy"):
        TrainedPolicies.load(run[1], environment=ENVIRONMENT)


def test_another_environment_is_refused(run):
    shorter = replace(ENVIRONMENT, horizon=5)
    with pytest.raises(RunError, match=r"environment\.horizon of 6, not 5"):
        TrainedPolicies.load(run[1], environment=shorter, policy=POLICY)
    with pytest.raises(RunError, match=r"environment\.horizon is 6, not 5"):
        fit(SETTINGS, out=run[1], resume=True, **{**OPTIONS, "environment": shorter})


def test_a_policy_of_other_actions_is_refused():
    with pytest.raises(BmamlError, match="actions have 3 numbers, those of the environment 2"):
        fit(SETTINGS, **{**OPTIONS, "policy": gaussian_policy(3)})


def test_particles_that_were_never_validated_are_not_the_best(tmp_path, monkeypatch):
    """Ctrl-C in the first interval saves the run, and nothing that one would want to use."""

    def interrupted(self, state, end):
        os.kill(os.getpid(), signal.SIGINT)
        return advance(self, state, int(state.step) + 1)

    advance = Iterations.__call__
    monkeypatch.setattr(Iterations, "__call__", interrupted)
    with pytest.raises(Interrupted):
        fit(SETTINGS, out=tmp_path / "rl", **OPTIONS)
    given = {"environment": ENVIRONMENT, "policy": POLICY}
    with pytest.raises(RunError, match="no validated particles yet, only those of update 1"):
        TrainedPolicies.load(tmp_path / "rl", **given)
    assert TrainedPolicies.load(tmp_path / "rl", which="last", **given).iteration == 1


@pytest.mark.parametrize(
    ("tasks", "steps", "message"), [(0, None, "tasks is 0"), (1, -1, "steps is -1")]
)
def test_numbers_of_an_evaluation_that_mean_nothing_are_refused(run, tasks, steps, message):
    with pytest.raises(ValueError, match=message):
        run[0].evaluate(tasks, steps=steps)


def test_a_run_that_was_stopped_continues_bit_for_bit(run, tmp_path):
    trained, _ = run

    def stop(step, particles):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(replace(SETTINGS), out=tmp_path / "rl", on_validation=stop, **OPTIONS)

    def stop_later(step, particles):
        if step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(SETTINGS, out=tmp_path / "rl", resume=True, on_validation=stop_later, **OPTIONS)
    resumed = fit(SETTINGS, out=tmp_path / "rl", resume=True, **OPTIONS)
    assert same(resumed.last, trained.last)
    assert same(resumed.particles, trained.particles)
    for split in ("validation", "training"):
        assert [entry[split] for entry in resumed.history] == [
            entry[split] for entry in trained.history
        ]


def test_other_settings_are_not_resumed(run):
    with pytest.raises(RunError, match="resume with the settings it began with"):
        fit(replace(SETTINGS, tasks=3), out=run[1], resume=True, **OPTIONS)


def test_a_host_environment_trains_too():
    trained = fit(
        replace(SETTINGS, method="vpg-reptile", iterations=1),
        environment=HostNavigation(),
        policy=POLICY,
        progress=False,
    )
    assert np.isfinite(trained.history[-1]["validation"]["return_best"])


def test_a_simulator_that_gives_up_leaves_what_was_learned_until_then(tmp_path):
    settings = replace(SETTINGS, method="vpg-reptile", iterations=4)
    # Two iterations play twice each; the third meets NaN.
    world = HostNavigation(spoil=True, spoil_after=4)
    given = {"environment": world, "policy": POLICY, "progress": False, "validate_every": 4}
    with pytest.raises(SimulationError, match=r"NaN.*; the last good state is that of step 2, which"):
        fit(settings, out=tmp_path / "rl", **given)
    kept = TrainedPolicies.load(tmp_path / "rl", which="last", environment=world, policy=POLICY)
    assert kept.iteration == 2


def test_returns_that_are_no_numbers_are_told(run):
    lost = replace(run[0], particles=jax.tree.map(lambda leaf: leaf * np.float32(np.nan), run[0].last))
    with pytest.raises(SimulationError, match="returns of the adapted policies are not finite"):
        lost.evaluate(2)


def test_a_run_in_an_environment_of_ones_own_asks_for_it(tmp_path):
    own = replace(SETTINGS, environment="pendulum", method="vpg-reptile", iterations=1)
    world = HostNavigation()
    fit(own, environment=world, policy=POLICY, out=tmp_path / "rl", progress=False)
    with pytest.raises(RunError, match=r"of its own, 'pendulum': load it in Python"):
        TrainedPolicies.load(tmp_path / "rl")
    TrainedPolicies.load(tmp_path / "rl", environment=world, policy=POLICY)


def test_rewards_beyond_bounds_are_told():
    class Exploding(Navigation):
        def step(self, task, state, action, key):
            taken = super().step(task, state, action, key)
            return taken._replace(reward=taken.reward * np.float32(np.inf))

    with pytest.raises(DivergedError, match="not finite at step 1"):
        fit(SETTINGS, **{**OPTIONS, "environment": Exploding(horizon=4)})


def test_the_summary_takes_the_best_particle_of_each_task():
    returns = np.array([[[0.0, 1.0], [4.0, 2.0]], [[3.0, 5.0], [9.0, 1.0]]], np.float32)
    scores = {name: float(value) for name, value in summarise(jax.numpy.asarray(returns)).items()}
    assert scores == {
        "return_best": 7.0,
        "return_mean": 4.5,
        "return_best_before": 2.5,
        "return_mean_before": 1.75,
    }


KILLED = """
import sys
from bmaml.rl import Settings, fit, gaussian_policy
from bmaml.rl.envs import Locomotion
settings = Settings("cheetah-velocity", "vpg-reptile", particles=2, iterations=100, tasks=2, episodes=2,
                    held_out_tasks=2)
world = Locomotion("cheetah", "velocity", horizon=10)
trained = fit(settings, environment=world, policy=gaussian_policy(6, hidden=(4,)), validate_every=2,
              out=sys.argv[1], resume=True, progress=False)
"""


@pytest.mark.slow
def test_a_killed_run_of_robots_resumes_bit_for_bit(tmp_path):
    pytest.importorskip("mujoco.batch")

    def start(folder):
        return subprocess.Popen([sys.executable, "-c", KILLED, str(folder)])

    assert start(tmp_path / "whole").wait(timeout=300) == 0
    process, log = start(tmp_path / "killed"), tmp_path / "killed" / "log.jsonl"
    while process.poll() is None and (not log.exists() or len(log.read_text().splitlines()) < 3):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert start(tmp_path / "killed").wait(timeout=300) == 0
    world = Locomotion("cheetah", "velocity", horizon=10)
    given = {"environment": world, "policy": gaussian_policy(6, hidden=(4,))}
    whole, killed = (TrainedPolicies.load(tmp_path / name, **given) for name in ("whole", "killed"))
    assert same(whole.last, killed.last)
    assert same(whole.particles, killed.particles)
    assert [one["validation"] for one in whole.history] == [one["validation"] for one in killed.history]


PROGRAM = """
import os
os.sched_setaffinity(0, range(min(2, os.cpu_count())))
from bmaml.rl import Settings, fit
settings = Settings("navigation", "svpg-trpo", particles=2, iterations=2, tasks=2, episodes=2,
                    held_out_tasks=2)
fit(settings, progress=False, validate_every=1)
print("done")
"""


@pytest.mark.slow
def test_training_on_two_threads_does_not_hang():
    """XLA's pool of two threads can hang on two LAPACK solvers in one program."""
    environment = dict(os.environ, JAX_DISABLE_MOST_OPTIMIZATIONS="0")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600, env=environment
    )
    assert done.stdout.strip() == "done", done.stderr
