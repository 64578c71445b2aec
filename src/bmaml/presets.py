"""The named methods, each a composition that can be read at a glance.

`settings="paper"` (the default) is the mathematics of Kim et al. 2018; `settings="authors"` is what
their published regression code does. `meta_step_size` is that of Adam, 0.001 unless given. Every part
can be replaced: pass your own likelihood, prior or kernel, or compose a `Learner` yourself.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bmaml.distances import DISTANCES, Distance
from bmaml.kernels import Kernel
from bmaml.learner import Learner
from bmaml.meta import BFA, Chaser, Reptile, Validation
from bmaml.posterior import Likelihood, Prior
from bmaml.posterior.likelihood import JudgedApart
from bmaml.preset_parts import (
    NOISE_FACTOR,
    POINTS,
    POSTERIORS,
    Settings,
    Targets,
    bayesian_posterior,
    defaults_for,
    inner_update,
    named,
    optimizer_for,
    posterior_of,
    value_or,
)


def maml(model: Any, **options: Any) -> Learner:
    """MAML (Finn et al. 2017): EMAML with one particle."""
    if "num_particles" in options:
        raise TypeError("maml has one particle: leave out num_particles, or use emaml.")
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
    inner: str = "gd",
    kernel: str | Kernel | None = None,
    temperature: float | None = None,
    learned_steps: bool = False,
    meta_step_size: float | None = None,
    settings: Settings = "paper",
) -> Learner:
    """EMAML: an ensemble of M independent MAMLs. Validation loss after gradient descent.

    With `learned_steps` every parameter has a step size that is trained, too: with one particle this
    is Meta-SGD (Li et al. 2017). For `inner`, `kernel` and `temperature` see `bmaml`.
    """
    defaults = defaults_for(POINTS, targets, settings)
    update = inner_update(
        inner,
        defaults,
        settings,
        step_size=step_size,
        steps=inner_steps,
        kernel=kernel,
        temperature=temperature,
        learned_steps=learned_steps,
    )
    posterior = posterior_of(model, likelihood or defaults.likelihood, prior or defaults.prior)
    judged_apart = isinstance(posterior.likelihood, JudgedApart)
    return Learner(
        posterior=posterior,
        inner=update,
        meta=Validation(),
        num_particles=num_particles,
        optimizer=optimizer_for(settings, meta_step_size, NOISE_FACTOR if judged_apart else 1.0),
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
    inner: str = "gd",
    kernel: str | Kernel | None = None,
    temperature: float | None = None,
    meta_step_size: float | None = None,
    settings: Settings = "paper",
) -> Learner:
    """Reptile (Nichol et al. 2018): distance to the adapted weights, no second derivatives.

    For `inner`, `kernel` and `temperature` see `bmaml`; nothing of them is learned.
    """
    defaults = defaults_for(POINTS, targets, settings)
    update = inner_update(
        inner,
        defaults,
        settings,
        step_size=value_or(step_size, 0.02),
        steps=inner_steps,
        kernel=kernel,
        temperature=temperature,
    )
    return Learner(
        posterior=posterior_of(model, likelihood or defaults.likelihood, prior or defaults.prior),
        inner=update,
        meta=Reptile(),
        num_particles=num_particles,
        optimizer=optimizer_for(settings, meta_step_size),
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
    prior_precision: float | None = None,
    inner: str = "svgd",
    kernel: str | Kernel | None = None,
    temperature: float | None = None,
    learned_steps: bool = False,
    meta_step_size: float | None = None,
    settings: Settings = "paper",
) -> Learner:
    """Bayesian fast adaptation (Algorithm 2): SVGD, then the mixture's validation likelihood.

    For `prior_precision`, `inner`, `kernel`, `temperature` and `learned_steps` see `bmaml`.
    """
    defaults = defaults_for(POSTERIORS, targets, settings)
    update = inner_update(
        inner,
        defaults,
        settings,
        step_size=step_size,
        steps=inner_steps,
        kernel=kernel,
        temperature=temperature,
        learned_steps=learned_steps,
    )
    return Learner(
        posterior=bayesian_posterior(model, defaults, likelihood, prior, prior_precision, settings),
        inner=update,
        meta=BFA(),
        num_particles=num_particles,
        optimizer=optimizer_for(settings, meta_step_size),
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
    leader_rows: str = "all",
    targets: Targets = "numbers",
    likelihood: str | Likelihood | None = None,
    prior: str | Prior | None = None,
    prior_precision: float | None = None,
    inner: str = "svgd",
    kernel: str | Kernel | None = None,
    temperature: float | None = None,
    learned_steps: bool = False,
    distance: str | Distance = "paired",
    meta_step_size: float | None = None,
    settings: Settings = "paper",
) -> Learner:
    """BMAML (Algorithm 3): SVGD, then the chaser loss.

    Unless given, the leader's steps are as large as the chaser's; for numbers it takes five, for
    labels as many as the chaser (see docs/deviations.md for why not the paper's one small step).
    It sees `"all"` rows of a task, or those of the `"query"` alone. `prior_precision` is the λ that a
    Gaussian prior begins with.

    The variants (see docs/variants.md): `inner` is another inner update (`INNER_UPDATES`), `kernel`
    that of SVGD (`KERNELS`), `temperature` that of a sampler, `learned_steps` trains a step size for
    every parameter, and `distance` is that from chaser to leader (`DISTANCES`).
    """
    defaults = defaults_for(POSTERIORS, targets, settings)
    update = inner_update(
        inner,
        defaults,
        settings,
        step_size=step_size,
        steps=inner_steps,
        kernel=kernel,
        temperature=temperature,
        learned_steps=learned_steps,
    )
    ahead = (defaults.leader_steps if settings == "paper" else None) or update.steps
    leader = Chaser(
        value_or(leader_steps, ahead),
        value_or(leader_step_size, update.step_size),
        noise_from_query=settings == "paper",
        distance=named(distance, DISTANCES, "distance"),
        held=("prior",) if settings == "paper" else (),
        leader_rows=leader_rows,
    )
    return Learner(
        posterior=bayesian_posterior(model, defaults, likelihood, prior, prior_precision, settings),
        inner=update,
        meta=leader,
        num_particles=num_particles,
        optimizer=optimizer_for(settings, meta_step_size, NOISE_FACTOR),
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


def options_of(method: str) -> tuple[str, ...]:
    """The names of a method's options."""
    names = tuple(inspect.signature(METHODS[method]).parameters)[1:]
    if names != ("options",):
        return names
    return tuple(name for name in options_of("emaml") if name != "num_particles")
