"""Which tasks a run was trained, validated and tested on, to find them in a table that has changed."""

import hashlib
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bmaml.errors import BmamlError
from bmaml.ranges import told_count
from bmaml.tables.cells import plain_name
from bmaml.tables.encoding import Encoding
from bmaml.tables.grouping import TaskRows
from bmaml.tables.prepare import Prepared, prepare
from bmaml.tables.split import Part
from bmaml.tables.stored import damaged

if TYPE_CHECKING:
    import pandas

PARTS: tuple[Part, ...] = ("train", "validation", "test")
# Of each hash: among a hundred thousand tasks, hardly ever two are alike.
DIGITS = 12


@dataclass(frozen=True)
class DealtTasks:
    """The tasks of each part, by hashes of their names: short, and a run names no patients.

    Arguments:
        hashes: of the names of each part's tasks.
    """

    hashes: Mapping[Part, frozenset[str]]

    @staticmethod
    def of(parts: Mapping[Part, TaskRows]) -> "DealtTasks":
        """Those of a table that is ready to train on."""
        return DealtTasks({part: frozenset(map(hash_of, parts[part].names)) for part in PARTS})

    def deal(self, names: Sequence[str], *, new_to_test: bool) -> dict[Part, list[str]]:
        """Each name to the part that it was in; names of no part to none, or `new_to_test`."""
        dealt: dict[Part, list[str]] = {part: [] for part in PARTS}
        for name in names:
            hashed = hash_of(name)
            found: list[Part] = [part for part in PARTS if hashed in self.hashes[part]]
            if new_to_test:
                found.append("test")
            if found:  # The first counts: what was trained on is never tested on.
                dealt[found[0]].append(name)
        return dealt

    def to_json(self) -> dict[str, str]:
        """Plain values for a JSON file: the hashes of a part one after the other."""
        return {part: "".join(sorted(self.hashes[part])) for part in PARTS}

    @staticmethod
    def from_json(values: Any) -> "DealtTasks":
        """The tasks that `to_json` described."""
        hashes: dict[Part, frozenset[str]] = {}
        for part in PARTS:
            text = values.get(part) if isinstance(values, dict) else None
            if not isinstance(text, str) or not re.fullmatch(rf"([0-9a-f]{{{DIGITS}}})*", text):
                raise damaged(f"its {part} tasks are not hashes of names")
            places = range(0, len(text), DIGITS)
            hashes[part] = frozenset(text[place : place + DIGITS] for place in places)
        return DealtTasks(hashes)


def hash_of(name: str) -> str:
    """The hash of a task's name, the same for a number that another program writes as 7.0.

    >>> hash_of("7") == hash_of("7.0"), hash_of("7") == hash_of("07")
    (True, False)
    """
    return hashlib.sha256(plain_name(name).encode(errors="surrogatepass")).hexdigest()[:DIGITS]


def prepare_again(
    frame: "pandas.DataFrame",
    encoding: Encoding,
    dealt: DealtTasks | None,
    options: Mapping[str, Any],
    *,
    where: str,
    new_to_test: bool,
) -> Prepared:
    """A table as a run was trained on it: its tasks are in the parts that they were in.

    Arguments:
        frame: the table, of which rows and tasks may have come and gone.
        encoding: of the run.
        dealt: its tasks; None for a run that keeps no record of them, which are split anew.
        options: of `prepare`.
        where: the file, for sentences.
        new_to_test: whether tasks that the run does not know are tested on.
    """
    if dealt is None:
        _warn_if_changed(frame, encoding, options, where)
        return prepare(frame, **options, encoding=encoding)
    prepared = prepare(
        frame,
        **options,
        encoding=encoding,
        deal=lambda names: dealt.deal(names, new_to_test=new_to_test),
    )
    if new_to_test and not prepared.parts["test"].names:
        raise BmamlError(
            f"{where} has no task of two or more rows that training and validation have not seen: give "
            "a file with other tasks."
        )
    _tell_missing(dealt, prepared, where)
    return prepared


def _tell_missing(dealt: DealtTasks, prepared: Prepared, where: str) -> None:
    """Refuse a table without tasks to test on; warn if some are gone."""
    scored = prepared.parts["test"].names
    recorded = dealt.hashes["test"]
    missing = len(recorded.difference(map(hash_of, scored)))
    if not scored and recorded:
        raise BmamlError(
            f"None of the run's {told_count(len(recorded), 'test task')} is in {where} with two or "
            "more rows that count: give the table that it was trained on, or one of new tasks, with "
            "--data FILE."
        )
    if missing:
        warnings.warn(
            f"{missing:,} of the run's {told_count(len(recorded), 'test task')} "
            f"{'is' if missing == 1 else 'are'} not in {where} with two or more rows that count: the "
            f"scores are of {told_count(len(scored), 'task')} that training has not seen.",
            stacklevel=4,
        )


def _warn_if_changed(
    frame: "pandas.DataFrame", encoding: Encoding, options: Mapping[str, Any], where: str
) -> None:
    """Warn if other training tasks than those of the run come out: they teach another encoding."""
    try:
        again = prepare(frame, **{**options, "kind": encoding.kind})
        same = _rounded(again.encoding) == _rounded(encoding)
    except BmamlError:
        same = False
    if not same:
        warnings.warn(
            f"{where} has changed since training, and this run keeps no record of its tasks: some of "
            "those that are scored may be training tasks, so restore the table or train again.",
            stacklevel=4,
        )


def _rounded(encoding: Encoding) -> Any:
    """What rows teach about features, but for rounding, which differs between machines."""
    told = json.dumps(encoding.to_json()["features"])
    return json.loads(told, parse_float=lambda number: f"{float(number):.9g}")
