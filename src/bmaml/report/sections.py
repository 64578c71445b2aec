"""The sections of a run page, each a list of HTML elements."""

import html
from collections.abc import Mapping
from typing import Any

from bmaml.report import plots
from bmaml.report.evaluation import Evaluation
from bmaml.trained import Trained

CALIBRATED = {
    "numbers": "The share of rows that central intervals hold, against what they promise: below the "
    "line the model is too sure, above it too cautious.",
    "labels": "How often answers of a given confidence are right: below the line the model is too "
    "sure, above it too cautious.",
}
REFUSED = (
    "What is left when the most uncertain rows get no answer: uncertainty that knows where the "
    "mistakes are makes it better from left to right."
)
TRAINED = "Training loss, and the score of validation tasks by which the kept update was chosen."


def text(value: Any) -> str:
    """Safe in a page whatever it is: names of columns come from users.

    >>> text("<script>")
    '&lt;script&gt;'
    """
    return html.escape(str(value), quote=True)


def summary(evaluation: Evaluation, trained: Trained) -> list[str]:
    """The one number that matters most."""
    most = evaluation.support_rows[-1]
    own = evaluation.at(most)[0]
    name, metric = next(iter(evaluation.metrics.items()))
    tasks = f"{own.tasks:,} {evaluation.split} task{'' if own.tasks == 1 else 's'}"
    return [
        f"<p>On {text(tasks)}, which neither training nor the choice of its best update "
        f"({trained.step:,}) has seen, with {plots.rows_told(most)}: {text(metric.title)} "
        f"<strong>{text(own.estimates[name].told(metric))}</strong>.</p>"
    ]


def what_it_is(facts: Mapping[str, str], made_by: str | None, evaluated_by: str | None) -> list[str]:
    """Facts and commands."""
    parts = ["<h2>What it is</h2>", _pairs(facts)]
    if made_by is None:
        parts.append("<p>The run was made in Python.</p>")
    else:
        parts.append(f"<p>The run was made by</p><pre>{text(made_by)}</pre>")
    if evaluated_by is not None:
        parts.append(f"<p>and this page by</p><pre>{text(evaluated_by)}</pre>")
    return parts


def scores(evaluation: Evaluation) -> list[str]:
    """Who wins, the curves, the table."""
    parts = ["<h2>Scores</h2>"]
    told = evaluation.sentences()
    if told:
        parts.append("<ul>" + "".join(f"<li>{text(line)}</li>" for line in told) + "</ul>")
    if len(evaluation.support_rows) > 1:
        for name in list(evaluation.metrics)[:2]:
            title = evaluation.metrics[name].title.capitalize()
            caption = f"{title} against the number of rows adapted to; bars are 95 % intervals."
            if name == "nll":
                caption += " What lies far above the frame is in the table."
            parts.append(_figure(plots.against_support_rows(evaluation, name), caption))
    return [*parts, _table(evaluation)]


def trust(evaluation: Evaluation) -> list[str]:
    """Calibration and refusal."""
    return [
        "<h2>How far to trust it</h2>",
        _figure(plots.calibration(evaluation), CALIBRATED[evaluation.kind]),
        _figure(plots.refusal(evaluation), REFUSED),
    ]


def training(trained: Trained) -> list[str]:
    """The curve, if there is a log."""
    if not trained.history:
        return []
    metric, _ = trained.learner.posterior.likelihood.selection
    curve = plots.training_curve(trained.history, metric, trained.step)
    return ["<h2>Training</h2>", _figure(curve, TRAINED)]


def how_measured(evaluation: Evaluation) -> list[str]:
    """What the intervals mean, and what the baselines are."""
    parts = ["<h2>How it was measured</h2>"]
    interval = "± is half of the 95 % interval of the mean over tasks."
    if not evaluation.about:
        return [*parts, f"<p>{interval}</p>"]
    episodes = max(score.episodes for score in evaluation.scores)
    some = max(score.tasks for score in evaluation.scores)
    lines = [
        f"All methods are judged on the same episodes, up to {episodes:,} of {some:,} of the "
        f"{evaluation.available:,} {evaluation.split} tasks: those with more rows than are adapted to.",
        interval,
        "Episodes of one task are averaged first.",
        "Methods are compared task by task: within chance means that the 95 % interval of the mean "
        "difference to the best holds zero. Of twenty such comparisons one is wrong.",
    ]
    return [*parts, f"<p>{text(' '.join(lines))}</p>", _pairs(evaluation.about)]


def _pairs(pairs: Mapping[str, str]) -> str:
    lines = [f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs.items()]
    return "<dl>\n" + "\n".join(lines) + "\n</dl>"


def _table(evaluation: Evaluation) -> str:
    """All numbers; the best of each column, and what cannot be told from it, in bold."""
    titles = "".join(f"<th>{text(metric.short)}</th>" for metric in evaluation.metrics.values())
    lines, before = [], None
    for rows, method, told, bold in evaluation.cells():
        classes = ["first"] * (rows != before) + ["own"] * (method == evaluation.method)
        cells = [
            f"<td><b>{text(cell)}</b></td>" if strong else f"<td>{text(cell)}</td>"
            for cell, strong in zip(told, bold, strict=True)
        ]
        lines.append(
            f'<tr class="{" ".join(classes)}"><td>{"" if rows == before else rows}</td>'
            f'<td class="left">{text(method)}</td>{"".join(cells)}</tr>'
        )
        before = rows
    head = f'<tr><th>support rows</th><th class="left">method</th>{titles}</tr>'
    note = "<p>Bold: the best, and what cannot be told from it.</p>" if evaluation.about else ""
    return f'<div class="wide"><table>{head}\n' + "\n".join(lines) + f"\n</table></div>{note}"


def _figure(svg: str, caption: str) -> str:
    labelled = svg.replace("<svg ", f'<svg aria-label="{text(caption)}" ', 1)
    return f"<figure>{labelled}<figcaption>{text(caption)}</figcaption></figure>"
