"""What the estimators can be told before they see data."""

from typing import Any

from sklearn.base import BaseEstimator

# The parameters that are the method's own, under the same names.
METHOD_OPTIONS = ("num_particles", "inner_steps", "step_size")
_ONE_PARTICLE = ("maml", "fomaml")


class Settings(BaseEstimator):
    """The parameters of both estimators.

    Arguments:
        method: "bmaml", "bfa", "emaml", "maml", "fomaml" or "reptile".
        num_particles: networks; None is the method's default.
        inner_steps: updates of an adaptation; None is the method's default.
        step_size: of those updates; None is the method's default.
        shots: the most rows to adapt to in training; None is half of a typical task, at most 10.
        steps: meta-updates.
        hidden: the widths of the network's hidden layers.
        batch_size: tasks in a meta-update.
        validation_share: of the tasks, to choose the particles that are kept.
        random_state: an integer makes `fit` reproducible.
        verbose: show a progress bar, and say what was left out of the data.
        out: a folder to train into, for the `bmaml` command and for `load`; a folder holds one run,
            so leave it out in a search.
    """

    # No types: scikit-learn wants a constructor that keeps whatever it is given; `fit` complains.
    def __init__(
        self,
        method="bmaml",
        *,
        num_particles=None,
        inner_steps=None,
        step_size=None,
        shots=None,
        steps=3_000,
        hidden=(40, 40, 40),
        batch_size=10,
        validation_share=0.15,
        random_state=None,
        verbose=False,
        out=None,
    ):
        self.method = method
        self.num_particles = num_particles
        self.inner_steps = inner_steps
        self.step_size = step_size
        self.shots = shots
        self.steps = steps
        self.hidden = hidden
        self.batch_size = batch_size
        self.validation_share = validation_share
        self.random_state = random_state
        self.verbose = verbose
        self.out = out

    def method_options(self) -> dict[str, Any]:
        """Those of the method that were given."""
        options = {name: getattr(self, name) for name in METHOD_OPTIONS}
        if self.method in _ONE_PARTICLE and options.pop("num_particles") not in (None, 1):
            raise ValueError(f"{self.method} has one particle: leave num_particles out, or use emaml.")
        return {name: value for name, value in options.items() if value is not None}

    def split_options(self, seed: int) -> dict[str, Any]:
        """Those of the split into tasks to train and to validate on."""
        if self.validation_share == 0:
            raise ValueError(
                "validation_share is 0, but some tasks must choose which particles are kept: give a "
                "share above 0."
            )
        # What to test on is for the caller to keep.
        return {"validation_share": self.validation_share, "test_share": 0.0, "seed": seed}
