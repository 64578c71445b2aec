"""What the estimators can be told before they see data."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bmaml.presets import METHODS, options_of

# The parameters that are the method's own, under the same names. Each is a parameter of the estimator
# by itself, not one entry of a mapping: a search over `kernel` or `distance` is then like any other.
METHOD_OPTIONS = (
    *("num_particles", "inner_steps", "step_size", "meta_step_size", "settings"),
    *("inner", "kernel", "temperature", "learned_steps", "likelihood", "prior", "prior_precision"),
    *("leader_steps", "leader_step_size", "leader_rows", "distance"),
)
_NAMES = ("settings", "inner", "kernel", "likelihood", "prior", "leader_rows", "distance")
_ONE_PARTICLE = ("maml", "fomaml")


class Settings(BaseEstimator):
    """The parameters of both estimators.

    Of the method's own parameters (from `num_particles` to `distance`), None or False is its default;
    one that it does not have is refused. `help(bmaml.bmaml)` says more of them, and `bmaml methods`
    lists their names.

    Arguments:
        method: "bmaml", "bfa", "emaml", "maml", "fomaml" or "reptile".
        num_particles: networks.
        inner_steps: updates of an adaptation.
        step_size: of those updates.
        meta_step_size: of the meta-update, which is Adam's.
        settings: "paper", or what the "authors" of it do in their code.
        inner: the inner update: "gd", "svgd", "sgld" or "hmc".
        kernel: of "svgd", such as "imq", "rbf-layers", "rbf-learned", "rbf-70".
        temperature: of the posterior that "sgld" and "hmc" sample.
        learned_steps: meta-learn an inner step size for every parameter.
        likelihood: "gaussian" or "squared_error" of numbers, "categorical" or "cross_entropy" of
            classes.
        prior: of the weights: "gaussian" or "flat".
        prior_precision: of a Gaussian prior, at first.
        leader_steps: of "bmaml": how much farther the leader goes.
        leader_step_size: of "bmaml": of these steps.
        leader_rows: of "bmaml": what the leader sees of a task, "all" or "query".
        distance: of "bmaml": from chaser to leader: "paired", "mmd", "mmd-imq" or "prediction".
        shots: the most rows to adapt to in training; None is half of a typical task, at most 10.
        steps: meta-updates.
        hidden: the widths of the network's hidden layers.
        batch_size: tasks in a meta-update.
        validation_share: of the tasks, to choose the particles that are kept.
        random_state: an integer makes `fit` reproducible.
        verbose: show a progress bar, and say what was left out of the data.
        out: a folder to train into, for the `bmaml` command and for `load`; a folder holds one run,
            so leave it out in a search, and `save` what it finds.
    """

    # No types: scikit-learn wants a constructor that keeps whatever it is given; `fit` complains.
    def __init__(
        self,
        method="bmaml",
        *,
        num_particles=None,
        inner_steps=None,
        step_size=None,
        meta_step_size=None,
        settings=None,
        inner=None,
        kernel=None,
        temperature=None,
        learned_steps=False,
        likelihood=None,
        prior=None,
        prior_precision=None,
        leader_steps=None,
        leader_step_size=None,
        leader_rows=None,
        distance=None,
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
        self.meta_step_size = meta_step_size
        self.settings = settings
        self.inner = inner
        self.kernel = kernel
        self.temperature = temperature
        self.learned_steps = learned_steps
        self.likelihood = likelihood
        self.prior = prior
        self.prior_precision = prior_precision
        self.leader_steps = leader_steps
        self.leader_step_size = leader_step_size
        self.leader_rows = leader_rows
        self.distance = distance
        self.shots = shots
        self.steps = steps
        self.hidden = hidden
        self.batch_size = batch_size
        self.validation_share = validation_share
        self.random_state = random_state
        self.verbose = verbose
        self.out = out

    def _method_options(self) -> dict[str, Any]:
        """Those of the method that were given, as values that a run folder can keep."""
        options = {name: _plain(getattr(self, name)) for name in METHOD_OPTIONS}
        if self.method in _ONE_PARTICLE and options.pop("num_particles") not in (None, 1):
            raise ValueError(f"{self.method} has one particle: leave num_particles out, or use emaml.")
        given = {name: value for name, value in options.items() if value not in (None, False)}
        for name, value in given.items():
            if name in _NAMES and not isinstance(value, str):
                raise ValueError(
                    f"{name} must be a name, as `bmaml methods` lists them, but is {value!r}: with one "
                    "of your own, compose a learner and give it to bmaml.fit."
                )
            if self.method in METHODS and name not in options_of(self.method):
                having = ", ".join(method for method in METHODS if name in options_of(method))
                raise ValueError(
                    f"{self.method} has no {name}: leave it out, or choose a method that has it: "
                    f"{having}."
                )
        return given

    def _split_options(self, seed: int) -> dict[str, Any]:
        """Those of the split into tasks to train and to validate on."""
        if self.validation_share == 0:
            raise ValueError(
                "validation_share is 0, but some tasks must choose which particles are kept: give a "
                "share above 0."
            )
        # What to test on is for the caller to keep.
        return {"validation_share": self.validation_share, "test_share": 0.0, "seed": seed}


def _plain(value: Any) -> Any:
    """A number that a search took from an array, as Python's."""
    return value.item() if isinstance(value, np.generic) else value
