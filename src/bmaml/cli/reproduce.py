"""`bmaml reproduce`: the figures of the paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro


@dataclass(frozen=True)
class Reproduce:
    """Train, score and draw an experiment of the paper; finished parts are kept and not run again."""

    experiment: tyro.conf.Positional[Literal["sinusoid"]]
    """which experiment"""
    scale: Literal["quick", "medium", "paper"] = "quick"
    """quick: minutes; medium: an hour on two cores; paper: the paper's 100,000 meta-updates"""
    out: Path = Path("runs/sinusoid")
    """where results, tables and pictures go"""
    only: str | None = None
    """run one part only, such as K5-T100 (to spread the work over processes)"""
    quiet: bool = False
    """no progress bars"""

    def run(self) -> None:
        """Run what is missing, then draw everything there is."""
        from bmaml.experiments import sinusoid

        sinusoid.reproduce(
            sinusoid.SCALES[self.scale], self.out, only=self.only, progress=not self.quiet
        )
