"""The page of a run: one HTML file that needs nothing else, for any screen, by day and by night."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmaml.recipe import Recipe
from bmaml.report import sections
from bmaml.report.evaluation import Evaluation
from bmaml.report.facts import describe_run
from bmaml.report.sections import text
from bmaml.run_folder import RunFolder
from bmaml.trained import Trained
from bmaml.writing import reporting_write_errors, write_atomically

NAME = "report.html"
CSS = """
:root { color-scheme: light dark; --line: #8884; --faint: #8881; --accent: #c21f20; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  color: #1b1b1b; background: #fff; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #16181b; } :root { --accent: #ff7b7b; } }
h1 { font-size: 1.6rem; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 32rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
pre { background: var(--faint); padding: .6rem .8rem; border-radius: .3rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid var(--line); } .left { text-align: left; }
tr.first td { border-top: 1px solid var(--line); } tr.own { color: var(--accent); }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; max-width: 40rem; display: block; }
figcaption { font-size: .9rem; opacity: .8; max-width: 40rem; }
"""


def write_page(
    folder: Path,
    trained: Trained,
    recipe: Recipe,
    evaluation: Evaluation,
    *,
    made_by: str | None = None,
    evaluated_by: str | None = None,
) -> Path:
    """Write the page into the folder of a run, whole or not at all, and say where it is.

    Arguments:
        folder: of the run.
        trained: what was judged.
        recipe: of the run.
        evaluation: what came out.
        made_by: the command that trained it.
        evaluated_by: the command that judged it.
    """
    settings = RunFolder.read(folder).settings
    page = make_page(settings, trained, recipe, evaluation, made_by=made_by, evaluated_by=evaluated_by)
    path = folder / NAME
    with reporting_write_errors(folder):
        try:
            write_atomically(path, page)
        finally:
            path.with_name(path.name + ".tmp").unlink(missing_ok=True)
    return path


def make_page(
    settings: Mapping[str, Any],
    trained: Trained,
    recipe: Recipe,
    evaluation: Evaluation,
    *,
    made_by: str | None = None,
    evaluated_by: str | None = None,
) -> str:
    """The text of the page; arguments as those of `write_page`, `settings` are of `run.json`."""
    facts = describe_run(recipe, settings)
    title = f"{recipe.method} on {facts.get('predicts') or recipe.tasks}"
    parts = [
        f"<h1>{text(title)}</h1>",
        *sections.summary(evaluation, trained),
        *sections.what_it_is(facts, made_by, evaluated_by),
        *sections.scores(evaluation),
        *sections.trust(evaluation),
        *sections.training(trained),
        *sections.how_measured(evaluation),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )
