"""Estimators that are trained once, and a training that is left out."""

import jax
import pytest

from bmaml.tables import model as table_model
from bmaml.tasks import Data
from bmaml.trained import Compiled, of_seed
from bmaml.training_state import Example, begin
from tests.estimators.data import CLASSES, KNOWN, table

METHODS = {"numbers": "bmaml", "labels": "emaml"}
_starts = {}


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
    """Leaves out the meta-updates, whose compilation takes seconds for each of dozens of shapes.

    What is then predicted is what adaptation makes of initial particles. Gives the names of the
    training tasks of each fit.
    """
    fits = []

    def begin_only(learner, tasks, *, steps, seed, **options):
        fits.append(tasks.prepared.parts["train"].names)
        rows = tasks.training_set(jax.random.key(0))
        example = Example.of(Data(rows.x[:1], rows.y[:1]))
        start = (str(example), tasks.prepared.encoding.outputs)
        if start not in _starts:
            _starts[start] = jax.jit(lambda: begin(learner, [0], example.inputs(), steps))()
        return of_seed(_starts[start], 0, seed, learner, [], example, Compiled(learner))

    monkeypatch.setattr(table_model, "fit", begin_only)
    return fits
