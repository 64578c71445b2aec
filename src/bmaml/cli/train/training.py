"""What every `bmaml train` has, whatever its tasks are."""

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from bmaml.cli.maybe import Maybe
from bmaml.cli.method_options import method_options
from bmaml.cli.where import Where

if TYPE_CHECKING:
    from bmaml.trained import Trained

MethodName = Literal["maml", "fomaml", "emaml", "reptile", "bfa", "bmaml"]


@dataclass(frozen=True)
class Train:
    """What every training has, whatever its tasks are."""

    source: ClassVar[str]
    # Options that belong to the tasks, and to the network.
    task_fields: ClassVar[tuple[str, ...]] = ()
    model_fields: ClassVar[tuple[str, ...]] = ()

    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """the run folder"""
    method: MethodName = "bmaml"
    """see `bmaml methods`"""
    particles: Maybe[int] = None
    """M, the number of particles (default: the method's own)"""
    steps: int = 10_000
    """meta-updates"""
    seed: int = 0
    """seed of tasks, initial particles and batches"""
    batch_size: int = 10
    """tasks a meta-update"""
    validate_every: Maybe[int] = None
    """meta-updates between validations (default: about a hundredth of all)"""
    step_size: Maybe[float] = None
    """inner step size (default: the method's own)"""
    inner_steps: Maybe[int] = None
    """inner steps (default: the method's own)"""
    meta_step_size: Maybe[float] = None
    """step size of the meta-update, which is Adam's (default: 0.001)"""
    settings: Literal["paper", "authors"] = "paper"
    """the paper's mathematics, or what its authors' code does"""
    sampler: Maybe[str] = None
    """the inner update: gd, svgd, sgld or hmc (default: svgd for bfa and bmaml, gd for the others)"""
    kernel: Maybe[str] = None
    """of svgd: imq, rbf-70, rbf-layers, rbf-learned, rbf-initial, … (`bmaml methods`; default: rbf)"""
    temperature: Maybe[float] = None
    """of the posterior that sgld and hmc sample (default: nearly zero)"""
    distance: Maybe[str] = None
    """bmaml: from chaser to leader: paired, mmd, mmd-imq or prediction (default: paired)"""
    leader_steps: Maybe[int] = None
    """bmaml: steps of the leader (default: five for numbers, for labels as many as the chaser's)"""
    leader_step_size: Maybe[float] = None
    """bmaml: step size of the leader (default: the chaser's)"""
    leader_rows: Maybe[Literal["all", "query"]] = None
    """bmaml: what the leader sees of a task (default: all)"""
    likelihood: Maybe[str] = None
    """gaussian or squared_error for numbers, categorical or cross_entropy for labels (default: the
    first for bfa and bmaml, the second, which averages over rows, for the others)"""
    prior: Maybe[str] = None
    """of the weights: gaussian or flat (default: gaussian for bfa and bmaml, flat for the others)"""
    prior_precision: Maybe[float] = None
    """bfa, bmaml: of the weights' prior, at first (default: 0.01 for numbers, 0.1 for labels)"""
    learned_steps: bool = False
    """meta-learn an inner step size for every parameter"""
    tasks_at_once: Maybe[int] = None
    """tasks that a device works on at a time, to save memory (default: all it has)"""
    resume: bool = False
    """go on with an interrupted run, or with a finished one if there are to be more --steps"""
    quiet: bool = False
    """no progress bar"""
    where: tyro.conf.OmitArgPrefixes[Where] = field(default_factory=Where)
    """more than one device, process or machine"""

    def run(self) -> None:
        """Train and say where the result is."""
        from bmaml.errors import BmamlError

        if self.particles is not None and self.method in ("maml", "fomaml") and self.particles != 1:
            raise BmamlError(f"{self.method} has one particle: leave out --particles, or use emaml.")
        with self.where.together() as speaks:
            from bmaml.cli.output import speaking_warnings  # JAX comes with it, now that it may

            try:
                with speaking_warnings():
                    self._check(speaks)
                    trained = self.fit()
            except ValueError as error:  # numbers that do not go together, such as too few tasks
                raise BmamlError(str(error)) from error
            if speaks:
                self._tell(trained)

    def _check(self, speaks: bool) -> None:
        """Find mistakes that cost nothing to find, before any data is read."""
        from bmaml.checks import require_counts, require_seeds
        from bmaml.models import mlp
        from bmaml.presets import METHODS
        from bmaml.run_folder import require_fit

        require_counts(steps=self.steps, batch_size=self.batch_size)
        counts = {"validate_every": self.validate_every, "tasks_at_once": self.tasks_at_once}
        require_counts(**{name: value for name, value in counts.items() if value is not None})
        require_seeds([self.seed])
        METHODS[self.method](mlp(1, 1), targets=self.targets, **self.method_options())
        if speaks:
            require_fit(self.out, {}, resume=self.resume)

    @property
    def targets(self) -> Literal["numbers", "labels"]:
        """What is predicted, as far as it is known before any data is read."""
        return "numbers"

    def go_on(self, tasks: dict[str, Any], others: dict[str, Any] | None = None) -> None:
        """With `--resume`, refuse another run than this; or say what might not be meant.

        That is to begin a run, or to go on for longer than a run was to. Options of the tasks, and
        others than all trainings have, are given as a run folder keeps them.
        """
        from bmaml.cli.train.resumed import has_begun, require_same_options
        from bmaml.run_folder import RunFolder
        from bmaml.scale import processes

        if not self.resume or not processes.is_first():
            return
        if not has_begun(self.out):
            print(f"bmaml: {self.out} holds no run yet: a new one begins.", file=sys.stderr)
            return
        settings = RunFolder.read(self.out).settings
        training = {"seeds": [self.seed], "batch_size": self.batch_size}
        training |= {"validate_every": self.validate_every, **self.model_options(), **(others or {})}
        before = settings.get("steps")
        longer = isinstance(before, int) and before < self.steps and self.settings == "paper"
        if not longer:  # The authors' step size decays with the steps that there are to be.
            training["steps"] = self.steps
        method = {"method": self.method, **self.method_options()}
        require_same_options(self.out, settings, self.source, method, tasks, training)
        if longer:
            told = f"bmaml: {self.out} was to have {before} updates: it goes on to {self.steps}."
            print(told, file=sys.stderr)

    def _tell(self, trained: "Trained") -> None:
        name, _ = trained.learner.posterior.likelihood.selection
        best = next((entry for entry in trained.history if entry["step"] == trained.step), None)
        told = "no validation was finite, so the first particles are kept"
        if best is not None:
            told = f"validation {name} {best['validation'][name]:.3f}{self.in_units(name)}"
            told += f" at update {trained.step}"
        folder = shlex.quote(str(self.out))
        print(f"Trained {self.steps} updates; {told}. Next: bmaml evaluate {folder}")

    def in_units(self, metric: str) -> str:
        """What a validation score is measured in, if it is not the unit of the targets."""
        return ""

    def fit(self) -> "Trained":
        """Meta-train on the named tasks."""
        from bmaml.recipe import Recipe
        from bmaml.train import fit

        recipe = Recipe(
            tasks=self.source,
            method=self.method,
            method_options=self.method_options(),
            task_options=self.task_options(),
            model_options=self.model_options(),
        )
        self.go_on(self.task_options())
        return fit(
            recipe.learner(),
            recipe.task_source(),
            description=recipe.to_json(),
            **self.fit_options(),
        )

    def method_options(self) -> dict[str, Any]:
        """The options of the method that were given."""
        return method_options(self)

    def model_options(self) -> dict[str, Any]:
        """The options of the network that were given."""
        return {name: value for name in self.model_fields if (value := getattr(self, name)) is not None}

    def fit_options(self) -> dict[str, Any]:
        """The options of `bmaml.fit`."""
        return {
            "steps": self.steps,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "validate_every": self.validate_every,
            "out": self.out,
            "resume": self.resume,
            "progress": not self.quiet,
            "devices": self.devices(),
            "tasks_at_once": self.tasks_at_once,
        }

    def devices(self) -> int | None:
        """How many devices share the tasks of a meta-update; None is one."""
        return self.where.devices

    def task_options(self) -> dict[str, Any]:
        """The options of the tasks, as values for a JSON file."""
        options = {name: getattr(self, name) for name in self.task_fields}
        return {
            name: str(value.absolute()) if isinstance(value, Path) else value
            for name, value in options.items()
        } | {"num_tasks": options["num_tasks"] or None}
