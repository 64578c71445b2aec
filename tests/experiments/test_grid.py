import jax.numpy as jnp
import pytest

from bmaml.distances import PredictionSpace
from bmaml.experiments import classification, figures, grid, sinusoid
from bmaml.posterior import FlatPrior


def test_a_composed_method_is_its_preset_with_options():
    part = sinusoid.Part("bmaml-flat", 10, 5, 1000)
    recipe = part.recipe(0.1)
    assert (str(part), recipe.method) == ("K5-T1000-bmaml-flat-M10", "bmaml")
    learner = recipe.learner()
    assert isinstance(learner.posterior.prior, FlatPrior)
    far_apart = jnp.full((10, 10), 1e6)
    assert learner.inner.kernel.bandwidths(far_apart) == 100.0  # type: ignore[attr-defined]
    assert learner.inner.step_size == 0.1


def test_composed_methods_are_there_for_images_too():
    part = classification.Part("bmaml-prediction", 5, "glyphs", None)
    learner = part.recipe(None).learner()
    assert isinstance(learner.meta.distance, PredictionSpace)  # type: ignore[attr-defined]
    assert learner.num_particles == 5


@pytest.mark.parametrize("name", grid.COMPOSED)
def test_every_composed_method_has_a_name_and_a_colour_in_figures(name):
    assert figures.label(name, 5).startswith(grid.COMPOSED[name][0].upper() + ", M = 5, ")
    assert name in figures.COLOURS


def test_other_names_with_a_dash_are_names():
    assert figures.label("svpg-trpo", 5) == "SVPG-TRPO, M = 5"
