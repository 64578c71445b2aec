"""Every table of results in the documentation says what the CSV file beside it says."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bmaml.experiments.figures import label, mean_and_std

DOCS = Path(__file__).parents[1] / "docs"
Row = dict[str, str]


@dataclass(frozen=True)
class Documented:
    """A table of a page, the file it comes from, and how its columns are called there."""

    page: str
    csv: str
    settings: dict[str, Callable[[Row], str]]  # heading -> the cell of a training in the file
    scores: dict[str, tuple[str, float, int]]  # heading -> column, factor and digits
    section: str = field(default="")

    def __str__(self) -> str:
        return f"{self.page}-{Path(self.csv).stem}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the first table with all these columns after the section's title."""
        text = (DOCS / self.page).read_text()
        assert self.section in text
        for headings, rows in tables(text[text.index(self.section) :]):
            if {*self.settings, *self.scores} <= set(headings):
                return headings, rows
        raise AssertionError(f"{self.page} has no table with the columns of {self.csv}")

    def expected(self, row: Row) -> dict[str, str] | None:
        """The scores that belong into a row of the page; None if its trainings are elsewhere."""
        with open(DOCS / self.csv, newline="") as file:
            trainings = [
                training
                for training in csv.DictReader(file)
                if all(row[heading] == cell(training) for heading, cell in self.settings.items())
            ]
        if not trainings:
            return None
        return {
            heading: mean_and_std([factor * float(one[column]) for one in trainings], digits)
            for heading, (column, factor, digits) in self.scores.items()
        }


def tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The tables of a page in Markdown."""
    block: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append([cell.strip().replace("−", "-") for cell in line.strip("|").split("|")])
        elif block:
            yield block[0], block[2:]
            block = []


def method(row: Row) -> str:
    return label(row["method"], int(row["num_particles"]))


SINUSOID = {
    "K": lambda row: row["shots"],
    "tasks": lambda row: row["num_tasks"],
    "method": method,
}
REGRESSION = {
    "MSE": ("mse", 1.0, 2),
    "MSE per particle": ("particle_mse", 1.0, 2),
    "NLL": ("nll", 1.0, 2),
    "coverage": ("coverage", 1.0, 2),
    "CRPS": ("crps", 1.0, 2),
}
IMAGES = {
    "accuracy, %": ("accuracy", 100.0, 1),
    "per particle, %": ("particle_accuracy", 100.0, 1),
    "NLL": ("nll", 1.0, 3),
    "ECE": ("ece", 1.0, 3),
    "Brier": ("brier", 1.0, 3),
}
NAMES = {
    "svpg-trpo": "SVPG-TRPO",
    "vpg-trpo": "VPG-TRPO",
    "svpg-chaser": "SVPG-Chaser",
    "vpg-reptile": "VPG-Reptile",
}


def training_tasks(row: Row) -> str:
    return f"{int(row['num_tasks']):,}" if row["num_tasks"] else "endless"


def returns(digits: int) -> dict[str, tuple[str, float, int]]:
    """The best particle's and the mean one, after and before adaptation."""
    return {
        f"{when}: {which}": (f"return_{which}{ending}", 1.0, digits)
        for when, ending in (("after", ""), ("before", "_before"))
        for which in ("best", "mean")
    }


DOCUMENTED = [
    Documented(
        "results/sinusoid.md",
        "results/sinusoid-medium.csv",
        SINUSOID,
        {**REGRESSION, "MSE, 10 steps": ("mse_10_steps", 1.0, 2)},
        "## Medium scale",
    ),
    Documented(
        "results/sinusoid.md",
        "results/sinusoid-paper.csv",
        SINUSOID,
        {**REGRESSION, "MSE, 10 steps": ("mse_10_steps", 1.0, 2)},
        "## Paper scale",
    ),
    Documented(
        "variants.md",
        "results/variants-medium.csv",
        {"K": lambda row: row["shots"], "variant": lambda row: row["variant"]},
        REGRESSION,
    ),
    Documented(
        "results/classification.md",
        "results/classification-omniglot.csv",
        {"tasks": training_tasks, "method": method, "adaptation": lambda row: row["adaptation"]},
        IMAGES,
        "## Omniglot",
    ),
    Documented(
        "results/classification.md",
        "results/classification-omniglot-1000.csv",
        {"tasks": training_tasks, "method": method, "adaptation": lambda row: row["adaptation"]},
        IMAGES,
        "**With 1,000 training tasks**",
    ),
    Documented(
        "results/classification.md",
        "results/classification-miniimagenet.csv",
        {"tasks": training_tasks, "method": method, "adaptation": lambda row: row["adaptation"]},
        IMAGES,
        "## miniImageNet",
    ),
    Documented(
        "results/classification.md",
        "results/classification-quick.csv",
        {"tasks": training_tasks, "method": method, "adaptation": lambda row: row["adaptation"]},
        IMAGES,
        "## Quick scale",
    ),
    Documented(
        "results/reinforcement-learning.md",
        "results/navigation-full.csv",
        {"M": lambda row: row["num_particles"], "method": lambda row: NAMES[row["method"]]},
        returns(digits=2),
    ),
    Documented(
        "results/reinforcement-learning.md",
        "results/cheetah-half.csv",
        {"task": lambda row: row["environment"], "method": lambda row: NAMES[row["method"]]},
        returns(digits=1),
        "## Cheetah",
    ),
    Documented(
        "results/reinforcement-learning.md",
        "results/ant-reduced.csv",
        {"task": lambda row: row["environment"], "method": lambda row: NAMES[row["method"]]},
        returns(digits=1),
        "## Ant",
    ),
]


