"""Table and pictures of the sinusoid experiment, from its result files."""

import csv
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from bmaml.experiments import figures
from bmaml.experiments.figures import Result, label, mean_and_std
from bmaml.tasks import Data, Task
from bmaml.tasks.sinusoid import draw_wave
from bmaml.trained import Trained

SCORES = ("mse", "particle_mse", "nll", "coverage", "crps")
HIGHEST = 6.0  # error that a picture of curves shows
SETTING = ("shots", "num_tasks", "method", "num_particles")


def write_csv(results: list[Result], path: Path) -> None:
    """One row a training: its setting, seed, step size, test scores and commit."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        settings = ("shots", "num_tasks", "method", "num_particles", "seed", "steps", "step_size")
        longer = [f"{name}_10_steps" for name in SCORES]
        writer.writerow([*settings, "checkpoint", "diverged", *SCORES, *longer, "commit"])
        for result in results:
            part = result["part"]
            writer.writerow(
                [
                    *(part[name] for name in settings[:4]),
                    *(result[name] for name in settings[4:]),
                    result["chosen_checkpoint"],
                    result.get("diverged"),
                    *(f"{result['test'][name]:.5f}" for name in SCORES),
                    *(f"{result['test_10_steps'][name]:.5f}" for name in SCORES),
                    result["commit"],
                ]
            )


def write_curves(results: list[Result], path: Path) -> None:
    """One row for each validation of each training: its test scores at that update.

    Of the particles as they are trained; those of the table have their noise level from validation.
    """
    scores = ("mse", "particle_mse", "nll", "coverage")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*SETTING, "seed", "update", *scores])
        for result in results:
            setting = [result["part"][name] for name in SETTING]
            for point in result["curve"]:
                found = [f"{point[name]:.4f}" for name in scores]
                writer.writerow([*setting, result["seed"], point["step"], *found])


HEADINGS = (
    *("K", "tasks", "method", "seeds", "step size", "MSE", "MSE per particle", "NLL"),
    *("coverage", "CRPS", "MSE, 10 steps"),
)


def table_rows(results: list[Result]) -> list[list[str]]:
    """Mean ± standard deviation over seeds of every score on the test tasks, a row a method."""
    rows = []
    for (shots, num_tasks, method, size), group in figures.grouped(results, *SETTING).items():
        step = group[0]["step_size"]
        scores = [mean_and_std([result["test"][name] for result in group]) for name in SCORES]
        longer = mean_and_std([result["test_10_steps"]["mse"] for result in group])
        setting = [str(shots), str(num_tasks), label(method, size), figures.told_seeds(group)]
        rows.append([*setting, "default" if step is None else f"{step:g}", *scores, longer])
    return rows


def print_table(results: list[Result]) -> None:
    """The table on the terminal."""
    title = "Sinusoid: test tasks, mean ± std over seeds; coverage is of the 90 % interval"
    figures.print_table(title, HEADINGS, table_rows(results))


def write_markdown(results: list[Result], path: Path) -> None:
    """The same table for a page of the documentation."""
    figures.write_markdown(HEADINGS, table_rows(results), path)


def draw_curves(results: list[Result], path: Path) -> None:
    """Test MSE of the mean prediction against meta-updates, a panel per setting."""
    groups = figures.grouped(results, *SETTING)
    settings = sorted({key[:2] for key in groups})
    figure, axes = plt.subplots(
        1, len(settings), figsize=(1.0 + 3.6 * len(settings), 3.4), squeeze=False
    )
    worst = max((point["mse"] for result in results for point in result["curve"]), default=HIGHEST)
    for axis, (shots, num_tasks) in zip(axes[0], settings, strict=True):
        for (k, t, method, size), group in groups.items():
            if (k, t) != (shots, num_tasks):
                continue
            steps, curves = _common(group)
            if steps:
                figures.draw_curve(axis, steps, curves, method, size)
        axis.set_title(f"{shots}-shot, {num_tasks} training tasks", fontsize=10)
        axis.set_xlabel("meta-updates")
        axis.set_ylim(0, min(1.05 * worst, HIGHEST))
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("test MSE")
    # Not every method is in every panel: each gets its line in the legend of the first that shows it.
    named: set[str] = set()
    for axis in axes[0]:
        lines, labels = axis.get_legend_handles_labels()
        new = [index for index, label in enumerate(labels) if label not in named]
        named.update(labels)
        if new:
            axis.legend([lines[i] for i in new], [labels[i] for i in new], fontsize=8, frameon=False)
    figures.save(figure, path)


def _common(group: list[Result]) -> tuple[list[int], np.ndarray]:
    """The updates at which all of these were scored, of which a diverged training has fewer."""
    by_step = [{point["step"]: point["mse"] for point in result["curve"]} for result in group]
    steps = sorted(set.intersection(*map(set, by_step)))
    return steps, np.array([[curve[step] for step in steps] for curve in by_step])


def draw_fits(
    shots_and_folders: tuple[int, dict[str, Path]], path: Path, tasks: int = 4, steps: int = 10
) -> None:
    """Fits on random test tasks: every particle, the mean and the 90 % band, methods side by side."""
    shots, found = shots_and_folders
    if not found:
        return
    grid = jnp.linspace(-6.0, 6.0, 241)[:, None]
    figure, axes = plt.subplots(
        tasks, len(found), figsize=(3.4 * len(found), 2.0 * tasks), squeeze=False, sharex=True
    )
    for column, (name, folder) in enumerate(found.items()):
        trained = Trained.load(folder)
        for row in range(tasks):
            task, curve = example_task(row, shots)
            prediction = trained.adapt(task.support.x, task.support.y, steps=steps).predict(grid)
            _draw_fit(axes[row, column], grid, prediction, curve, task)
        axes[0, column].set_title(f"{name}, {steps} steps", fontsize=10)
    figures.save(figure, path)


def example_task(index: int, shots: int) -> tuple[Task, Any]:
    """A random sinusoid and its noiseless curve."""
    wave_key, support_key = jax.random.split(jax.random.fold_in(jax.random.key(7), index))
    wave = draw_wave(wave_key)
    x = jax.random.uniform(support_key, (shots, 1), minval=-5.0, maxval=5.0)
    support = Data(x, wave(x))
    return Task(support, support), wave


def _draw_fit(axis: Any, grid: Any, prediction: Any, curve: Any, task: Task) -> None:
    x = np.asarray(grid[:, 0])
    lower, upper = prediction.interval(0.9)
    axis.fill_between(
        x, np.asarray(lower)[:, 0], np.asarray(upper)[:, 0], color="#d62728", alpha=0.15, lw=0
    )
    for sample in np.asarray(prediction.samples):
        axis.plot(x, sample[:, 0], color="#d62728", alpha=0.25, lw=0.7)
    axis.plot(x, np.asarray(prediction.mean)[:, 0], color="#d62728", lw=1.6)
    axis.plot(x, np.asarray(curve(grid))[:, 0], "k--", lw=1.0)
    axis.plot(np.asarray(task.support.x)[:, 0], np.asarray(task.support.y)[:, 0], "ko", ms=4)
    axis.set_ylim(-6.5, 6.5)
