"""Cheetah and ant: Gymnasium's physics to the bit, the paper's rewards, any number of threads."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("mujoco.batch")
gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from bmaml.errors import BmamlError, SimulationError
from bmaml.rl import gaussian_policy
from bmaml.rl.envs import Locomotion
from bmaml.rl.envs.gymnasium_tasks import LocomotionTask
from bmaml.rl.rollout import draw_tasks, make_rollout
from tests.rl.small import for_tasks

pytestmark = pytest.mark.filterwarnings("ignore")
ROBOTS = pytest.mark.parametrize("robot", ["cheetah", "ant"])
PHYSICS = pytest.mark.parametrize("physics", ["authors", "gymnasium"])
GOALS = pytest.mark.parametrize("goal", ["velocity", "direction"])


@ROBOTS
@pytest.mark.parametrize("threads", [1, 2])
def test_the_state_is_gymnasiums_bit_for_bit_over_200_steps(robot, threads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Loading Gymnasium's cheetah has MuJoCo write a log.
    name, options = {"cheetah": ("HalfCheetah-v5", {}), "ant": ("Ant-v5", {})}[robot]
    if robot == "ant":
        options = {"terminate_when_unhealthy": False}
    theirs = gymnasium.make(name, **options).unwrapped
    theirs.reset(seed=3)
    ours = Locomotion(robot, "velocity", physics="gymnasium", threads=threads)
    start = np.stack([theirs.data.qpos] * 3), np.stack([theirs.data.qvel] * 3)
    seen = ours.reset_to(np.zeros(3), *start)
    draws = np.random.default_rng(0)
    for _ in range(200):
        action = draws.uniform(-1.0, 1.0, ours.action_size).astype(np.float32)
        observation = theirs.step(action)[0]
        seen = ours.step(np.stack([action] * 3), np.ones(3, bool)).observations
        np.testing.assert_array_equal(ours.positions[2], theirs.data.qpos)
        np.testing.assert_array_equal(ours.velocities[0], theirs.data.qvel)
        # Ant-v5's contact forces are those before the last physics step; ours are at the new state.
        size = theirs.data.qpos.size - ours.robot.hidden + theirs.data.qvel.size
        np.testing.assert_array_equal(seen[1, :size], observation[:size])
    assert seen.shape[1] == observation.shape[0]


@pytest.mark.parametrize(
    ("robot", "physics", "size"),
    [("cheetah", "authors", 20), ("ant", "authors", 125), ("ant", "gymnasium", 105)],
)
def test_observations_have_the_size_they_should(robot, physics, size):
    assert Locomotion(robot, "velocity", physics=physics).observation_size == size


@ROBOTS
@GOALS
def test_rewards_are_those_of_the_paper(robot, goal):
    world = Locomotion(robot, goal)
    tasks = np.array([1.0, -1.0])
    world.reset(tasks, jax.random.split(jax.random.key(0), 2))
    actions = np.array([[0.5] * world.action_size, [3.0] * world.action_size], np.float32)
    _, rewards, _ = world.step(actions, np.ones(2, bool))
    v = world.sensors[:, 0]
    squares = np.sum(np.clip(actions.astype(np.float64), -1, 1) ** 2, axis=1)
    if robot == "cheetah":
        cost, extra = 0.05 * squares, 0.0
    else:
        forces = np.clip(world.forces, -1, 1).reshape(2, -1)
        cost = 0.005 * squares + 0.0005 * np.sum(forces**2, axis=1)
        extra = 0.05 + (1.0 if goal == "velocity" else 0.0)
    forward = tasks * v if goal == "direction" else -np.abs(v - tasks)
    np.testing.assert_allclose(rewards, forward - cost + extra, rtol=1e-9)


@ROBOTS
@GOALS
@PHYSICS
def test_rewards_observations_and_ends_are_those_of_a_single_simulation(robot, goal, physics):
    """Recomputed, step by step, with MuJoCo's plain functions."""
    mujoco = pytest.importorskip("mujoco")
    world = Locomotion(robot, goal, physics=physics)
    task = -1.0 if goal == "direction" else 0.7
    world.reset(np.full(2, task), jax.random.split(jax.random.key(0), 2))
    model, torso = world.model, world.torso
    data, fresh = mujoco.MjData(model), mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = world.positions[0], world.velocities[0]
    mujoco.mj_forward(model, data)
    draws = np.random.default_rng(0)
    for _ in range(30):
        actions = 1.5 * draws.normal(size=(2, model.nu)).astype(np.float32)
        observations, rewards, ended = world.step(actions, np.ones(2, bool))
        action = np.clip(actions[0].astype(float), -1.0, 1.0)
        data.ctrl[:] = action
        for _ in range({"authors": 1, "gymnasium": 5}[physics]):
            mujoco.mj_step(model, data)
        fresh.qpos[:], fresh.qvel[:], fresh.ctrl[:] = data.qpos, data.qvel, action
        fresh.qacc_warmstart[:] = data.qacc_warmstart
        mujoco.mj_forward(model, fresh)
        mujoco.mj_subtreeVel(model, fresh)
        mujoco.mj_rnePostConstraint(model, fresh)
        speed = fresh.subtree_linvel[torso, 0]
        forces, places = np.clip(fresh.cfrc_ext, -1.0, 1.0), fresh.qpos
        reward = task * speed if goal == "direction" else -abs(speed - task)
        if robot == "cheetah":
            reward -= 0.05 * np.sum(action**2)
            seen = [places[1:], fresh.qvel]
        else:
            reward += 0.05 - 0.005 * np.sum(action**2) - 0.0005 * np.sum(forces**2)
            reward += 1.0 if goal == "velocity" else 0.0
            seen = [places[2:], fresh.qvel, forces[1:].ravel()]
        if physics == "authors":
            rotation = [forces.ravel(), fresh.xmat[torso]] if robot == "ant" else []
            first = places if robot == "ant" else places[1:]
            seen = [first, fresh.qvel, *rotation, fresh.subtree_com[torso]]
        np.testing.assert_allclose(rewards[0], reward, rtol=0, atol=1e-10)
        np.testing.assert_allclose(observations[0], np.concatenate(seen), rtol=0, atol=1e-10)
        assert ended[0] == (robot == "ant" and not 0.2 <= places[2] <= 1.0)


