"""What is not said is what the paper says."""

from dataclasses import replace

import pytest

from bmaml.errors import BmamlError
from bmaml.rl.envs.registry import ENVIRONMENTS
from bmaml.rl.meta import TRPO, Chaser
from bmaml.rl.meta.distance import DistanceUpdate
from bmaml.rl.presets import METHODS
from bmaml.rl.settings import Settings


def test_the_papers_exceptions():
    ant = Settings("ant-direction", "svpg-trpo").resolved()
    assert (ant.episodes, ant.meta_step_size, ant.temperature, ant.iterations) == (40, 0.1, 0.1, 200)
    assert Settings("navigation", "svpg-chaser").resolved().temperature == 0.1
    assert Settings("navigation").resolved().iterations == 100
    cheetah = Settings("cheetah-velocity", "svpg-chaser").resolved()
    assert (cheetah.episodes, cheetah.meta_step_size, cheetah.temperature) == (10, 0.001, 1.0)


def test_what_is_said_stands():
    settings = Settings("ant-direction", "svpg-trpo", episodes=2, temperature=3.0).resolved()
    assert (settings.episodes, settings.temperature) == (2, 3.0)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("choice", ["paper", "authors"])
def test_every_method_can_be_built(environment, method, choice):
    built = Settings(environment, method, choice).build_method()
    assert built.name == method
    assert built.inner.couples == method.startswith("svpg")


def test_the_bound_is_trpos_and_the_authors_adam_has_its_own_step():
    assert isinstance(trpo := Settings(method="vpg-trpo").build_method().meta, TRPO)
    assert trpo.divergence_bound == 0.01
    chaser = Settings(method="svpg-chaser", settings="authors").build_method().meta
    assert isinstance(chaser, Chaser)
    assert (chaser.step_size, chaser.squared) == (0.001, False)


@pytest.mark.parametrize("choice", ["paper", "authors"])
@pytest.mark.parametrize("method", ["svpg-chaser", "vpg-reptile"])
def test_a_step_of_adam_that_is_asked_for_is_taken(method, choice):
    built = Settings(method=method, settings=choice, meta_step_size=0.02).build_method().meta
    assert isinstance(built, DistanceUpdate)
    assert (built.step_size, built.squared) == (0.02, choice == "paper")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "ppo"}, "Unknown method 'ppo'"),
        ({"settings": "mine"}, "Unknown settings 'mine'"),
        ({"physics": "lunar"}, "Unknown physics 'lunar'"),
        ({"particles": 0}, "particles is 0"),
        ({"temperature": -1.0}, "temperature is -1"),
        ({"temperature": float("inf")}, "temperature is inf"),
        ({"meta_step_size": float("inf")}, "meta_step_size is inf"),
        ({"threads": -3}, "threads is -3; it must be at least 1"),
        ({"discount": 1.5}, "discount is 1.5"),
    ],
)
def test_nonsense_is_told_in_a_sentence(change, message):
    with pytest.raises(BmamlError, match=message):
        Settings(**change).resolved()


@pytest.mark.parametrize("change", [{"physics": "gymnasium"}, {"threads": 2}])
def test_navigation_has_no_physics(change):
    with pytest.raises(BmamlError, match="navigation has none"):
        replace(Settings("navigation"), **change).resolved()
    replace(Settings("cheetah-velocity"), **change).resolved()


def test_an_unknown_environment_is_told():
    with pytest.raises(BmamlError, match="Unknown environment 'pong': use one of navigation"):
        Settings("pong").build_environment()
