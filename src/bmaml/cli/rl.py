"""`bmaml rl`: meta-reinforcement learning."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from bmaml.cli.where import Where

if TYPE_CHECKING:
    from bmaml.rl.trained import TrainedPolicies

EnvironmentName = Literal[
    "navigation", "cheetah-velocity", "cheetah-direction", "ant-velocity", "ant-direction"
]


@dataclass(frozen=True)
class ReinforcementLearning:
    """Meta-train policies that a few episodes adapt to a new goal.

    What is left out is the paper's, but for physics and the step of Adam, which are those of its
    authors' code. All but navigation need MuJoCo: pip install '.[rl]'.
    """

    environment: tyro.conf.Positional[EnvironmentName]
    """the family of tasks"""
    out: Path
    """the run folder"""
    method: Literal["svpg-trpo", "vpg-trpo", "svpg-chaser", "vpg-reptile"] = "svpg-trpo"
    """inner update and meta-update; vpg-trpo with one particle is MAML"""
    particles: int = 5
    """M, the number of policies"""
    iterations: int | None = None
    """meta-updates (default: 100 for navigation, else 200)"""
    settings: Literal["paper", "authors"] = "paper"
    """the paper's mathematics, or what its authors' code does"""
    physics: Literal["authors", "gymnasium"] = "authors"
    """one physics step for each action, or five as in Gymnasium's robots"""
    tasks: int = 20
    """tasks a meta-update"""
    episodes: int | None = None
    """episodes of each particle and task for one inner update (default: the paper's)"""
    validate_every: int | None = None
    """meta-updates between validations on held-out tasks (default: a twentieth of all)"""
    step_size: float = 0.1
    """of the inner update"""
    meta_step_size: float | None = None
    """TRPO's bound on the divergence (default: the paper's), or Adam's step size (default: 0.001)"""
    seed: int = 0
    """seed of everything that is drawn"""
    threads: int | None = None
    """threads for physics (default: one for each core); no bit of the result depends on it"""
    resume: bool = False
    """go on with an interrupted run"""
    quiet: bool = False
    """no progress bar"""
    where: tyro.conf.OmitArgPrefixes[Where] = field(default_factory=Where)
    """more than one device, process or machine"""

    def run(self) -> None:
        """Train and say where the result is."""
        from bmaml.errors import BmamlError

        with self.where.together() as speaks:
            try:
                trained = self.fit()
            except ValueError as error:  # a mesh that cannot be
                raise BmamlError(str(error)) from error
            if speaks:
                self._tell(trained)

    def fit(self) -> "TrainedPolicies":
        """Meta-train in the named environment."""
        from bmaml import rl

        shared = ("environment", "method", "particles", "iterations", "settings", "physics", "tasks")
        more = ("episodes", "step_size", "meta_step_size", "seed", "threads")
        return rl.fit(
            rl.Settings(**{name: getattr(self, name) for name in (*shared, *more)}),
            validate_every=self.validate_every,
            out=self.out,
            resume=self.resume,
            progress=not self.quiet,
            devices=self.where.devices,
        )

    def _tell(self, trained: "TrainedPolicies") -> None:
        entries = {entry["step"]: entry for entry in trained.history}
        told = "no validation was finite, so the first particles are kept"
        if trained.iteration in entries:
            reached = entries[trained.iteration]["validation"]["return_best"]
            told = f"the best particle's return on validation tasks is {reached:.2f}"
            told += f", at iteration {trained.iteration}"
        folder = shlex.quote(str(self.out))
        print(
            f"Trained to iteration {trained.settings.iterations}; {told}. Next: bmaml evaluate {folder}"
        )
