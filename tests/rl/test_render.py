"""Pictures and animations of policies, and one sentence for a name that cannot be drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from bmaml.errors import BmamlError
from bmaml.rl import GaussianPolicy, Settings, TrainedPolicies
from bmaml.rl.envs import Locomotion, TaskEnvironment
from bmaml.rl.policy import gaussian_policy
from bmaml.rl.render import render, require_picture_name
from bmaml.rl.render.drawing import scene_of
from bmaml.rl.render.recording import record
from bmaml.rl.render.robot import capsule
from tests.rl.small import ENVIRONMENT, POLICY, HostNavigation, initial_particles


def untrained(environment: TaskEnvironment, policy: GaussianPolicy, particles) -> TrainedPolicies:
    settings = Settings("navigation", "vpg-reptile", "authors", 2, episodes=2).resolved()
    return TrainedPolicies(settings, environment, policy, particles, particles, 0)


@pytest.fixture(scope="module")
def navigator():
    return untrained(ENVIRONMENT, POLICY, initial_particles(2))


@pytest.fixture(scope="module")
def runner():
    pytest.importorskip("mujoco.batch")
    world = Locomotion("ant", "direction", threads=1, horizon=4)
    policy = gaussian_policy(world.action_size, hidden=(4,))
    example = jnp.zeros((1, world.observation_size))
    keys = jax.random.split(jax.random.key(0), 2)
    return untrained(world, policy, jax.vmap(lambda key: policy.init(key, example))(keys))


def test_a_recording_shows_each_task_before_and_after(navigator):
    recordings = record(navigator, 3)
    assert len(recordings) == 3
    for one in recordings:
        assert one.task.shape == (2,)
        for episode in (one.before, one.after):
            assert 1 <= len(episode.states) <= ENVIRONMENT.horizon
            np.testing.assert_array_equal(episode.states[0], [0.0, 0.0])
            steps = np.abs(np.diff(episode.states, axis=0))
            assert np.all(steps <= ENVIRONMENT.reach + 1e-6)
    assert not np.array_equal(recordings[0].before.states, recordings[0].after.states)


def test_a_recording_is_the_same_every_time(navigator):
    first, second = record(navigator, 2), record(navigator, 2)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.after.states, two.after.states)


@pytest.mark.parametrize("name", ["paths.png", "paths.svg"])
def test_navigation_is_drawn_as_a_picture(navigator, tmp_path, name):
    render(navigator, tmp_path / "new folder" / name, tasks=2)
    assert (tmp_path / "new folder" / name).stat().st_size > 1000


def test_navigation_is_drawn_as_an_animation(navigator, tmp_path):
    render(navigator, tmp_path / "paths.gif", tasks=1)
    with Image.open(tmp_path / "paths.gif") as picture:
        assert getattr(picture, "n_frames", 1) > 1


def test_a_robot_is_drawn_without_a_graphics_driver(runner, tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disabled")
    recording = record(runner, 1)[0]
    assert recording.before.states.shape[1] == runner.environment.model.nq
    assert scene_of(runner.environment).title(recording.task) in ("forward", "backward")
    render(runner, tmp_path / "ant.png", tasks=1)
    with Image.open(tmp_path / "ant.png") as picture:
        assert len(picture.convert("RGB").getcolors(2**24) or []) > 10


def test_a_capsule_is_all_within_its_radius():
    ends = np.array([[0.0, 0.0], [2.0, 0.0]])
    outline = capsule(ends, 0.5)
    nearest = np.stack([np.clip(outline[:, 0], 0.0, 2.0), np.zeros(len(outline))], axis=1)
    np.testing.assert_allclose(np.linalg.norm(outline - nearest, axis=1), 0.5, atol=1e-9)
    assert outline[:, 0].min() == pytest.approx(-0.5)
    assert outline[:, 0].max() == pytest.approx(2.5)


@pytest.mark.parametrize("name", ["film.avi", "film", "film.png.txt"])
def test_a_name_that_says_no_format_is_refused(tmp_path, name):
    with pytest.raises(BmamlError, match=r"\.gif"):
        require_picture_name(tmp_path / name)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(BmamlError, match="is a folder"):
        require_picture_name(tmp_path)


def test_a_world_of_ones_own_has_no_drawing():
    with pytest.raises(BmamlError, match="no drawing of HostNavigation"):
        scene_of(HostNavigation())
