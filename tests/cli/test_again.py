"""The command that a page shows makes the run that it is shown for, or is not shown."""

import shlex
from pathlib import Path

import pytest
import tyro

from bmaml.cli.main import Command
from bmaml.cli.train import name_the_kind
from bmaml.cli.train.again import command
from bmaml.recipe import Recipe

SETTINGS = {"steps": 70, "seeds": [3], "batch_size": 4, "validate_every": 9, "bmaml": "0.1.0"}
TABLE = {
    "path": "/data/a b.csv",
    "task": "shop no. 1",
    "target": "$ & 'x'",
    "features": ["a", "b c"],
    "kind": "numbers",
    "validation_share": 0.2,
    "test_share": 0.1,
    "seed": 5,
    "shots": 6,
    "encoding": {"features": [{"name": "a"}]},
}
IMAGES = {"ways": 3, "shots": 1, "query_shots": 2, "num_tasks": None}
SHARES = {"validation_share": 0.3, "test_share": 0.1}
RECIPES = [
    Recipe(
        "sinusoid", "bmaml", {"num_particles": 7, "step_size": 0.1}, {"shots": 4, "num_tasks": None}
    ),
    Recipe(
        "sinusoid",
        "bmaml",
        {
            "step_size": 0.01,
            "inner": "sgld",
            "temperature": 0.5,
            "distance": "mmd",
            "leader_steps": 3,
            "leader_step_size": 0.02,
            "prior_precision": 0.003,
        },
        {"shots": 4, "num_tasks": 9},
    ),
    Recipe(
        "sinusoid",
        "emaml",
        {"learned_steps": True, "inner": "svgd", "kernel": "imq"},
        {"shots": 4, "num_tasks": 9},
    ),
    Recipe(
        "sinusoid",
        "bmaml",
        {"likelihood": "squared_error", "prior": "flat", "leader_rows": "query"},
        {"shots": 4, "num_tasks": 9},
    ),
    Recipe("glyphs", "maml", {"inner_steps": 3}, IMAGES, {"filters": 8, "blocks": 2, "norm": "task"}),
    Recipe("miniimagenet", "maml", {}, {**IMAGES, "folder": "/my data/mini", "size": 42}),
    Recipe(
        "omniglot",
        "emaml",
        {"settings": "paper"},
        {**IMAGES, "folder": "/my data/omniglot", "split": "vinyals", "rotations": True},
    ),
    Recipe(
        "folder",
        "bmaml",
        {},
        {**IMAGES, "folder": "/my pictures", "size": 28, "colour": False, **SHARES},
    ),
    Recipe("table", "bfa", {"num_particles": 2}, TABLE, {"hidden": [5, 6]}),
]


def parsed(line):
    words = shlex.split(line)
    assert words[0] == "bmaml"
    return tyro.cli(Command, args=name_the_kind(words[1:]))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.tasks)
def test_the_command_line_understands_it_as_the_same_run(recipe):
    train = parsed(command(recipe, SETTINGS, Path("/runs/it is")))
    assert train.source == recipe.tasks
    assert train.method == recipe.method
    assert train.method_options() == {"settings": "paper", **recipe.method_options}
    assert (train.steps, train.seed, train.batch_size, train.validate_every) == (70, 3, 4, 9)
    assert train.out == Path("/runs/it is")
    for name, value in recipe.model_options.items():
        assert getattr(train, name) == (tuple(value) if isinstance(value, list) else value)
    if recipe.tasks == "table":
        assert train.path == Path(TABLE["path"])
        assert train.features == ("a", "b c")
        for name in ("task", "target", "kind", "validation_share", "test_share", "shots"):
            assert getattr(train, name) == TABLE[name]
        assert train.split_seed == 5
    else:
        assert train.task_options() == recipe.task_options


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        (Recipe("table", "bmaml", {}, {**TABLE, "path": None}), SETTINGS),
        (Recipe("sinusoid", "bmaml", {"targets": "numbers"}, {"shots": 4, "num_tasks": 9}), SETTINGS),
        (Recipe("glyphs", "maml", {}, {**IMAGES, "validation_tasks": 50}), SETTINGS),
        (Recipe("glyphs", "maml", {}, IMAGES, {"standardise": False}), SETTINGS),
        (Recipe("tasks of my own", "maml"), SETTINGS),
        (Recipe("sinusoid", "bmaml", {}, {"shots": 4, "num_tasks": 9}), {**SETTINGS, "seeds": [1, 2]}),
    ],
)
def test_what_only_python_can_make_has_no_command(recipe, settings):
    assert command(recipe, settings, Path("/runs/it")) is None
