"""The settings of a meta-training; what is left None is the paper's."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from bmaml.checks import require_counts, require_positive
from bmaml.errors import BmamlError
from bmaml.rl.envs.environment import TaskEnvironment
from bmaml.rl.envs.registry import make_environment
from bmaml.rl.presets import ADAM_STEPS, METHODS, Method

# Where the paper sets η to 0.1 (Appendix, "Experimental Details"); elsewhere it is 1.
COLD = {
    ("navigation", "svpg-chaser"),
    ("ant-velocity", "svpg-chaser"),
    ("ant-direction", "svpg-chaser"),
    ("ant-direction", "svpg-trpo"),
}


class PaperSettings(NamedTuple):
    """What differs from one environment of the paper to another."""

    iterations: int = 200
    episodes: int = 10
    meta_step_size: float = 0.01  # TRPO's bound


PAPER: dict[str, PaperSettings] = {
    "navigation": PaperSettings(iterations=100),
    "ant-direction": PaperSettings(episodes=40, meta_step_size=0.1),
}


@dataclass(frozen=True)
class Settings:
    """A meta-training described by names and numbers alone.

    Arguments:
        environment: one of the paper's.
        method: svpg-trpo, vpg-trpo, svpg-chaser or vpg-reptile.
        settings: "paper" for its mathematics, "authors" for what its published code does.
        particles: M.
        iterations: meta-updates.
        tasks: in a meta-update.
        episodes: of each particle in each task for one inner update, K.
        inner_steps: policy-gradient steps of an adaptation, n.
        step_size: of the inner update.
        meta_step_size: TRPO's bound on the divergence, or Adam's step size.
        temperature: η, SVPG's weight of entropy against returns.
        discount: of rewards.
        smoothing: λ of the advantages.
        physics: of locomotion, "authors" (one physics step for each action) or "gymnasium" (five).
        held_out_tasks: that returns are reported on, before and after adaptation.
        seed: of everything that is drawn.
        threads: for physics; None is one for each core. No bit of the result depends on it. (On the
            number of cores that XLA computes with, last bits do.)
    """

    environment: str = "navigation"
    method: str = "svpg-trpo"
    settings: str = "paper"
    particles: int = 5
    iterations: int | None = None
    tasks: int = 20
    episodes: int | None = None
    inner_steps: int = 1
    step_size: float = 0.1
    meta_step_size: float | None = None
    temperature: float | None = None
    discount: float = 0.99
    smoothing: float = 1.0
    physics: str = "authors"
    held_out_tasks: int = 40
    seed: int = 0
    threads: int | None = None

    def resolved(self) -> "Settings":
        """The same with the paper's number wherever none was given; refuses what makes no sense."""
        paper = PAPER.get(self.environment, PaperSettings())
        cold = (self.environment, self.method) in COLD
        meta_step = ADAM_STEPS.get(self.method, paper.meta_step_size)
        full = replace(
            self,
            iterations=_or(self.iterations, paper.iterations),
            episodes=_or(self.episodes, paper.episodes),
            meta_step_size=_or(self.meta_step_size, meta_step),
            temperature=_or(self.temperature, 0.1 if cold else 1.0),
        )
        full._check()
        return full

    def build_method(self) -> Method:
        """The inner update and the meta-update."""
        full = self.resolved()
        assert full.meta_step_size is not None
        assert full.temperature is not None
        return METHODS[full.method](
            full.step_size, full.meta_step_size, full.temperature, full.settings
        )

    def build_environment(self) -> TaskEnvironment:
        """The environment; MuJoCo is needed for all but navigation."""
        return make_environment(
            self.environment, settings=self.settings, physics=self.physics, threads=self.threads
        )

    def _check(self) -> None:
        if self.method not in METHODS:
            raise BmamlError(f"Unknown method {self.method!r}: use one of {', '.join(METHODS)}.")
        if self.settings not in ("paper", "authors"):
            raise BmamlError(f"Unknown settings {self.settings!r}: use 'paper' or 'authors'.")
        if self.physics not in ("authors", "gymnasium"):
            raise BmamlError(f"Unknown physics {self.physics!r}: use 'authors' or 'gymnasium'.")
        counts = ("particles", "iterations", "tasks", "episodes", "inner_steps", "held_out_tasks")
        sizes = ("step_size", "meta_step_size", "temperature")
        try:
            require_counts(**{name: getattr(self, name) for name in counts})
            require_positive(**{name: getattr(self, name) for name in sizes})
            if self.threads is not None:
                require_counts(threads=self.threads)
        except ValueError as error:
            raise BmamlError(str(error)) from error
        if self.environment == "navigation" and (self.physics, self.threads) != ("authors", None):
            raise BmamlError("Physics and threads are for cheetah and ant: navigation has none.")
        for name in ("discount", "smoothing"):
            if not 0 <= getattr(self, name) <= 1:
                raise BmamlError(f"{name} is {getattr(self, name)}; it must lie between 0 and 1.")


def _or(value, default):
    return default if value is None else value
