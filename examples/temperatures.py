"""Sea temperatures off Peru: a year is a task, and the other months are predicted from a few.

The table comes with statsmodels (pip install statsmodels): monthly temperatures of 61 years, 1950 to
2010. Each split keeps 9 other years for testing; the script trains on the rest, compares with simple
baselines, and writes a table and a picture.

Run: python examples/temperatures.py [--splits 5] [--steps 3000] [--out temperatures]
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas
from matplotlib.ticker import NullFormatter

from bmaml.tables import prepare
from bmaml.tables.evaluation import evaluate_table
from bmaml.tables.model import TableModel
from bmaml.tasks import TableTasks

try:
    from statsmodels.datasets import elnino
except ImportError:
    raise SystemExit("Its table comes with statsmodels: run pip install statsmodels.") from None

METRICS = {
    "mse": "squared error (°C²)",
    "nll": "negative log-likelihood",
    "coverage": "in 90 % interval",
}


def monthly_temperatures() -> pandas.DataFrame:
    """One row a month: year, month from 1 to 12, temperature."""
    wide = elnino.load_pandas().data.set_index("YEAR")
    wide.columns = range(1, 13)
    long = wide.rename_axis(index="year", columns="month").stack().rename("temperature").reset_index()
    return long.astype({"year": int})


def scores_of(table: pandas.DataFrame, split: int, steps: int, months: list[int]) -> pandas.DataFrame:
    """Train on one split; the scores of every method and number of known months on its test years."""
    prepared = prepare(table, task="year", target="temperature", seed=split)
    model = TableModel.fit(prepared, shots=6, steps=steps, seed=split)
    tasks = TableTasks(prepared, 6)
    evaluation = evaluate_table(model, tasks, support_rows=months)
    return pandas.DataFrame(
        {
            "split": split,
            "months": score.support_rows,
            "method": score.method,
            **{name: score.estimates[name].mean for name in METRICS},
        }
        for score in evaluation.scores
    )


def draw(scores: pandas.DataFrame, path: Path) -> None:
    """Error and likelihood against known months, the mean over splits."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for axis, name in zip(axes, ("mse", "nll"), strict=True):
        for method, rows in scores.groupby("method", sort=False):
            mean = rows.groupby("months")[name].mean()
            own = method == "bmaml"
            axis.plot(
                mean.index, mean, marker="o", label=method, lw=2.5 if own else 1.2, zorder=2 + own
            )
        axis.set(
            xlabel="months known of a year",
            ylabel=METRICS[name],
            yscale="log" if name == "mse" else "linear",
        )
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].set_ylim(top=3)
    axes[0].set_yticks([0.3, 0.5, 1, 2, 4, 8])
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter(NullFormatter())
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, ncols=6, loc="lower center", fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, dpi=150)


def differences(scores: pandas.DataFrame) -> pandas.DataFrame:
    """bmaml minus the best of the simple methods, split by split: years differ more than methods do."""
    wide = scores.pivot_table(index=["split", "months"], columns="method", values="mse")
    by_split = (wide["bmaml"] - wide["pooled + offset"]).unstack("months")
    return pandas.DataFrame(
        {
            "difference in squared error": by_split.mean(),
            "standard error": by_split.std() / len(by_split) ** 0.5,
            "splits won": (by_split < 0).sum(),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--months", type=int, nargs="+", default=[0, 1, 2, 3, 4, 6], help="known")
    parser.add_argument("--out", type=Path, default=Path("temperatures"))
    settings = parser.parse_args()
    settings.out.mkdir(parents=True, exist_ok=True)
    table, parts = monthly_temperatures(), []
    for split in range(settings.splits):
        parts.append(scores_of(table, split, settings.steps, settings.months))
        scores = pandas.concat(parts)
        scores.to_csv(settings.out / "scores.csv", index=False)  # as they come
    summary = scores.groupby(["months", "method"], sort=False)[list(METRICS)].agg(["mean", "std"])
    print(summary.round(2).to_string())
    print("\nbmaml minus pooled + offset:")
    print(differences(scores).round(3).to_string())
    draw(scores, settings.out / "temperatures.png")
    print(f"Written to {settings.out}: scores.csv, temperatures.png")


if __name__ == "__main__":
    main()
