"""From names and defaults to the parts that the presets are composed of."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple, TypeVar

from bmaml.checks import require_counts, require_positive
from bmaml.inner import INNER_UPDATES, InnerUpdate
from bmaml.kernels import Kernel, kernel_named
from bmaml.learner import MetaOptimizer
from bmaml.models import SharedModel, as_model
from bmaml.posterior import (
    LIKELIHOODS,
    PRIORS,
    FlatPrior,
    GaussianLikelihood,
    GaussianPrior,
    Likelihood,
    Posterior,
    Prior,
)

Settings = Literal["paper", "authors"]
Targets = Literal["numbers", "labels"]
Number = TypeVar("Number", int, float)


class Defaults(NamedTuple):
    """What suits one kind of targets; found on validation tasks (see docs/deviations.md)."""

    likelihood: str
    prior: Prior
    step_size: float
    inner_steps: int = 1
    leader_steps: int | None = None  # as many as the chaser's


# Methods that adapt points, on mean losses.
POINTS: dict[Targets, Defaults] = {
    "numbers": Defaults("squared_error", FlatPrior(), step_size=0.03),
    "labels": Defaults("cross_entropy", FlatPrior(), step_size=0.3, inner_steps=10),
}
# Methods that adapt a posterior.
POSTERIORS: dict[Targets, Defaults] = {
    "numbers": Defaults("gaussian", GaussianPrior(), step_size=0.03, leader_steps=5),
    "labels": Defaults("categorical", GaussianPrior(0.1), step_size=0.1, inner_steps=20),
}

# For methods that train the noise level apart from everything else.
NOISE_FACTOR = 10.0
# Of samplers in the presets. Few steps of a chain at T = 1 are noise in every weight, as much as the
# weights themselves, and not yet a sample of the posterior (see docs/variants.md).
COLD = 1e-4


def value_or(value: Number | None, default: Number) -> Number:
    """`value`, if there is one."""
    return default if value is None else value


def optimizer_for(
    settings: Settings, step_size: float | None = None, noise_factor: float = 1.0
) -> MetaOptimizer:
    """Adam, which decays in the authors' code; `step_size` is that of the meta-update."""
    if step_size is not None:
        require_positive(meta_step_size=step_size)
    optimizer = MetaOptimizer(noise_factor=noise_factor)
    if settings == "authors":
        optimizer = MetaOptimizer(decay=0.98)
    return optimizer if step_size is None else replace(optimizer, step_size=step_size)


def defaults_for(table: dict[Targets, Defaults], targets: Targets, settings: Settings) -> Defaults:
    """The row of the table for these targets."""
    if settings not in ("paper", "authors"):
        raise ValueError(f"Unknown settings {settings!r}: use 'paper' or 'authors'.")
    if targets not in table:
        raise ValueError(f"Unknown targets {targets!r}: use {' or '.join(map(repr, table))}.")
    if targets == "labels" and settings == "authors":
        raise ValueError(
            "The paper's authors published no code for classification: use settings='paper'."
        )
    return table[targets]


def inner_update(
    inner: str,
    defaults: Defaults,
    settings: Settings,
    *,
    step_size: float | None,
    steps: int | None,
    kernel: str | Kernel | None,
    temperature: float | None,
    learned_steps: bool = False,
) -> InnerUpdate:
    """The inner update of that name; SVGD has a kernel, samplers have a temperature."""
    options = {"kernel": kernel, "temperature": temperature}
    given = {name: value for name, value in options.items() if value is not None}
    if inner not in INNER_UPDATES:
        raise ValueError(f"Unknown inner update {inner!r}: use one of {', '.join(INNER_UPDATES)}.")
    kind = INNER_UPDATES[inner]
    names = {field.name for field in fields(kind)}
    for name in given.keys() - names:
        raise ValueError(f"The inner update {inner!r} has no {name}: leave it out.")
    if "kernel" in names:
        kernel = kernel or {"paper": "rbf", "authors": "authors-rbf"}[settings]
        given["kernel"] = kernel_named(kernel) if isinstance(kernel, str) else kernel
    if "temperature" in names:
        given["temperature"] = value_or(temperature, COLD)
    # In units of squared error for numbers and `paper` (see docs/deviations.md).
    steps = value_or(steps, defaults.inner_steps)
    require_counts(inner_steps=steps)
    size = value_or(step_size, {"paper": defaults.step_size, "authors": 0.001}[settings])
    return kind(size, steps, learned_steps=learned_steps, **given)


def bayesian_posterior(
    model: Any,
    defaults: Defaults,
    likelihood: str | Likelihood | None,
    prior: str | Prior | None,
    prior_precision: float | None,
    settings: Settings,
) -> Posterior:
    """The posterior of methods that are Bayesian."""
    likelihood = likelihood or defaults.likelihood
    if settings == "authors" and likelihood == "gaussian":
        likelihood = GaussianLikelihood(initial_precision=100.0, unit_steps=False)
    if prior in (None, "gaussian"):  # by its name, the prior that suits the targets
        authors = GaussianPrior(initial_precision=1.0, step_scale=0.01)
        prior = authors if settings == "authors" else defaults.prior
    posterior = posterior_of(model, likelihood, prior)
    if prior_precision is None:
        return posterior
    if not isinstance(posterior.prior, GaussianPrior):
        raise ValueError(
            "prior_precision is that of the Gaussian prior: leave it out, or leave out the other prior."
        )
    require_positive(prior_precision=prior_precision)
    return replace(posterior, prior=replace(posterior.prior, initial_precision=prior_precision))


def posterior_of(model: Any, likelihood: str | Likelihood, prior: str | Prior) -> Posterior:
    """A posterior of parts that may be names."""
    return Posterior(
        model if isinstance(model, SharedModel) else as_model(model),
        named(likelihood, LIKELIHOODS, "likelihood"),
        named(prior, PRIORS, "prior"),
    )


def named(thing: Any, registry: Mapping[str, Any], kind: str) -> Any:
    """`thing`, or the member of the registry that it names."""
    if not isinstance(thing, str):
        return thing
    if thing not in registry:
        raise ValueError(f"Unknown {kind} {thing!r}: use one of {', '.join(registry)}.")
    return registry[thing]()
