"""The named methods, each a composition that can be read at a glance.

`settings="paper"` (the default) is the mathematics of Kim et al. 2018; `settings="authors"` is what
their published regression code does. Every part can be replaced: pass your own likelihood, prior or
kernel, or compose a `Learner` yourself.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from bmaml.inner import SVGD, GradientDescent
from bmaml.kernels import KERNELS, Kernel
from bmaml.learner import Learner, MetaOptimizer
from bmaml.meta import BFA, Chaser, Reptile, Validation
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


def maml(model: Any, **options: Any) -> Learner:
    """MAML (Finn et al. 2017): EMAML with one particle."""
    return replace(emaml(model, num_particles=1, **options), name="maml")


def fomaml(model: Any, **options: Any) -> Learner:
    """First-order MAML: the meta-gradient takes the inner gradients as constants."""
    learner = maml(model, **options)
    return replace(learner, inner=replace(learner.inner, first_order=True), name="fomaml")


def emaml(
    model: Any,
    *,
    num_particles: int = 10,
    inner_steps: int | None = None,
    step_size: float | None = None,
    targets: Targets = "numbers",
    likelihood: str | Likelihood | None = None,
    prior: str | Prior | None = None,
    settings: Settings = "paper",
) -> Learner:
    """EMAML: an ensemble of M independent MAMLs. Validation loss after gradient descent."""
    defaults = _defaults(POINTS, targets, settings)
    size = {"paper": defaults.step_size, "authors": 0.001}[settings]
    return Learner(
        posterior=_posterior(model, likelihood or defaults.likelihood, prior or defaults.prior),
        inner=GradientDescent(_or(step_size, size), inner_steps or defaults.inner_steps),
        meta=Validation(),
        num_particles=num_particles,
        optimizer=_optimizer(settings, NOISE_FACTOR if likelihood is None else 1.0),
        name="emaml",
    )


def reptile(
    model: Any,
    *,
    num_particles: int = 1,
    inner_steps: int = 5,
    step_size: float | None = None,
    targets: Targets = "numbers",
    likelihood: str | Likelihood | None = None,
    prior: str | Prior | None = None,
    settings: Settings = "paper",
) -> Learner:
    """Reptile (Nichol et al. 2018): distance to the adapted weights, no second derivatives."""
    defaults = _defaults(POINTS, targets, settings)
    return Learner(
        posterior=_posterior(model, likelihood or defaults.likelihood, prior or defaults.prior),
        inner=GradientDescent(_or(step_size, 0.02), inner_steps),
        meta=Reptile(),
        num_particles=num_particles,
        optimizer=_optimizer(settings),
        name="reptile",
    )


def bfa(
    model: Any,
    *,
    num_particles: int = 10,
    inner_steps: int | None = None,
    step_size: float | None = None,
    targets: Targets = "numbers",
    likelihood: str | Likelihood | None = None,
    prior: str | Prior | None = None,
    kernel: str | Kernel | None = None,
    settings: Settings = "paper",
) -> Learner:
    """Bayesian fast adaptation (Algorithm 2): SVGD, then the mixture's validation likelihood."""
    defaults = _defaults(POSTERIORS, targets, settings)
    return Learner(
        posterior=_bayesian_posterior(model, defaults, likelihood, prior, settings),
        inner=_svgd(defaults, step_size, inner_steps, kernel, settings),
        meta=BFA(),
        num_particles=num_particles,
        optimizer=_optimizer(settings),
        name="bfa",
    )


def bmaml(
    model: Any,
    *,
    num_particles: int = 10,
    inner_steps: int | None = None,
    step_size: float | None = None,
    leader_steps: int | None = None,
    leader_step_size: float | None = None,
    targets: Targets = "numbers",
    likelihood: str | Likelihood | None = None,
    prior: str | Prior | None = None,
    kernel: str | Kernel | None = None,
    settings: Settings = "paper",
) -> Learner:
    """BMAML (Algorithm 3): SVGD, then the chaser loss.

    Unless given, the leader's steps are as large as the chaser's; for numbers it takes five, for
    labels as many as the chaser (see docs/deviations.md for why not the paper's one small step).
    """
    defaults = _defaults(POSTERIORS, targets, settings)
    inner = _svgd(defaults, step_size, inner_steps, kernel, settings)
    steps = {"paper": defaults.leader_steps, "authors": None}[settings]
    leader = Chaser(
        leader_steps or steps or inner.steps,
        _or(leader_step_size, inner.step_size),
        noise_from_query=settings == "paper",
    )
    return Learner(
        posterior=_bayesian_posterior(model, defaults, likelihood, prior, settings),
        inner=inner,
        meta=leader,
        num_particles=num_particles,
        optimizer=_optimizer(settings, NOISE_FACTOR),
        name="bmaml",
    )


METHODS: dict[str, Callable[..., Learner]] = {
    "maml": maml,
    "fomaml": fomaml,
    "emaml": emaml,
    "reptile": reptile,
    "bfa": bfa,
    "bmaml": bmaml,
}


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _optimizer(settings: Settings, noise_factor: float = 1.0) -> MetaOptimizer:
    if settings not in ("paper", "authors"):
        raise ValueError(f"Unknown settings {settings!r}: use 'paper' or 'authors'.")
    if settings == "authors":
        return MetaOptimizer(decay=0.98)
    return MetaOptimizer(noise_factor=noise_factor)


def _defaults(table: dict[Targets, Defaults], targets: Targets, settings: Settings) -> Defaults:
    if targets not in table:
        raise ValueError(f"Unknown targets {targets!r}: use {' or '.join(map(repr, table))}.")
    if targets == "labels" and settings == "authors":
        raise ValueError(
            "The paper's authors published no code for classification: use settings='paper'."
        )
    return table[targets]


def _svgd(
    defaults: Defaults,
    step_size: float | None,
    steps: int | None,
    kernel: str | Kernel | None,
    settings: Settings,
) -> SVGD:
    # In units of squared error for numbers and `paper` (see docs/deviations.md).
    size = _or(step_size, {"paper": defaults.step_size, "authors": 0.001}[settings])
    kernel = kernel or {"paper": "rbf", "authors": "authors-rbf"}[settings]
    return SVGD(size, steps or defaults.inner_steps, kernel=_named(kernel, KERNELS, "kernel"))


def _bayesian_posterior(
    model: Any,
    defaults: Defaults,
    likelihood: str | Likelihood | None,
    prior: str | Prior | None,
    settings: Settings,
) -> Posterior:
    likelihood, prior = likelihood or defaults.likelihood, prior or defaults.prior
    if settings == "authors" and likelihood == "gaussian":
        likelihood = GaussianLikelihood(initial_precision=100.0, unit_steps=False)
    if settings == "authors" and prior in ("gaussian", defaults.prior):
        prior = GaussianPrior(initial_precision=1.0, step_scale=0.01)
    return _posterior(model, likelihood, prior)


def _posterior(model: Any, likelihood: str | Likelihood, prior: str | Prior) -> Posterior:
    return Posterior(
        model if isinstance(model, SharedModel) else as_model(model),
        _named(likelihood, LIKELIHOODS, "likelihood"),
        _named(prior, PRIORS, "prior"),
    )


def _named(thing: Any, registry: dict[str, Any], kind: str) -> Any:
    if not isinstance(thing, str):
        return thing
    if thing not in registry:
        raise ValueError(f"Unknown {kind} {thing!r}: use one of {', '.join(registry)}.")
    return registry[thing]()
