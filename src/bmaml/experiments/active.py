"""The paper's active learning (Algorithm 4; Section 5 of Kim et al. 2018).

The learners are those of the classification experiment, M = 5: each starts with one labelled image a
class, asks for the label of one image of a pool of twenty at a time, and is scored on other images.
For each label it adapts by as many steps as the classification experiment chose on validation tasks.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np

from bmaml.active import curve_of_tasks
from bmaml.errors import BmamlError
from bmaml.experiments import classification, figures, result_files
from bmaml.experiments.classification import Part, Scale
from bmaml.metrics import summarise
from bmaml.report.scores import estimate
from bmaml.tasks.task_set import as_task_set
from bmaml.trained import Trained
from bmaml.writing import reporting_write_errors, write_atomically

METHODS = ("emaml", "bmaml", "bmaml-prediction")
PARTICLES = 5
POOL = 20
ACQUISITIONS = ("entropy", "mutual_information", "margin", "random")
LINES = {"entropy": "-", "mutual_information": "--", "margin": "-.", "random": ":"}


def reproduce(
    scale: Scale,
    out: Path,
    *,
    folder: Path | None = None,
    only: str | None = None,
    progress: bool = True,
) -> None:
    """Train what is missing in `out`, run what is missing, then draw the curves and print a table."""
    everything = [
        part
        for part in classification.parts(scale, folder)
        if part.method in METHODS and part.num_particles == PARTICLES
    ]
    # The paper's question is asked where training tasks abound.
    everything = [part for part in everything if part.num_tasks == scale.num_tasks[0]]
    if not everything:
        raise BmamlError(f"This scale trains no method with {PARTICLES} particles.")
    trainings = result_files.choose(everything, scale.seeds, only)
    classification.train_all(trainings, scale, out, progress)
    for part, seed in trainings:
        run(part, seed, out, progress)
    results = [
        result_files.require_same(path, adaptation_steps=chosen_steps(out, part, seed))
        for part in everything
        for seed in scale.seeds
        if (path := path_of(out, part, seed)).exists()
    ]
    with reporting_write_errors(out):
        write_csv(results, out / "active.csv")
        draw(results, out / "active")
        figures.write_markdown(HEADINGS, table_rows(results), out / "active.md")
        figures.write_markdown(
            DIFFERENCE_HEADINGS, difference_rows(results), out / "active-differences.md"
        )
    title = f"Active learning: test accuracy, %, after so many labels out of a pool of {POOL}"
    figures.print_table(title, HEADINGS, table_rows(results))
    title = f"Task by task, mean over 1 to {POOL} labels, in points of accuracy"
    figures.print_table(title, DIFFERENCE_HEADINGS, difference_rows(results))
    print(f"Written to {out}: active.csv, active.md, active-differences.md and active as .png and .svg")


def path_of(out: Path, part: Part, seed: int) -> Path:
    """The file with one training's curves."""
    return out / "parts" / f"{result_files.training_name(part, seed)}-active.json"


def chosen_steps(out: Path, part: Part, seed: int) -> int:
    """How many steps of adaptation the classification experiment chose for a training."""
    path = result_files.result_path(out, part, seed)
    try:
        return result_files.require_same(path)["adaptation_steps"]["chosen"]
    except KeyError as error:
        raise BmamlError(
            f"{path} does not say how many steps of adaptation were chosen (an older version wrote "
            "it): remove it, and that training is scored again."
        ) from error


def run(part: Part, seed: int, out: Path, progress: bool) -> None:
    """The curves of one training, one for each acquisition."""
    path, steps = path_of(out, part, seed), chosen_steps(out, part, seed)
    if path.exists() and "by_task" in result_files.require_same(path, adaptation_steps=steps):
        return
    trained = Trained.load(result_files.run_path(out, part, seed))
    tasks = part.recipe(None).task_source().held_out("test")
    curves, by_task = {}, {}
    for acquisition in ACQUISITIONS:
        if progress:
            print(f"{part}, seed {seed}: labelling by {acquisition}")
        scores = curve_of_tasks(trained, tasks, acquisition, pool=POOL, steps=steps)
        over_tasks = jax.vmap(summarise, in_axes=1)(scores)
        curves[acquisition] = {name: values.tolist() for name, values in over_tasks.items()}
        by_task[acquisition] = np.mean(scores["accuracy"][:, 1:], axis=1, dtype=np.float64).tolist()
    record = {
        "part": part.to_json(),
        "seed": seed,
        "adaptation_steps": steps,
        "tasks": len(as_task_set(tasks)),
        "curves": curves,
        "by_task": by_task,
        "commit": result_files.commit(),
    }
    with reporting_write_errors(out):
        write_atomically(path, json.dumps(record, indent=2) + "\n")


