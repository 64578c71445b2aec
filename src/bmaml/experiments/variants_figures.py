"""Table and picture of the variants, from their result files."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bmaml.experiments import figures
from bmaml.experiments.figures import Result, mean_and_std

SCORES = ("mse", "particle_mse", "nll", "coverage", "crps")
HEADINGS = (
    *("K", "variant", "seeds", "step size", "MSE", "MSE per particle", "NLL", "coverage", "CRPS"),
    "cost",
)
# How many seeds of a number of shots and a variant diverged.
Failed = Mapping[tuple[int, str], int]
COLOURS = {"emaml": "#1f77b4", "bfa": "#2ca02c", "bmaml": "#d62728", "reptile": "#9467bd"}


def write_csv(results: list[Result], path: Path) -> None:
    """One row a training: its setting, seed, step size, test scores, cost and commit."""
    settings, of_run = (
        ("shots", "num_tasks", "variant", "num_particles"),
        ("seed", "steps", "step_size"),
    )
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*settings, *of_run, "checkpoint", *SCORES, "cost", "commit"])
        for result in results:
            writer.writerow(
                [
                    *(result["part"][name] for name in settings),
                    *(result[name] for name in of_run),
                    result["chosen_checkpoint"],
                    *(f"{result['test'][name]:.5f}" for name in SCORES),
                    f"{result['cost']:.3f}",
                    result["commit"],
                ]
            )


def table_rows(results: list[Result], failed: Failed) -> list[list[str]]:
    """Mean ± standard deviation over seeds of every score on the test tasks, a row a variant.

    Over those that did not diverge; how many did stands beside.
    """
    rows = []
    groups = figures.grouped(results, "shots", "variant")
    for shots, variant in [*groups, *(key for key in failed if key not in groups)]:
        group, lost = groups.get((shots, variant), []), failed.get((shots, variant), 0)
        seeds = f"{len(group)} ({lost} diverged)" if lost else str(len(group))
        if not group:
            rows.append([str(shots), variant, seeds, *["–"] * (len(HEADINGS) - 3)])
            continue
        step = group[0]["step_size"]
        scores = [mean_and_std([result["test"][name] for result in group]) for name in SCORES]
        setting = [str(shots), variant, seeds, "default" if step is None else f"{step:g}"]
        rows.append([*setting, *scores, f"{group[0]['cost']:.1f}"])
    return rows


def print_table(results: list[Result], failed: Failed) -> None:
    """The table on the terminal."""
    title = (
        "Variants on sinusoids: test tasks, mean ± std over seeds; coverage is of the 90 % interval; "
        "cost is the time of a meta-gradient, EMAML = 1"
    )
    figures.print_table(title, HEADINGS, table_rows(results, failed))


def write_markdown(results: list[Result], failed: Failed, path: Path) -> None:
    """The same table for a page of the documentation."""
    figures.write_markdown(HEADINGS, table_rows(results, failed), path)


def draw_scores(results: list[Result], path: Path) -> None:
    """Test MSE of every variant, a panel per number of shots: a dot a seed, a bar at their mean.

    What is far beyond the others is an arrow at the edge, or nothing else could be told apart.
    """
    groups = figures.grouped(results, "shots", "variant")
    shots = sorted({key[0] for key in groups})
    variants = list(dict.fromkeys(key[1] for key in groups))
    height = 1.2 + 0.28 * len(variants)
    figure, axes = plt.subplots(
        1, len(shots), figsize=(2.2 + 3.4 * len(shots), height), squeeze=False, sharey=True
    )
    for axis, k in zip(axes[0], shots, strict=True):
        drawn = [(row, groups[k, name]) for row, name in enumerate(variants) if (k, name) in groups]
        limit = 2.0 * float(np.median([_error(result) for _, group in drawn for result in group]))
        for row, group in drawn:
            _draw_row(axis, row, group, limit)
        axis.set_title(f"{k}-shot", fontsize=10)
        axis.set_xlabel("test MSE")
        axis.grid(alpha=0.3)
    axes[0, 0].set_yticks(range(len(variants)), variants)
    axes[0, 0].invert_yaxis()
    figures.save(figure, path)


def _error(result: Result) -> float:
    return result["test"]["mse"]


def _draw_row(axis: Any, row: int, group: list[Result], limit: float) -> None:
    values = [_error(result) for result in group]
    colour = COLOURS[group[0]["part"]["method"]]
    near = [value for value in values if value <= limit]
    axis.plot(near, [row] * len(near), "o", color=colour, alpha=0.35, ms=4)
    if len(near) < len(values):
        axis.plot(limit, row, ">", color=colour, alpha=0.35, ms=6)
    if np.mean(values) <= limit:
        axis.plot(np.mean(values), row, "|", color=colour, ms=14, mew=2.5)
