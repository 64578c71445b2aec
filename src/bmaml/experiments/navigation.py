"""The paper's 2D navigation (Appendix, "Additional Experiment Results", of Kim et al. 2018)."""

from pathlib import Path

from bmaml.experiments import policies
from bmaml.experiments.policies import DISTANCE, TRPO, Scale

SCALES = {
    # Minutes on two cores; enough to see every method learn.
    "quick": Scale(
        environments=("navigation",),
        methods=(("vpg-trpo", 2), ("svpg-trpo", 2), ("vpg-reptile", 2), ("svpg-chaser", 2)),
        seeds=(0,),
        iterations=20,
        tasks=10,
        episodes=5,
        held_out_tasks=20,
        validations=10,
    ),
    # As in the authors' code: its reward is the distance, where the paper's is its square.
    "full": Scale(environments=("navigation",), methods=(*TRPO, *DISTANCE), seeds=(0, 1, 2)),
    "paper": Scale(
        environments=("navigation",), methods=(*TRPO, *DISTANCE), seeds=(0, 1, 2), settings="paper"
    ),
}


def reproduce(scale: Scale, out: Path, *, only: str | None = None, progress: bool = True) -> None:
    """Run what is missing in `out`, then draw the figure and print the table."""
    policies.reproduce("2D navigation", scale, out, only=only, progress=progress)