@pytest.mark.parametrize("documented", DOCUMENTED, ids=str)
def test_a_table_says_what_its_file_says(documented):
    headings, rows = documented.table()
    checked = 0
    for cells in rows:
        row = dict(zip(headings, cells, strict=True))
        expected = documented.expected(row)
        if expected is not None:
            assert {heading: row[heading] for heading in expected} == expected
            checked += 1
    with open(DOCS / documented.csv, newline="") as file:
        named = {
            tuple(cell(training) for cell in documented.settings.values())
            for training in csv.DictReader(file)
        }
    assert checked == len(named)  # nothing in the file is left out of the page


def test_temperatures_say_what_their_file_says():
    with open(DOCS / "results/temperatures.csv", newline="") as file:
        tried = list(csv.DictReader(file))

    def cell(months: str, name: str, score: str) -> str:
        name = name.replace("per year", "per task").replace("Gaussian", "gaussian")
        return mean_and_std(
            [float(one[score]) for one in tried if (one["months"], one["method"]) == (months, name)]
        )

    first, second = list(tables((DOCS / "results/temperatures.md").read_text()))[:2]
    for months, *cells in first[1]:
        assert [c.strip("*") for c in cells] == [cell(months, name, "mse") for name in first[0][1:]]
    for months, *cells in second[1]:
        named = [heading.partition(" ") for heading in second[0][1:]]
        assert cells == [cell(months, name, score.lower()) for score, _, name in named]


@pytest.mark.parametrize(
    ("section", "file"),
    [("## Active learning", "active-quick"), ("### Active learning on Omniglot", "active-omniglot")],
)
def test_active_learning_says_what_its_file_says(section, file):
    with open(DOCS / "results" / f"{file}.csv", newline="") as content:
        tried = list(csv.DictReader(content))
    text = (DOCS / "results/classification.md").read_text()
    headings, rows = next(tables(text[text.index(section) :]))
    assert len(rows) == 8
    for cells in rows:
        for heading, cell in list(zip(headings, cells, strict=True))[3:]:
            labels = heading.partition(" ")[0]
            found = [
                100 * float(one["accuracy"])
                for one in tried
                if (method(one), one["acquisition"].replace("_", " "), one["labels"])
                == (cells[0], cells[1], labels)
            ]
            # Shares of a few thousand images end in a 5 too often to agree on how to round it.
            numbers = [float(number) for number in cell.split(" ± ")]
            expected = [float(number) for number in mean_and_std(found, 4).split(" ± ")]
            assert numbers == pytest.approx(expected, abs=0.0501)


# Rows of README's table: the file, which of its trainings, the score, its factor and its digits.
SINUSOIDS = "results/sinusoid-paper.csv"
CHOSEN = {"adaptation": "chosen"}
AT_A_GLANCE: dict[str, tuple[str, Row, str, float, int]] = {
    **{
        f"sinusoids, {shots} examples, {count} tasks to learn from: squared error": (
            SINUSOIDS,
            {"shots": shots, "num_tasks": count.replace(",", "")},
            *("mse", 1.0, 2),
        )
        for shots in ("5", "10")
        for count in ("100", "1,000")
    },
    "Omniglot, 5-way 1-shot: accuracy, %": (
        "results/classification-omniglot.csv",
        CHOSEN,
        *("accuracy", 100.0, 1),
    ),
    "Omniglot with 1,000 tasks to learn from: accuracy, %": (
        "results/classification-omniglot-1000.csv",
        CHOSEN,
        *("accuracy", 100.0, 1),
    ),
    "miniImageNet, 5-way 1-shot, a tenth of the paper's training, one seed: accuracy, %": (
        "results/classification-miniimagenet.csv",
        CHOSEN,
        *("accuracy", 100.0, 1),
    ),
}
COLUMNS = {
    "MAML": ("maml",),
    "EMAML": ("emaml",),
    "BMAML": ("bmaml",),
    "BMAML, varied": ("bmaml-flat", "bmaml-prediction"),
}


def glance_cell(what: str, column: str) -> str:
    """A cell of README's table, from the file."""
    file, which, score, factor, digits = AT_A_GLANCE[what]
    with open(DOCS / file, newline="") as content:
        found = [
            factor * float(row[score])
            for row in csv.DictReader(content)
            if row["method"] in COLUMNS[column] and all(row[key] == which[key] for key in which)
        ]
    return mean_and_std(found, digits) if found else ""


def test_readme_says_what_the_files_say():
    text = (DOCS.parent / "README.md").read_text()
    headings, rows = next(tables(text[text.index("## What it is worth") :]))
    assert [row[0] for row in rows] == list(AT_A_GLANCE)
    for row in rows:
        expected = [glance_cell(row[0], column) for column in COLUMNS]
        assert row[1:] == expected, row[0]
    assert headings[1:] == list(COLUMNS)
