"""Table and pictures of the experiments in reinforcement learning, from their result files."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from bmaml.experiments import figures
from bmaml.experiments.figures import Result, label, mean_and_std

# Each task's best particle, as the paper reports, and the mean over particles.
RETURNS = {
    "return_best": "best particle, after adaptation",
    "return_mean": "mean of particles, after adaptation",
    "return_best_before": "best particle, before adaptation",
    "return_mean_before": "mean of particles, before adaptation",
}
LINES = {1: ":", 10: "--"}
SETTING = ("environment", "method", "num_particles")


def write_csv(results: list[Result], path: Path) -> None:
    """One row a training: its settings, seed, returns on test tasks and commit."""
    settings = ("settings", "iterations", "tasks", "episodes", "temperature", "seed")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        last = [f"{name}_training_at_the_end" for name in RETURNS]
        writer.writerow([*SETTING, *settings, "checkpoint", *RETURNS, *last, "seconds", "commit"])
        for result in results:
            writer.writerow(
                [
                    *(result["part"][name] for name in SETTING),
                    *(result["settings"][name] for name in settings),
                    result["chosen_checkpoint"],
                    *(f"{result['test'][name]:.3f}" for name in RETURNS),
                    *(f"{result['training_at_the_end'][name]:.3f}" for name in RETURNS),
                    f"{result['curve'][-1]['seconds']:.0f}",
                    result["commit"],
                ]
            )


def write_curves(results: list[Result], path: Path) -> None:
    """One row for each validation of each training: returns on validation tasks, and of training."""
    parts = ("validation", "training")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        returns = [f"{name}_{part}" for part in parts for name in RETURNS]
        writer.writerow([*SETTING, "seed", "update", *returns])
        for result in results:
            setting = [result["part"][name] for name in SETTING]
            for point in result["curve"]:
                found = [f"{point[part][name]:.3f}" for part in parts for name in RETURNS]
                writer.writerow([*setting, result["seed"], point["step"], *found])


HEADINGS = (
    *("task", "method", "seeds", "iterations", "after: best", "after: mean"),
    *("before: best", "before: mean", "training, last tenth: best", "mean"),
)


def table_rows(results: list[Result]) -> list[list[str]]:
    """Mean ± standard deviation over seeds of every return, a row a method."""
    rows = []
    for (environment, method, size), group in figures.grouped(results, *SETTING).items():
        iterations = str(group[0]["settings"]["iterations"])
        test = [mean_and_std([one["test"][name] for one in group]) for name in RETURNS]
        training = [
            mean_and_std([one["training_at_the_end"][name] for one in group])
            for name in ("return_best", "return_mean")
        ]
        setting = [environment, label(method, size), str(len(group)), iterations]
        rows.append([*setting, *test, *training])
    return rows


def print_table(title: str, results: list[Result]) -> None:
    """The table on the terminal."""
    heading = f"{title}: returns on test tasks, mean ± std over seeds"
    figures.print_table(heading, HEADINGS, table_rows(results))


def write_markdown(results: list[Result], path: Path) -> None:
    """The same table for a page of the documentation."""
    figures.write_markdown(HEADINGS, table_rows(results), path)


def draw_curves(results: list[Result], path: Path) -> None:
    """Returns on held-out tasks against meta-updates; a column for each comparison of the paper."""
    columns: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        columns.setdefault((result["part"]["environment"], family(result)), []).append(result)
    if not columns:
        return
    shape = (len(RETURNS), len(columns))
    size = (1.0 + 3.4 * shape[1], 2.3 * shape[0])
    figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharex="col", sharey="col")
    for column, ((environment, kind), group) in enumerate(columns.items()):
        for axis, (name, words) in zip(axes[:, column], RETURNS.items(), strict=True):
            for (_, method, count), seeds in figures.grouped(group, *SETTING).items():
                steps = [entry["step"] for entry in seeds[0]["curve"]]
                curves = np.array(
                    [[entry["validation"][name] for entry in one["curve"]] for one in seeds]
                )
                figures.draw_curve(axis, steps, curves, method, count, lines=LINES)
            axis.set_title(words, fontsize=9)
            axis.grid(alpha=0.3)
        axes[0, column].set_title(f"{environment}, {kind}\n{RETURNS['return_best']}", fontsize=9)
        axes[0, column].legend(fontsize=7, frameon=False)
        axes[-1, column].set_xlabel("meta-updates")
    for axis in axes[:, 0]:
        axis.set_ylabel("return")
    figures.save(figure, path)


def family(result: Result) -> str:
    """Which comparison of the paper a method belongs to."""
    return "TRPO" if result["part"]["method"].endswith("trpo") else "chaser and Reptile"
