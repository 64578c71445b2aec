"""The paper's locomotion of cheetah and ant (Section 5 of Kim et al. 2018), with and without TRPO."""

from dataclasses import replace
from pathlib import Path

from bmaml.experiments import policies
from bmaml.experiments.policies import DISTANCE, TRPO, Scale

ENVIRONMENTS = ("cheetah-velocity", "cheetah-direction", "ant-velocity", "ant-direction")

PAPER = Scale(environments=ENVIRONMENTS, methods=TRPO, seeds=(0, 1, 2), settings="paper")
# Few enough tasks, episodes and iterations to see learning within an hour or so on two free cores.
REDUCED = replace(
    PAPER,
    methods=(("vpg-trpo", 3), ("svpg-trpo", 3)),
    seeds=(0,),
    iterations=30,
    tasks=10,
    episodes=10,
    held_out_tasks=10,
    validations=10,
)
# All of the paper's settings for half of its iterations: the cheetah in hours.
HALF = replace(
    PAPER,
    environments=("cheetah-velocity", "cheetah-direction"),
    methods=(("vpg-trpo", 5), ("svpg-trpo", 5)),
    seeds=(0,),
    iterations=100,
)
TRPO_SCALES = {"reduced": REDUCED, "half": HALF, "paper": PAPER}
CHASER_SCALES = {
    "reduced": replace(REDUCED, methods=(("vpg-reptile", 3), ("svpg-chaser", 3))),
    "half": replace(HALF, methods=(("vpg-reptile", 5), ("svpg-chaser", 5))),
    "paper": replace(PAPER, methods=DISTANCE),
}


def reproduce(scale: Scale, out: Path, *, only: str | None = None, progress: bool = True) -> None:
    """Run what is missing in `out`, then draw the figure and print the table."""
    policies.reproduce("Locomotion", scale, out, only=only, progress=progress)