def write_csv(results: list[dict[str, Any]], path: Path) -> None:
    """One row for each training, acquisition and number of labels."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                *("method", "num_particles", "seed", "adaptation_steps", "acquisition", "labels"),
                *("accuracy", "accuracy_interval", "nll", "tasks", "commit"),
            ]
        )
        for result in results:
            part = result["part"]
            for acquisition, scores in result["curves"].items():
                for labels, accuracy in enumerate(scores["accuracy"]):
                    writer.writerow(
                        [
                            *(part["method"], part["num_particles"], result["seed"]),
                            *(result["adaptation_steps"], acquisition, labels),
                            *(f"{accuracy:.5f}", f"{scores['accuracy_interval'][labels]:.5f}"),
                            *(f"{scores['nll'][labels]:.5f}", result["tasks"], result["commit"]),
                        ]
                    )


SHOWN = (0, 1, 2, 5, 10, 15, 20)
HEADINGS = ("method", "choice", "seeds", *(f"{labels} labels" for labels in SHOWN))


def table_rows(results: list[dict[str, Any]]) -> list[list[str]]:
    """The accuracy after some numbers of labels, mean ± standard deviation over seeds."""
    rows = []
    for (method, size), group in figures.grouped(results, "method", "num_particles").items():
        for acquisition in ACQUISITIONS:
            curves = np.array([run["curves"][acquisition]["accuracy"] for run in group])
            cells = [figures.mean_and_std(list(100 * curves[:, labels]), 1) for labels in SHOWN]
            name = acquisition.replace("_", " ")
            rows.append([figures.label(method, size), name, str(len(group)), *cells])
    return rows


DIFFERENCE_HEADINGS = ("method", "more than", "choice", "seeds", "each seed", "difference")


def difference_rows(results: list[dict[str, Any]]) -> list[list[str]]:
    """The paper's two comparisons: with EMAML by the same choice, and with choosing at random.

    Differences are taken task by task, and averaged over the seeds that both have before the interval
    over tasks; the seeds' own stand beside it.
    """
    runs = {
        method: {run["seed"]: run["by_task"] for run in group if "by_task" in run}
        for (method,), group in figures.grouped(results, "method").items()
    }
    rows = []
    for method, own in runs.items():
        if method != "emaml":
            for acquisition in ACQUISITIONS:
                others = {seed: run[acquisition] for seed, run in runs.get("emaml", {}).items()}
                mine = {seed: run[acquisition] for seed, run in own.items()}
                rows += _difference(method, "EMAML", acquisition, mine, others)
        for acquisition in ACQUISITIONS[:-1]:
            mine = {seed: run[acquisition] for seed, run in own.items()}
            random = {seed: run["random"] for seed, run in own.items()}
            rows += _difference(method, "random choice", acquisition, mine, random)
    return rows


def _difference(
    method: str,
    other: str,
    acquisition: str,
    mine: Mapping[int, list[float]],
    others: Mapping[int, list[float]],
) -> list[list[str]]:
    """One row; none without a seed in common."""
    seeds = sorted(mine.keys() & others.keys())
    if not seeds:
        return []
    gaps = np.array([np.subtract(mine[seed], others[seed]) for seed in seeds])
    mean, interval = estimate(100 * gaps.mean(axis=0))
    each = ", ".join(f"{100 * gap.mean():+.2f}" for gap in gaps)
    name = acquisition.replace("_", " ")
    told = f"{mean:+.2f} ± {interval:.2f}"
    return [[figures.label(method, PARTICLES), other, name, str(len(seeds)), each, told]]


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Accuracy against labels: a line for each method and choice, a band for the interval."""
    figure, axis = plt.subplots(figsize=(5.6, 3.8))
    for (method, size), group in figures.grouped(results, "method", "num_particles").items():
        for acquisition in ACQUISITIONS:
            curves = 100 * np.array([run["curves"][acquisition]["accuracy"] for run in group])
            half = 100 * np.array([run["curves"][acquisition]["accuracy_interval"] for run in group])
            mean, labels = curves.mean(axis=0), np.arange(curves.shape[1])
            # Seeds share their test tasks: their intervals are averaged, not narrowed.
            width, colour = half.mean(axis=0), figures.COLOURS[method]
            name = f"{figures.label(method, size)}, {acquisition.replace('_', ' ')}"
            axis.plot(labels, mean, LINES[acquisition], color=colour, label=name)
            if acquisition in ("entropy", "random"):
                axis.fill_between(labels, mean - width, mean + width, color=colour, alpha=0.12, lw=0)
    axis.set_xlabel("labels asked for")
    axis.set_ylabel("test accuracy, %")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, frameon=False)
    figures.save(figure, path)