@pytest.mark.parametrize(
    ("physics", "spread"), [("authors", (0.01, 0.1)), ("gymnasium", (0.1 / 3**0.5, 0.1))]
)
def test_episodes_begin_near_the_robots_first_position(physics, spread):
    world = Locomotion("ant", "velocity", physics=physics)
    world.reset(np.zeros(400), jax.random.split(jax.random.key(0), 400))
    moved = world.positions - world.start
    np.testing.assert_allclose(moved.std(), spread[0], rtol=0.05)
    np.testing.assert_allclose(world.velocities.std(), spread[1], rtol=0.05)
    if physics == "gymnasium":
        assert np.max(np.abs(moved)) <= 0.1
    else:  # Legs bent, as in the model of the paper's code.
        np.testing.assert_allclose(world.start[7:], [0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0])


@PHYSICS
def test_an_ant_that_falls_or_flies_ends_its_episode(physics):
    world = Locomotion("ant", "velocity", physics=physics)
    positions = np.stack([world.start] * 3)
    positions[0, 2], positions[1, 2] = 5.0, -0.5
    world.reset_to(np.zeros(3), positions, np.zeros((3, world.model.nv)))
    ended = world.step(np.zeros((3, 8), np.float32), np.array([True, False, True])).ended
    np.testing.assert_array_equal(ended, [True, True, False])


def test_episodes_that_are_over_stand_still():
    world = Locomotion("cheetah", "velocity")
    world.reset(np.zeros(2), jax.random.split(jax.random.key(0), 2))
    before = world.positions.copy()
    world.step(np.ones((2, 6), np.float32), np.array([True, False]))
    np.testing.assert_array_equal(world.positions[1], before[1])
    assert np.any(world.positions[0] != before[0])


