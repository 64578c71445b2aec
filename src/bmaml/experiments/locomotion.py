"""The paper's locomotion of cheetah and ant (Section 5 of Kim et al. 2018), with and without TRPO."""

from dataclasses import replace
from pathlib import Path

from bmaml.experiments import policies
from bmaml.experiments.policies import DISTANCE, TRPO, Scale

ENVIRONMENTS = ("cheetah-velocity", "cheetah-direction", "ant-velocity", "ant-direction")

PAPER = Scale(environments=ENVIRONMENTS, methods=TRPO, seeds=(0, 1, 2))
# Few enough tasks, episodes and iterations to show learning within about an hour on two cores.
REDUCED = Scale(
    environments=ENVIRONMENTS,
    methods=(("vpg-trpo", 3), ("svpg-trpo", 3)),
    seeds=(0,),
    iterations=30,
    tasks=10,
    episodes=10,
    held_out_tasks=20,
    validations=10,
)
TRPO_SCALES = {"reduced": REDUCED, "paper": PAPER}
CHASER_SCALES = {
    "reduced": replace(REDUCED, methods=(("vpg-reptile", 3), ("svpg-chaser", 3))),
    "paper": replace(PAPER, methods=DISTANCE),
}


def reproduce(scale: Scale, out: Path, *, only: str | None = None, progress: bool = True) -> None:
    """Run what is missing in `out`, then draw the figure and print the table."""
    policies.reproduce("Locomotion", scale, out, only=only, progress=progress)
