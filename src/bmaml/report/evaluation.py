"""The scores of a run and of what it is compared with, in numbers and in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bmaml.report.scores import METRICS, Best, Metric, Score, best
from bmaml.report.trust import Trust

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Evaluation:
    """How a run and its baselines do on held-out tasks, for each number of support rows.

    Arguments:
        method: the run's own, the first in `scores`.
        kind: "numbers" or "labels".
        split: of the tasks.
        available: how many tasks the split has; a large one is judged by some of them.
        scores: of every method and number of support rows, on the same episodes.
        trust: curves of the run's own predictions, by number of support rows.
        about: what each baseline is, by name.
    """

    method: str
    kind: str
    split: str
    available: int
    scores: tuple[Score, ...]
    trust: dict[int, Trust]
    about: dict[str, str] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, Metric]:
        """Those of this kind of target; the first is the main one."""
        return METRICS[self.kind]

    @property
    def methods(self) -> tuple[str, ...]:
        """The run's own and the baselines."""
        return tuple(dict.fromkeys(score.method for score in self.scores))

    @property
    def support_rows(self) -> tuple[int, ...]:
        """The numbers of support rows, rising."""
        return tuple(sorted(self.trust))

    def at(self, support_rows: int) -> list[Score]:
        """The scores of all methods with so many support rows."""
        return [score for score in self.scores if score.support_rows == support_rows]

    def best(self, metric: str, support_rows: int) -> Best | None:
        """Who is best by a metric, and who is level; see `scores.best`."""
        return best(self.at(support_rows), metric, self.metrics[metric])

    def sentences(self) -> list[str]:
        """Who is best by error and by likelihood, for each number of support rows; as it is."""
        if len(self.methods) < 2:
            return []
        return [self._sentence(rows) for rows in self.support_rows]

    def _sentence(self, rows: int) -> str:
        """At so many support rows; one method that leads twice is named once."""
        claims: dict[str, list[str]] = {}
        for name in list(self.metrics)[:2]:
            metric, found = self.metrics[name], self.best(name, rows)
            if found is None:
                continue
            extreme = "highest" if metric.higher_is_better else "lowest"
            value = found.score.estimates[name].told(metric)
            level = f"; within chance of it: {', '.join(found.level)}" if found.level else ""
            if len(found.level) == len(self.methods) - 1:
                level = "; all others are within chance of it"
            claim = f"the {extreme} {metric.title} ({value}{level})"
            claims.setdefault(found.score.method, []).append(claim)
        told = [f"{method} has {' and '.join(claim)}" for method, claim in claims.items()]
        rows_told = f"{rows} support row{'' if rows == 1 else 's'}"
        return f"At {rows_told} {'; '.join(told) or 'no score is finite'}."

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        ranked = [name for name, metric in self.metrics.items() if metric.ranked]
        winners = []
        for rows in self.support_rows if self.about else ():
            for name in ranked:
                found = self.best(name, rows)
                if found is not None:
                    winner = {"support_rows": rows, "metric": name, "method": found.score.method}
                    winners.append(winner | {"level_with": list(found.level)})
        return {
            "method": self.method,
            "kind": self.kind,
            "split": self.split,
            "tasks": self.available,
            "scores": [score.to_json() for score in self.scores],
            "best": winners,
            "trust": {str(rows): curves.to_json() for rows, curves in self.trust.items()},
        }

    def cells(self) -> list[tuple[int, str, list[str], list[bool]]]:
        """The rows of a table: support rows, method, told metrics, and which of them are best."""
        rows = []
        for support_rows in self.support_rows:
            found = {
                name: self.best(name, support_rows)
                for name, metric in self.metrics.items()
                if metric.ranked and len(self.methods) > 1
            }
            for score in self.at(support_rows):
                told = [score.estimates[name].told(metric) for name, metric in self.metrics.items()]
                rows.append(
                    (
                        support_rows,
                        score.method,
                        told,
                        [_leads(found.get(n), score) for n in self.metrics],
                    )
                )
        return rows

    def table(self, title: str, notes: Sequence[str] = ()) -> "Table":
        """For the terminal; the best and those level with it are bold."""
        from rich.markup import escape
        from rich.table import Table

        caption = [
            "rows: how many were adapted to",
            "± is the 95 % interval of the mean over tasks",
            *notes,
        ]
        if len(self.methods) > 1:
            caption.insert(0, "bold: the best, and what cannot be told from it")
        table = Table(title=escape(title), caption=escape("; ".join(caption)))
        table.add_column("rows", justify="right")
        table.add_column("method")
        for metric in self.metrics.values():
            table.add_column(metric.short, justify="right", no_wrap=True)
        before = None
        for support_rows, method, told, bold in self.cells():
            if before is not None and support_rows != before:
                table.add_section()
            first = "" if support_rows == before else str(support_rows)
            values = [
                f"[bold]{text}[/]" if strong else text for text, strong in zip(told, bold, strict=True)
            ]
            table.add_row(first, method, *values)
            before = support_rows
        return table


def _leads(found: Best | None, score: Score) -> bool:
    return found is not None and (score is found.score or score.method in found.level)
