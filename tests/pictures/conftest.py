"""A tiny run on coloured pictures, and folders to ask it about."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bmaml.pictures import PictureModel
from bmaml.recipe import Recipe
from bmaml.train import fit

WAYS, SIZE = 3, 16
COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 220)}


def dab(path: Path, colour, seed: int = 0, size: tuple[int, int] = (20, 20)) -> Path:
    """A picture of one colour with some noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).normal(0.0, 12.0, (size[1], size[0], 3))
    Image.fromarray(np.clip(np.asarray(colour) + noise, 0, 255).astype(np.uint8)).save(path)
    return path


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """A cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BMAML_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A run on a folder of fifteen colours, which is gone when the run is used."""
    pictures, out = tmp_path_factory.mktemp("colours"), tmp_path_factory.mktemp("runs") / "run"
    colours = np.random.default_rng(0).integers(0, 256, (15, 3))
    for label, colour in enumerate(colours):
        for seed in range(4):
            dab(pictures / f"class{label}" / f"{seed}.png", colour, seed)
    recipe = Recipe(
        tasks="folder",
        method="emaml",
        method_options={"num_particles": 2, "inner_steps": 8},
        task_options={"folder": str(pictures), "size": SIZE, "ways": WAYS, "validation_tasks": 5},
        model_options={"filters": 8, "blocks": 2},
    )
    fit(
        recipe.learner(),
        recipe.task_source(),
        steps=10,
        batch_size=4,
        out=out,
        progress=False,
        description=recipe.to_json(),
    )
    shutil.rmtree(pictures)
    return out


@pytest.fixture(scope="session")
def model(run_folder) -> PictureModel:
    return PictureModel.load(run_folder)


@pytest.fixture
def support(tmp_path) -> Path:
    """One to three labelled pictures of each colour, in different sizes and formats."""
    folder = tmp_path / "labelled"
    for label, (name, colour) in enumerate(COLOURS.items()):
        for seed in range(label + 1):
            suffix = ("png", "jpg", "bmp")[seed]
            dab(folder / name / f"{seed}.{suffix}", colour, 10 + seed, (9 + 30 * seed, 40))
    return folder


@pytest.fixture
def query(tmp_path) -> Path:
    """Two unlabelled pictures of each colour, in folders that mean nothing."""
    folder = tmp_path / "unlabelled"
    for name, colour in COLOURS.items():
        dab(folder / f"{name} one.png", colour, 20, (50, 30))
        dab(folder / "more" / name / "two.jpg", colour, 21, (30, 70))
    return folder
