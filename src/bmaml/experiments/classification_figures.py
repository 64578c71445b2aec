"""Tables and pictures of the classification experiment, from its result files."""

import csv
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bmaml.experiments import figures
from bmaml.experiments.figures import Result, label, mean_and_std
from bmaml.tasks import TaskSource
from bmaml.tasks.task_set import as_task_set
from bmaml.trained import Trained

SCORES = ("accuracy", "accuracy_interval", "particle_accuracy", "nll", "ece", "brier")
NOVELTY = ("entropy", "mutual_information", "confidence")
SETTING = ("tasks", "num_tasks", "method", "num_particles")
# How many steps of adaptation, and what a result calls the test scores after so many.
TESTS = {"trained": "test", "chosen": "test_chosen_steps"}
HEADINGS = (
    *("images", "tasks", "method", "seeds", "step size", "adaptation steps"),
    *("accuracy, %", "95 % interval"),
    *("per particle, %", "NLL", "ECE", "Brier", "unknown, AUROC"),
)


def count(num_tasks: int | None) -> str:
    """The number of training tasks in words."""
    return "endless" if num_tasks is None else f"{num_tasks:,}"


def write_csv(results: list[Result], path: Path) -> None:
    """Two rows a training: scores after the trained steps of adaptation, and after the chosen ones."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        novelty = [f"unknown_auroc_{name}" for name in NOVELTY]
        training = ("seed", "steps", "step_size", "chosen_checkpoint", "diverged")
        adaptation = ("adaptation", "adaptation_steps")
        writer.writerow([*SETTING, *training, *adaptation, *SCORES, *novelty, "commit"])
        for result, (which, scores) in product(results, TESTS.items()):
            # Unknown classes are told apart after the trained steps only.
            told_apart = result["novelty_auroc"] if which == "trained" else None
            writer.writerow(
                [
                    *(result["part"][name] for name in SETTING),
                    *(result[name] for name in training),
                    *(which, result["adaptation_steps"][which]),
                    *(f"{result[scores][name]:.5f}" for name in SCORES),
                    *(f"{told_apart[name]:.5f}" if told_apart else "" for name in NOVELTY),
                    result["commit"],
                ]
            )


def table_rows(results: list[Result]) -> list[list[str]]:
    """Mean ± standard deviation over seeds on the test tasks; a method as trained, and with more steps.

    Every training chooses its own number of adaptation steps.
    """
    rows = []
    groups = figures.grouped(results, *SETTING).items()
    for ((tasks, num_tasks, method, size), group), (which, scores) in product(groups, TESTS.items()):
        step = group[0]["step_size"]
        adaptation = sorted({result["adaptation_steps"][which] for result in group})
        test = {name: [result[scores][name] for result in group] for name in SCORES}
        unknown = [result["novelty_auroc"]["entropy"] for result in group]
        rows.append(
            [
                *(tasks, count(num_tasks), label(method, size), figures.told_seeds(group)),
                "default" if step is None else f"{step:g}",
                f"{' or '.join(map(str, adaptation))}, {'as trained' if which == 'trained' else which}",
                mean_and_std([100 * value for value in test["accuracy"]], 1),
                f"± {100 * float(np.mean(test['accuracy_interval'])):.1f}",
                mean_and_std([100 * value for value in test["particle_accuracy"]], 1),
                *(mean_and_std(test[name], 3) for name in ("nll", "ece", "brier")),
                mean_and_std(unknown, 3) if which == "trained" else "",
            ]
        )
    return rows


def print_table(results: list[Result]) -> None:
    """The table on the terminal."""
    title = (
        "Classification: test tasks, mean ± std over seeds; the interval is of one seed's mean over "
        "tasks"
    )
    figures.print_table(title, HEADINGS, table_rows(results))


def write_markdown(results: list[Result], path: Path) -> None:
    """The same table for a page of the documentation."""
    figures.write_markdown(HEADINGS, table_rows(results), path)


def draw_curves(results: list[Result], path: Path) -> None:
    """Validation accuracy against meta-updates, a panel for each number of training tasks."""
    groups = figures.grouped(results, "num_tasks", "method", "num_particles")
    settings = list(dict.fromkeys(key[0] for key in groups))
    width = 1.0 + 3.8 * len(settings)
    figure, axes = plt.subplots(1, len(settings), figsize=(width, 3.4), squeeze=False, sharey=True)
    for axis, setting in zip(axes[0], settings, strict=True):
        for (num_tasks, method, size), group in groups.items():
            if num_tasks != setting:
                continue
            steps = [point["step"] for point in group[0]["validation"]]
            curves = [[100 * point["accuracy"] for point in run["validation"]] for run in group]
            figures.draw_curve(axis, steps, np.array(curves), method, size)
        axis.set_title(f"{count(setting)} training tasks", fontsize=10)
        axis.set_xlabel("meta-updates")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("validation accuracy, %")
    axes[0, 0].legend(fontsize=8, frameon=False)
    figures.save(figure, path)


def draw_particles(results: list[Result], path: Path) -> None:
    """Test accuracy against the number of particles, mean over seeds, with the interval over tasks."""
    groups = figures.grouped(results, "num_tasks", "method", "num_particles")
    figure, axis = plt.subplots(figsize=(5.0, 3.4))
    settings = list(dict.fromkeys(key[0] for key in groups))
    for style, setting in zip(("o-", "s--", "^:"), settings, strict=False):
        for method in ("emaml", "bmaml"):
            points = {
                size: [100 * run["test"]["accuracy"] for run in group]
                for (tasks, name, size), group in groups.items()
                # MAML is EMAML with one particle, and where BMAML begins as well.
                if tasks == setting and name in (method, "maml")
            }
            sizes = sorted(points)
            found = [
                groups.get((setting, method, size), groups.get((setting, "maml", size), []))
                for size in sizes
            ]
            interval = [
                100 * float(np.mean([run["test"]["accuracy_interval"] for run in runs]))
                for runs in found
            ]
            axis.errorbar(
                sizes,
                [float(np.mean(points[size])) for size in sizes],
                yerr=interval,
                fmt=style,
                color=figures.COLOURS[method],
                capsize=3,
                label=f"{method.upper()}, {count(setting)} tasks",
            )
    axis.set_xlabel("particles M")
    axis.set_ylabel("test accuracy, %")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)
    figures.save(figure, path)


def draw_episodes(
    runs: dict[str, tuple[Trained, TaskSource]], path: Path, episodes: int = 2, queries: int = 10
) -> None:
    """Test episodes as the model sees them: its class probabilities under every query image."""
    if not runs:
        return
    source = next(iter(runs.values()))[1]
    tasks = as_task_set(source.held_out("test"))
    rows = episodes * (1 + len(runs))
    figure, axes = plt.subplots(rows, queries, figsize=(1.1 * queries, 1.35 * rows), squeeze=False)
    for axis in axes.ravel():
        axis.set_axis_off()
    for episode in range(episodes):
        task = tasks[episode]
        top = episode * (1 + len(runs))
        classes = int(np.max(task.support.y)) + 1
        for index, (image, y) in enumerate(zip(task.support.x, task.support.y, strict=True)):
            if index < queries:
                _show(axes[top, index], image, f"class {int(y)}")
        # Every few rows, so that all classes are asked about.
        chosen = np.linspace(0, len(task.query.y) - 1, queries).round().astype(int)
        for line, (name, (trained, _)) in enumerate(runs.items(), start=top + 1):
            prediction = trained.adapt(task.support.x, task.support.y, query_x=task.query.x).predict(
                task.query.x
            )
            for axis, row in zip(axes[line], chosen, strict=True):
                truth, guess = int(task.query.y[row]), int(prediction.labels[row])
                certain = f"{100 * float(prediction.confidence[row]):.0f} %"
                colour = "#2ca02c" if truth == guess else "#d62728"
                _show(axis, task.query.x[row], f"{guess}, {certain}", colour)
                _draw_probabilities(axis, np.asarray(prediction.probabilities[row]), truth, classes)
            axes[line, 0].text(
                -0.15,
                0.5,
                name,
                transform=axes[line, 0].transAxes,
                rotation=90,
                va="center",
                ha="right",
                fontsize=7,
            )
    figures.save(figure, path)


def _show(axis: Any, image: Any, title: str, colour: str = "black") -> None:
    pixels = np.asarray(image)
    grey = pixels.shape[-1] == 1
    axis.imshow(1.0 - pixels[..., 0] if grey else pixels, cmap="gray" if grey else None, vmin=0, vmax=1)
    axis.set_title(title, fontsize=7, color=colour, pad=2)


def _draw_probabilities(axis: Any, probabilities: np.ndarray, truth: int, classes: int) -> None:
    """A bar for each class under the image; the true one is dark."""
    inset = axis.inset_axes((0.0, -0.28, 1.0, 0.22))
    colours = ["#333333" if index == truth else "#bbbbbb" for index in range(classes)]
    inset.bar(range(classes), probabilities, color=colours)
    inset.set_ylim(0, 1)
    inset.set_axis_off()
