"""`bmaml reproduce`: the figures of the paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Reproduce:
    """What every experiment has; finished parts are kept and not run again."""

    only: str | None = None
    """run only what is called so or begins so, such as K5-T100- or K5-T100-bmaml-M10-seed1 (to spread
    the work over processes)"""
    quiet: bool = False
    """no progress bars"""


@dataclass(frozen=True)
class ReproduceSinusoid(Reproduce):
    """Sinusoid regression: error against meta-updates, and fits with their uncertainty."""

    scale: Literal["quick", "medium", "paper"] = "quick"
    """quick: minutes; medium: an hour on two cores; paper: the paper's 100,000 meta-updates"""
    out: Path = Path("runs/sinusoid")
    """where results, tables and pictures go"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import sinusoid

        scale = sinusoid.SCALES[self.scale]
        sinusoid.reproduce(scale, self.out, only=self.only, progress=not self.quiet)


@dataclass(frozen=True)
class ReproduceClassification(Reproduce):
    """Few-shot image classification: particles (figure a) and few training tasks (figure b)."""

    scale: Literal["quick", "presets", "omniglot", "miniimagenet", "paper"] = "quick"
    """quick: glyphs, minutes, no download; presets: every method on them; omniglot: hours;
    miniimagenet: hours, at half resolution; paper: miniImageNet in full, for a GPU"""
    folder: Path | None = None
    """your copy of Omniglot or miniImageNet"""
    out: Path = Path("runs/classification")
    """where results, tables and pictures go"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import classification

        scale = classification.SCALES[self.scale]
        classification.reproduce(
            scale, self.out, folder=self.folder, only=self.only, progress=not self.quiet
        )


@dataclass(frozen=True)
class ReproduceActive(ReproduceClassification):
    """Active learning with the learners of the classification experiment, trained if they are not."""

    def run(self) -> None:
        """Train what is missing, then label by uncertainty and at random, and draw the curves."""
        from bmaml.experiments import active, classification

        scale = classification.SCALES[self.scale]
        active.reproduce(scale, self.out, folder=self.folder, only=self.only, progress=not self.quiet)


@dataclass(frozen=True)
class ReproduceNavigation(Reproduce):
    """2D navigation: returns against meta-updates, before and after adaptation."""

    scale: Literal["quick", "full", "paper"] = "quick"
    """quick: minutes; full: hours, as in the authors' code; paper: the same with the paper's reward"""
    out: Path = Path("runs/navigation")
    """where results, tables and pictures go"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import navigation

        scale = navigation.SCALES[self.scale]
        navigation.reproduce(scale, self.out, only=self.only, progress=not self.quiet)


@dataclass(frozen=True)
class ReproduceLocomotionTRPO(Reproduce):
    """Cheetah and ant with TRPO as meta-update: SVPG against VPG. Needs MuJoCo."""

    scale: Literal["reduced", "half", "paper"] = "reduced"
    """reduced: few tasks and iterations, an hour or so; half: the cheetah with the paper's settings for
    100 iterations, hours; paper: days on two cores"""
    out: Path = Path("runs/locomotion-trpo")
    """where results, tables and pictures go"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import locomotion

        scale = locomotion.TRPO_SCALES[self.scale]
        locomotion.reproduce(scale, self.out, only=self.only, progress=not self.quiet)


@dataclass(frozen=True)
class ReproduceLocomotionChaser(Reproduce):
    """Cheetah and ant without TRPO: SVPG and the chaser loss against VPG and Reptile. Needs MuJoCo."""

    scale: Literal["reduced", "half", "paper"] = "reduced"
    """reduced: few tasks and iterations, an hour or so; half: the cheetah with the paper's settings for
    100 iterations, hours; paper: days on two cores"""
    out: Path = Path("runs/locomotion-chaser")
    """where results, tables and pictures go"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import locomotion

        scale = locomotion.CHASER_SCALES[self.scale]
        locomotion.reproduce(scale, self.out, only=self.only, progress=not self.quiet)


@dataclass(frozen=True)
class ReproduceVariants(Reproduce):
    """Samplers, kernels, distances and learned steps beside the paper's choices, on sinusoids."""

    scale: Literal["quick", "medium", "full"] = "quick"
    """quick: a few variants, minutes; medium: all, 1,000 meta-updates, an hour; full: 10,000, hours"""
    out: Path = Path("runs/variants")
    """where results, tables and pictures go"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import variants

        scale = variants.SCALES[self.scale]
        variants.reproduce(scale, self.out, only=self.only, progress=not self.quiet)


ReproduceCommand = Annotated[
    Annotated[ReproduceSinusoid, tyro.conf.subcommand("sinusoid")]
    | Annotated[ReproduceClassification, tyro.conf.subcommand("classification")]
    | Annotated[ReproduceActive, tyro.conf.subcommand("active")]
    | Annotated[ReproduceVariants, tyro.conf.subcommand("variants")]
    | Annotated[ReproduceNavigation, tyro.conf.subcommand("navigation")]
    | Annotated[ReproduceLocomotionTRPO, tyro.conf.subcommand("locomotion-trpo")]
    | Annotated[ReproduceLocomotionChaser, tyro.conf.subcommand("locomotion-chaser")],
    tyro.conf.subcommand("reproduce", description="Train, score and draw an experiment of the paper."),
]
