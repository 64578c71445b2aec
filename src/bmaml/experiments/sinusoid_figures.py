"""Table and pictures of the sinusoid experiment, from its result files."""

import csv
from collections import defaultdict
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

from bmaml.recipe import Recipe
from bmaml.run_folder import read_description
from bmaml.tasks import Data, Task
from bmaml.tasks.sinusoid import draw_wave
from bmaml.trained import Trained

COLOURS = {"maml": "#7f7f7f", "emaml": "#1f77b4", "bfa": "#2ca02c", "bmaml": "#d62728"}
SCORES = ("mse", "particle_mse", "nll", "coverage", "crps")
Result = dict[str, Any]
Group = tuple[int, int, str, int]


def label(method: str, num_particles: int) -> str:
    """A method's name in legends and tables."""
    return "MAML" if method == "maml" else f"{method.upper()}, M = {num_particles}"


def grouped(results: list[Result]) -> dict[Group, list[Result]]:
    """Results by shots, number of tasks, method and number of particles; seeds together."""
    groups: dict[Group, list[Result]] = defaultdict(list)
    for result in results:
        part = result["part"]
        key = (part["shots"], part["num_tasks"], part["method"], part["num_particles"])
        groups[key].append(result)
    return dict(groups)


def write_csv(results: list[Result], path: Path) -> None:
    """One row a training: its setting, seed, step size, test scores and commit."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        settings = ("shots", "num_tasks", "method", "num_particles", "seed", "steps", "step_size")
        longer = [f"{name}_10_steps" for name in SCORES]
        writer.writerow([*settings, "checkpoint", *SCORES, *longer, "commit"])
        for result in results:
            part = result["part"]
            writer.writerow(
                [
                    *(part[name] for name in settings[:4]),
                    *(result[name] for name in settings[4:]),
                    result["chosen_checkpoint"],
                    *(f"{result['test'][name]:.5f}" for name in SCORES),
                    *(f"{result['test_10_steps'][name]:.5f}" for name in SCORES),
                    result["commit"],
                ]
            )


HEADINGS = (
    *("K", "tasks", "method", "seeds", "step size", "MSE", "MSE per particle", "NLL"),
    *("coverage", "CRPS", "MSE, 10 steps"),
)


def table_rows(results: list[Result]) -> list[list[str]]:
    """Mean ± standard deviation over seeds of every score on the test tasks, a row a method."""
    rows = []
    for (shots, num_tasks, method, size), group in grouped(results).items():
        step = group[0]["step_size"]
        scores = [
            _mean_and_std([result["test"][name] for result in group])
            for name in ("mse", "particle_mse", "nll", "coverage", "crps")
        ]
        longer = _mean_and_std([result["test_10_steps"]["mse"] for result in group])
        setting = [str(shots), str(num_tasks), label(method, size), str(len(group))]
        rows.append([*setting, "default" if step is None else f"{step:g}", *scores, longer])
    return rows


def print_table(results: list[Result]) -> None:
    """The table on the terminal."""
    table = Table(title="Sinusoid: test tasks, mean ± std over seeds; coverage is of the 90 % interval")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for row in table_rows(results):
        table.add_row(*row)
    Console(width=150).print(table)


def write_markdown(results: list[Result], path: Path) -> None:
    """The same table for a page of the documentation."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in table_rows(results)]
    path.write_text("\n".join(lines) + "\n")


def _mean_and_std(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def draw_curves(results: list[Result], path: Path) -> None:
    """Test MSE of the mean prediction against meta-updates, a panel per setting."""
    groups = grouped(results)
    settings = sorted({key[:2] for key in groups})
    figure, axes = plt.subplots(
        1, len(settings), figsize=(1.0 + 3.6 * len(settings), 3.4), squeeze=False
    )
    for axis, (shots, num_tasks) in zip(axes[0], settings, strict=True):
        for (k, t, method, size), group in groups.items():
            if (k, t) != (shots, num_tasks):
                continue
            steps = [point["step"] for point in group[0]["curve"]]
            curves = np.array([[p["mse"] for p in result["curve"]] for result in group])
            if curves.ndim != 2 or curves.shape[1] == 0:
                continue
            mean, spread = curves.mean(axis=0), curves.std(axis=0)
            style = {5: ":", 20: "--"}.get(size, "-")
            colour = COLOURS.get(method, "#9467bd")
            axis.plot(steps, mean, style, color=colour, label=label(method, size))
            axis.fill_between(steps, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        axis.set_title(f"{shots}-shot, {num_tasks} training tasks", fontsize=10)
        axis.set_xlabel("meta-updates")
        axis.set_ylim(0, 6)
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("test MSE")
    axes[0, 0].legend(fontsize=8, frameon=False)
    _save(figure, path)


def draw_fits(out: Path, scale: Any, path: Path, tasks: int = 4, steps: int = 10) -> None:
    """Fits on random test tasks: every particle, the mean and the 90 % band, methods side by side."""
    by_shots: dict[int, dict[str, tuple[str, Path]]] = {shots: {} for shots in scale.shots}
    for shots, (method, size) in product(scale.shots, sorted(scale.methods, key=itemgetter(1))):
        name = f"K{shots}-T{scale.num_tasks[0]}-{method}-M{size}-seed{scale.seeds[0]}"
        if method != "bfa" and (out / "parts" / f"{name}.json").exists():
            # Of each method the most particles.
            by_shots[shots][method] = (label(method, size), out / "runs" / name)
    # Of an unfinished experiment, the setting with the most methods to compare.
    shots, found = max(by_shots.items(), key=lambda item: (len(item[1]), item[0]))
    if not found:
        return
    grid = jnp.linspace(-6.0, 6.0, 241)[:, None]
    figure, axes = plt.subplots(
        tasks, len(found), figsize=(3.4 * len(found), 2.0 * tasks), squeeze=False, sharex=True
    )
    for column, (name, folder) in enumerate(found.values()):
        recipe = Recipe.from_json(read_description(folder))
        trained = Trained.load(folder, recipe.learner())
        for row in range(tasks):
            task, curve = example_task(row, shots)
            prediction = trained.adapt(task.support.x, task.support.y, steps=steps).predict(grid)
            _draw_fit(axes[row, column], grid, prediction, curve, task)
        axes[0, column].set_title(f"{name}, {steps} steps", fontsize=10)
    _save(figure, path)


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


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    for suffix in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{suffix}"), dpi=150)
    plt.close(figure)
