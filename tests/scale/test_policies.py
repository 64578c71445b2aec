"""Reinforcement learning past one device: the same result, whoever plays and learns from a task."""

import os
import subprocess
import sys

import jax
import numpy as np

from bmaml.errors import LOST_PROCESS
from bmaml.rl import TrainedPolicies
from bmaml.rl.rollout import make_rollout, task_keys
from bmaml.rl.sharing import own_tasks
from tests.rl.small import ENVIRONMENT, POLICY, for_tasks, initial_particles
from tests.scale.commands import finish, folder_of_second, goes_on, start, start_pair, survivor_of
from tests.scale.small_policies import SHARED

NAVIGATION = (
    *("rl", "navigation", "--method=svpg-chaser", "--particles=2"),
    *("--tasks=4", "--episodes=2"),
)
# Float32 leaves directions of little curvature undetermined, which conjugate gradients then magnify.
EXACT = {"JAX_ENABLE_X64": "1"}


def test_a_meta_update_is_the_same_on_several_devices(tmp_path):
    path = tmp_path / "updates.npz"
    command = [sys.executable, "-m", "tests.scale.small_policies", str(path)]
    subprocess.run(command, check=True, timeout=900, env={**os.environ, "JAX_NUM_CPU_DEVICES": "4"})
    results = np.load(path)
    for kind, devices in SHARED:
        alone, shared = results[f"{kind}-1"], results[f"{kind}-{devices}"]
        np.testing.assert_allclose(shared, alone, rtol=1e-6, atol=1e-7, err_msg=kind)
    assert str(results["refused"]).startswith(
        "3 tasks a meta-update cannot be shared out evenly over 2"
    )


def test_an_episode_is_the_same_whoever_plays_it():
    particles, key = initial_particles(2), jax.random.key(3)
    tasks = jax.vmap(ENVIRONMENT.draw_task)(jax.random.split(jax.random.key(4), 4))
    rollout = make_rollout(ENVIRONMENT, POLICY, 3)
    all_played = rollout(for_tasks(particles, 4), tasks, key)
    second_half = rollout(for_tasks(particles, 2), tasks[2:], task_keys(key, 2, first=2))
    for whole, part in zip(all_played, second_half, strict=True):
        np.testing.assert_array_equal(whole[2:], part)


def test_tasks_are_shared_out_evenly_or_not_at_all(monkeypatch):
    assert own_tasks(5) == slice(0, 5)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    assert own_tasks(6) == slice(3, 6)
    assert own_tasks(5) == slice(0, 5)


def test_two_processes_play_and_learn_as_one(tmp_path):
    assert finish(start(NAVIGATION, tmp_path / "alone", "--iterations=3", **EXACT))[0] == 0
    first, second = start_pair(NAVIGATION, tmp_path / "pair", "--iterations=3", **EXACT)
    (code, told, errors), (other, nothing, _) = finish(first), finish(second)
    assert (code, other) == (0, 0), errors
    assert "Trained to iteration 3" in told
    assert "Trained" not in nothing, "only the first process speaks"
    assert not folder_of_second(tmp_path / "pair").exists(), "and only it writes"
    assert "experimental" not in errors, "the runtime's remarks are for its developers"
    with jax.enable_x64(True):
        alone, pair = (
            TrainedPolicies.load(tmp_path / name, which="last") for name in ("alone", "pair")
        )
    for one, two in zip(jax.tree.leaves(alone.particles), jax.tree.leaves(pair.particles), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)
    for one, two in zip(alone.history, pair.history, strict=True):
        for split in ("validation", "training"):
            for name, value in one[split].items():
                np.testing.assert_allclose(two[split][name], value, rtol=1e-5)


def test_a_lost_process_ends_the_other_with_a_sentence_and_the_run_goes_on(tmp_path):
    folder, long = tmp_path / "run", "--iterations=2000"
    pair = start_pair(NAVIGATION, folder, long)
    assert survivor_of(pair, folder, 1) == (1, [f"bmaml: {LOST_PROCESS}"])
    goes_on(NAVIGATION, folder, long)
