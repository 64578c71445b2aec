"""What the tables and pictures of all experiments share."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

COLOURS = {"maml": "#7f7f7f", "emaml": "#1f77b4", "bfa": "#2ca02c", "bmaml": "#d62728"}
COLOURS |= dict.fromkeys(("bmaml-flat", "bmaml-initial", "bmaml-prediction"), "#ff7f0e")
COLOURS |= {"fomaml": "#bcbd22", "reptile": "#9467bd", "bmaml-one-step": "#8c564b"}
COLOURS |= {"vpg-trpo": "#1f77b4", "svpg-trpo": "#d62728"}
COLOURS |= {"vpg-reptile": "#1f77b4", "svpg-chaser": "#d62728"}
LINES = {5: ":", 20: "--"}
# What a composed method (`grid.COMPOSED`) has that its preset has not.
COMPOSITIONS = {
    "bmaml-flat": "flat prior",
    "bmaml-initial": "flat prior, initial width",
    "bmaml-prediction": "distance of predictions",
    "bmaml-one-step": "n = s = 1",
}
Result = dict[str, Any]


def label(method: str, num_particles: int) -> str:
    """A method's name in legends and tables."""
    if method == "maml":
        return "MAML"
    if method in COMPOSITIONS:
        return f"{label(method.partition('-')[0], num_particles)}, {COMPOSITIONS[method]}"
    return f"{method.upper()}, M = {num_particles}"


def grouped(results: list[Result], *names: str) -> dict[tuple[Any, ...], list[Result]]:
    """Results by the named fields of their part; seeds together."""
    groups: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
    for result in results:
        groups[tuple(result["part"][name] for name in names)].append(result)
    return dict(groups)


def told_seeds(group: list[Result]) -> str:
    """How many trainings a row of a table has, and how many of them diverged."""
    broken = sum(result.get("diverged") is not None for result in group)
    return f"{len(group)} ({broken} diverged)" if broken else str(len(group))


def mean_and_std(values: Sequence[float], digits: int = 2) -> str:
    """As in a table; one value has no spread. Seeds are a sample: their spread is divided by n − 1."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def print_table(title: str, headings: Sequence[str], rows: list[list[str]]) -> None:
    """A table on the terminal."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=150).print(table)


def write_markdown(headings: Sequence[str], rows: list[list[str]], path: Path) -> None:
    """The same table for a page of the documentation."""
    lines = ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    path.write_text("\n".join(lines) + "\n")


def draw_curve(
    axis: Any,
    steps: list[int],
    curves: np.ndarray,
    method: str,
    size: int,
    *,
    lines: dict[int, str] = LINES,
) -> None:
    """The mean over seeds (the rows of `curves`) with a band of one standard deviation."""
    mean = curves.mean(axis=0)
    spread = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)
    colour = COLOURS.get(method, "#9467bd")
    axis.plot(steps, mean, lines.get(size, "-"), color=colour, label=label(method, size))
    axis.fill_between(steps, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)


def save(figure: Any, path: Path) -> None:
    """As PNG and SVG."""
    figure.tight_layout()
    for suffix in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{suffix}"), dpi=150)
    plt.close(figure)
