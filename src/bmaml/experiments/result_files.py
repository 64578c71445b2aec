"""The files an experiment leaves: one for each finished training, not run again and not mistaken."""

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bmaml.errors import BmamlError
from bmaml.writing import reporting_write_errors, write_atomically

Result = dict[str, Any]
# A part of an experiment: `str(part)` names it, and its files.
Named = TypeVar("Named")


def choose(parts: Iterable[Named], seeds: Sequence[int], only: str | None) -> list[tuple[Named, int]]:
    """The trainings whose names begin with `only`, such as K5-T100-bmaml or K5-T100-bmaml-M10-seed1."""
    everything = [(part, seed) for part in parts for seed in seeds]
    chosen = [pair for pair in everything if only is None or training_name(*pair).startswith(only)]
    if not chosen:
        names = ", ".join(dict.fromkeys(str(part) for part, _ in everything))
        endings = ", ".join(f"-seed{seed}" for seed in seeds)
        raise BmamlError(
            f"No part of the experiment begins with {only!r}; there are: {names}, each with {endings}."
        )
    return chosen


def training_name(part: object, seed: int) -> str:
    """What the files of a training are called."""
    return f"{part}-seed{seed}"


def prepare_folder(out: Path) -> None:
    """Make the folder that results go to."""
    with reporting_write_errors(out):
        (out / "parts").mkdir(parents=True, exist_ok=True)


def run_path(out: Path, part: object, seed: int) -> Path:
    """The run folder of a training."""
    return out / "runs" / training_name(part, seed)


def result_path(out: Path, part: object, seed: int) -> Path:
    """The file with a training's results."""
    return out / "parts" / f"{training_name(part, seed)}.json"


def write_record(path: Path, record: Result) -> None:
    """Keep what came of a training."""
    with reporting_write_errors(path.parent):
        write_atomically(path, json.dumps(record, indent=2) + "\n")


def load_results(
    parts: Iterable[object], seeds: Sequence[int], out: Path, **expected: Any
) -> list[Result]:
    """All finished trainings in `out`."""
    paths = [result_path(out, part, seed) for part in parts for seed in seeds]
    return [require_same(path, **expected) for path in paths if path.exists()]


def require_same(path: Path, **expected: Any) -> Result:
    """What a file of results holds, unless it is of another scale or data set of the same names."""
    try:
        found = json.loads(path.read_text())
        same = all(found[name] == json.loads(json.dumps(value)) for name, value in expected.items())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BmamlError(f"{path} is damaged: remove it to run that part again.") from error
    if not same:
        raise BmamlError(
            f"{path} is a result of other settings, such as another --scale: choose another --out."
        )
    return found


def commit() -> str:
    """The commit of the source tree this runs from, if it is one."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        return answer.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
