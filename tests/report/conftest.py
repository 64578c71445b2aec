"""A run folder that the tests share."""

import pytest

import bmaml
from bmaml.recipe import Recipe


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """(folder, trained, recipe) of a sinusoid run of a few updates."""
    folder = tmp_path_factory.mktemp("runs") / "a run"
    recipe = Recipe("sinusoid", "maml", {}, {"shots": 5, "num_tasks": 20}, {"hidden": [4]})
    trained = bmaml.fit(
        recipe.learner(),
        recipe.task_source(),
        steps=4,
        validate_every=2,
        out=folder,
        progress=False,
        description=recipe.to_json(),
    )
    return folder, trained, recipe