@pytest.mark.parametrize(
    ("robot", "physics", "horizon"), [("cheetah", "authors", 20), ("ant", "gymnasium", 60)]
)
def test_no_bit_depends_on_the_number_of_threads(robot, physics, horizon):
    policy = gaussian_policy(8 if robot == "ant" else 6, hidden=(4,))
    played = []
    for threads in (1, 2):
        world = Locomotion(robot, "direction", physics=physics, threads=threads, horizon=horizon)
        example = jnp.zeros((1, world.observation_size))
        particles = jax.vmap(lambda key, example=example: policy.init(key, example))(
            jax.random.split(jax.random.key(0), 2)
        )
        tasks = draw_tasks(world, jax.random.key(1), 2)
        rollout = make_rollout(world, policy, 2)
        played.append(rollout(for_tasks(particles, 2), tasks, jax.random.key(2)))
    for one, two in zip(*played, strict=True):
        np.testing.assert_array_equal(one, two)
    # Some ants fall: episodes that are over are among what is compared.
    assert bool(played[0].mask.all()) == (robot == "cheetah")


def test_goals_are_drawn_as_in_the_paper():
    for robot, fastest in (("cheetah", 2.0), ("ant", 3.0)):
        speeds = draw_tasks(Locomotion(robot, "velocity"), jax.random.key(0), 200)
        assert 0 <= speeds.min() < 0.1 * fastest
        assert 0.9 * fastest < speeds.max() <= fastest
        ways = draw_tasks(Locomotion(robot, "direction"), jax.random.key(0), 50)
        assert set(np.asarray(ways).tolist()) == {-1.0, 1.0}


@ROBOTS
@GOALS
@PHYSICS
def test_gymnasiums_checker_is_content(robot, goal, physics):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(LocomotionTask(robot, goal, physics=physics), skip_render_check=True)


def test_the_registered_environments_can_be_made():
    made = gymnasium.make("bmaml/CheetahDirection-v0", task=-1.0)
    _, info = made.reset(seed=0)
    assert info["task"] == -1.0
    steps = 0
    over = False
    while not over:
        _, _, terminated, truncated, _ = made.step(made.action_space.sample())
        over, steps = terminated or truncated, steps + 1
    assert steps == 200


@pytest.mark.parametrize(
    ("goal", "task", "message"),
    [
        ("direction", 7.0, "a direction is -1 or 1"),
        ("velocity", np.nan, "a velocity is a finite number"),
    ],
)
def test_a_task_that_there_is_not_is_refused(goal, task, message):
    with pytest.raises(BmamlError, match=message):
        LocomotionTask("cheetah", goal, task=task)
    with pytest.raises(BmamlError, match=message):
        LocomotionTask("cheetah", goal).reset(options={"task": task})


def test_a_task_that_is_no_number_is_refused():
    with pytest.raises(BmamlError, match="a direction is -1 or 1"):
        LocomotionTask("cheetah", "direction").reset(options={"task": np.ones(2)})


def test_tasks_are_drawn_without_jax_which_would_hang_in_a_forked_process(monkeypatch):
    world = LocomotionTask("cheetah", "velocity")
    monkeypatch.setattr(jax.random, "key", None)
    seen, drawn = zip(*(world.reset(seed=seed) for seed in (1, 1, 2)), strict=True)
    np.testing.assert_array_equal(seen[0], seen[1])
    assert drawn[0] == drawn[1] != drawn[2]
    assert 0.0 <= drawn[0]["task"] <= 2.0
    assert abs(LocomotionTask("cheetah", "direction").reset(seed=0)[1]["task"]) == 1.0


def test_nan_is_told_once_and_writes_no_log(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    world = Locomotion("cheetah", "velocity")
    world.reset(np.zeros(1), jax.random.split(jax.random.key(0), 1))
    with pytest.raises(BmamlError, match="action is NaN"):
        world.step(np.full((1, 6), np.nan, np.float32), np.ones(1, bool))
    world.velocities[:] = np.nan
    with pytest.raises(SimulationError, match="MuJoCo met NaN"):
        world.step(np.zeros((1, 6), np.float32), np.ones(1, bool))
    assert capfd.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_loading_a_robot_writes_no_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Locomotion("cheetah", "velocity")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dog", "velocity", "authors"), "Unknown task dog-velocity"),
        (("ant", "position", "authors"), "Unknown task ant-position"),
        (("ant", "velocity", "moon"), "Unknown physics 'moon'"),
    ],
)
def test_unknown_names_are_told(arguments, message):
    robot, goal, physics = arguments
    with pytest.raises(BmamlError, match=message):
        Locomotion(robot, goal, physics=physics)


def test_a_missing_mujoco_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(BmamlError, match=r"pip install '\.\[rl\]'"):
        Locomotion("ant", "velocity")
