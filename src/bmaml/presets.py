"""The named methods, each a composition that can be read at a glance.

`settings="paper"` (the default) is the mathematics of Kim et al. 2018; `settings="authors"` is what
their published regression code does. Every part can be replaced: pass your own likelihood, prior or
kernel, or compose a `Learner` yourself. What is common to the methods is said once, in `bmaml`.
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
    """MAML (Finn et al. 2017): EMAML with one particle.

    Arguments:
        model: a network, as in `bmaml`.
        options: those of `emaml`, but for `num_particles`.

    >>> import bmaml
    >>> bmaml.maml(bmaml.models.mlp(1, 1), step_size=0.01).num_particles
    1
    """
    if "num_particles" in options:
        raise TypeError("maml has one particle: leave out num_particles, or use emaml.")
    return replace(emaml(model, num_particles=1, **options), name="maml")


def fomaml(model: Any, **options: Any) -> Learner:
    """First-order MAML: the meta-gradient takes the inner gradients as constants.

    Arguments:
        model: a network, as in `bmaml`.
        options: those of `emaml`, but for `num_particles`.
    """
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

    With `learned_steps` and one particle this is Meta-SGD (Li et al. 2017).

    Arguments: those of `bmaml` that it has, and of its own
        inner_steps: None is 1 for numbers, 10 for labels.
        step_size: None is 0.03 for numbers, 0.3 for labels.
        likelihood: None is "squared_error" for numbers and "cross_entropy" for labels, which are means
            over rows.
        prior: None is "flat".
        inner: gradient descent, unless another is named.

    >>> import bmaml
    >>> learner = bmaml.emaml(bmaml.models.mlp(None, 3), targets="labels")
    >>> learner.num_particles, learner.inner.steps, learner.inner.step_size
    (10, 10, 0.3)
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

    Arguments: those of `bmaml` that it has, and of its own
        num_particles: M Reptiles, which do not interact.
        inner_steps: updates of an adaptation; with one, it would be joint training.
        step_size: None is 0.02.
        likelihood: None is "squared_error" for numbers, "cross_entropy" for labels.
        prior: None is "flat".
        inner: gradient descent, unless another is named; nothing of it can be learned.
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

    Arguments: those of `bmaml`, without the leader's and without `distance`.

    >>> import bmaml
    >>> bmaml.bfa(bmaml.models.mlp(1, 1), inner_steps=5).inner.steps
    5
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
    r"""BMAML (Algorithm 3): SVGD, then the chaser loss.

    A posterior is M particles. The chaser $\Theta^n$ adapts to a few rows of a task, the leader
    $\Theta^{n+s}$ goes on from there with all of them, and the initial particles learn to land where
    the leader does (Eq. 7).

    Arguments:
        model: a network: `bmaml.models.mlp` or `conv`, a module of Equinox or Flax, or anything with
            `init(key)` and `apply(weights, x)`.
        num_particles: M, how many networks a posterior is.
        inner_steps: n, updates of an adaptation; None is 1 for numbers, 20 for labels.
        step_size: α, of these updates; None is 0.03 for numbers, 0.1 for labels.
        leader_steps: s; None is five for numbers, for labels as many as the chaser's (see
            docs/deviations.md for why not the paper's one small step).
        leader_step_size: of the leader's steps; None is `step_size`.
        leader_rows: what the leader sees of a task: "all" rows, or those of the "query" alone.
        targets: what is predicted, "numbers" or "labels" (0, 1, … of classes).
        likelihood: p(y | f(x)), by its name in `bmaml.posterior.LIKELIHOODS` or one of your own; None
            is "gaussian" for numbers, "categorical" for labels.
        prior: p(θ) of the weights, by its name in `bmaml.posterior.PRIORS` or one of your own; None is
            "gaussian".
        prior_precision: λ, which a Gaussian prior begins with; None is 0.01 for numbers, 0.1 for
            labels.
        inner: the inner update, by its name in `bmaml.inner.INNER_UPDATES`.
        kernel: k(θ, θ') of SVGD, by its name in `bmaml.kernels.KERNELS` ("rbf-70" has the bandwidth
            70, not the median's) or one of your own; None is "rbf".
        temperature: T of the posterior that "sgld" and "hmc" sample; None is nearly zero.
        learned_steps: meta-learn a step size for every parameter.
        distance: d from chaser to leader, by its name in `bmaml.distances.DISTANCES` or one of your
            own.
        meta_step_size: β, the step size of Adam, which makes the meta-update; None is 0.001.
        settings: "paper", or "authors", what their published code does, with its numbers.

    Returns:
        A learner for `bmaml.fit`.

    >>> import bmaml
    >>> learner = bmaml.bmaml(bmaml.models.mlp(1, 1), num_particles=5, kernel="imq")
    >>> learner.num_particles, learner.inner.steps, learner.meta.leader_steps
    (5, 1, 5)
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
