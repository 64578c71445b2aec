"""Estimators that are trained once, and a training that is left out."""

import jax
import numpy as np
import pytest

from bmaml.tables import model as table_model
from bmaml.tasks import Data
from bmaml.trained import Compiled, of_seed
from bmaml.training_state import Example, begin
from tests.estimators.data import CLASSES, KNOWN, table

METHODS = {"numbers": "bmaml", "labels": "emaml"}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Both kinds trained with groups, each into a folder."""
    estimators = {}
    for kind, estimator in CLASSES.items():
        X, y, groups = table(kind)
        options = {"method": METHODS[kind], "num_particles": 3, "hidden": (16,), "inner_steps": 1}
        out = tmp_path_factory.mktemp(kind) / "run"
        made = estimator(**options, shots=5, steps=300, validation_share=0.2, random_state=0, out=out)
        estimators[kind] = made.fit(X[KNOWN], y[KNOWN], groups=groups[KNOWN])
    return estimators


@pytest.fixture
def untrained(monkeypatch):
    """Leaves out the training, which takes seconds to compile for each of dozens of shapes.

    What is then predicted is what adaptation makes of random particles. Gives the names of the
    training tasks of each fit.
    """
    fits = []

    def draw_only(learner, tasks, *, steps, seed, **options):
        fits.append(tasks.prepared.parts["train"].names)
        rows = tasks.training_set(jax.random.key(0))
        example = Example.of(Data(rows.x[:1], rows.y[:1]))
        shapes = jax.eval_shape(lambda: begin(learner, [seed], example.inputs(), steps))
        draw = np.random.default_rng(0)
        snapshot = jax.tree.map(lambda leaf: draw.normal(0, 0.3, leaf.shape).astype(leaf.dtype), shapes)
        return of_seed(snapshot, 0, seed, learner, [], example, Compiled(learner))

    monkeypatch.setattr(table_model, "fit", draw_only)
    return fits
