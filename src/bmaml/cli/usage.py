"""What is wrong with a command line, in one sentence instead of the parser's page."""

import contextlib
import difflib
import io
import re
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

Command = TypeVar("Command")
FRAME = re.compile(r"[╭╮╰╯│]")
RULE = re.compile(r"^\s*[─-]{5,}\s*$", re.MULTILINE)
HELP = re.compile(r"bmaml[a-z -]*?--help")
# What `bmaml train` takes beside the names of its kinds.
PATHS = {"train": "FILE.csv, FOLDER/ or "}


def in_one_sentence(parse: Callable[[], Command], typed: Sequence[str] = ()) -> Command:
    """What `parse` returns; if it ends with a page on standard error, a sentence takes its place.

    `typed` are the words of the command line, as they stood there.
    """
    page = io.StringIO()
    try:
        with contextlib.redirect_stderr(page):
            return parse()
    except SystemExit as error:
        if error.code:
            print(f"bmaml: {sentence(page.getvalue(), typed)}", file=sys.stderr, flush=True)
        raise


def sentence(page: str, typed: Sequence[str] = ()) -> str:
    r"""What went wrong, what may have been meant, and where to read on.

    >>> print(sentence("│ Unrecognized options: --setps │\n│ ─────── │\n│ Perhaps you meant: │\n"
    ...     "│   --steps INT │\n│ ────── │\n│ For full helptext, run bmaml --help │"))
    Unrecognized options: --setps; perhaps you meant --steps (bmaml --help says more).
    """
    lines = page.strip().splitlines()
    if lines and lines[0].startswith("╭"):  # with the title
        lines = lines[1:]
    elif len(lines) > 1 and RULE.match(lines[1]):  # where there are no frames: the title above a rule
        lines = lines[2:]
    inner = "\n".join(FRAME.sub("", line).rstrip() for line in lines)
    first, *others = RULE.split(inner)
    where = HELP.findall(_joined(inner))
    told, place = _wrong_command(first, others, typed) or (None, None)
    if told is None:
        told = _missing(first, others, typed) or _wrong_value(first) or _as_it_is(first, others)
    # The most particular, which stands last.
    return f"{told} ({place or (where[-1] if where else 'bmaml --help')} says more)."


def nearest(word: str, names: Sequence[str]) -> str:
    """`; perhaps you meant NAME`, if there is one that is much like the word.

    >>> nearest("trian", ["train", "evaluate"]), nearest("foo", ["train", "evaluate"])
    ('; perhaps you meant train', '')
    """
    found = difflib.get_close_matches(word, names, n=1)
    return f"; perhaps you meant {found[0]}" if found else ""


def _wrong_command(first: str, others: list[str], typed: Sequence[str]) -> tuple[str, str] | None:
    """A word where a command should be, or none there; and where to read of commands."""
    told = _joined(first)
    if choices := re.match(r"Expected one of \{(.*)\}$", told):
        command = " ".join(["bmaml", *typed])
        return (
            f"{command} needs {PATHS.get(''.join(typed), '')}one of {choices[1]}",
            f"{command} --help",
        )
    available = next((_joined(other) for other in others if "Available subcommands" in other), None)
    unknown = re.match(r"Unrecognized (?:or misplaced )?options: ([^\s,]+)", told)
    if available is None or unknown is None or unknown[1] not in typed:
        return None
    names = available.partition(": ")[2].split(", ")
    word, before = unknown[1], typed[: typed.index(unknown[1])]
    command = " ".join(["bmaml", *before])
    if word.startswith("-"):
        ahead = f"{PATHS.get(' '.join(before), '')}one of {', '.join(names)}"
        return f"{command} needs {ahead}, before {word}", f"{command} --help"
    meant = nearest(word, names) or f": choose one of {', '.join(names)}"
    return f"There is no command {f'{command} {word}'!r}{meant}", f"{command} --help"


def _missing(first: str, others: list[str], typed: Sequence[str]) -> str | None:
    """What a command cannot do without, and what it was given instead."""
    title = re.match(r"\s*Missing from (.+?):\s*$", first.strip("\n").splitlines()[0] if first else "")
    if title is None:
        return None
    lines = [line for line in first.strip("\n").splitlines()[1:] if line.strip()]
    outer = min(len(line) - len(line.lstrip()) for line in lines)
    needed: list[str] = []
    for line in lines:
        if len(line) - len(line.lstrip()) == outer:
            needed.append(line.strip())
        elif not needed[-1].startswith("-"):  # An option says by its name what it is for.
            needed[-1] += f" {line.strip()}"
    needed = [
        re.sub(r"^(\S+) (.*?)( \(required\))?$", r"\1 (\2)", part) if part[0] != "-" else part
        for part in needed
    ]
    # The path that was typed in place of the kind it leads to.
    command = title[1]
    if len(typed) > 1 and typed[0] == "train" and f"bmaml train {typed[1]}" != command:
        command = f"bmaml train {typed[1]}"
    told = f"{command} needs {_listed(needed)}"
    for other in others:
        if "Unrecognized options" in other:
            unknown = [word for word in other.split() if word.startswith("-")]
            told += f", and has no {_listed(unknown)}" if unknown else ""
    return told


def _wrong_value(first: str) -> str | None:
    """A value that an option cannot have, or none where one should be."""
    told = _joined(first.partition("Got errors:")[0])
    if wrong := re.match(r"Error parsing (\S+): .*?('[^']*')\]?$", told):
        return f"{wrong[1]} cannot be {wrong[2]}"
    if wrong := re.match(r"invalid choice '(.*)' for argument '(.*)'. Expected one of \((.*)\)$", told):
        names = re.findall(r"'([^']*)'", wrong[3])
        return f"{wrong[2]} cannot be {wrong[1]!r}: choose one of {', '.join(names)}" + nearest(
            wrong[1], names
        )
    if wrong := re.match(r"Missing value for argument '(.*)'. Expected", told):
        return f"{wrong[1]} needs a value"
    return None


def _as_it_is(first: str, others: list[str]) -> str:
    told = _joined(first.partition("Got errors:")[0])
    for other in others:
        if "Perhaps you meant" in other or "Arguments similar to" in other:
            options = dict.fromkeys(re.findall(r"^\s+(--[a-z-]+)", other, re.MULTILINE))
            told += f"; perhaps you meant {' or '.join(options)}" if options else ""
    return told


def _joined(text: str) -> str:
    """On one line, without its full stop, which may have been wrapped onto a line of its own."""
    return " ".join(text.split()).rstrip(" .")


def _listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> _listed(["--task COLUMN", "--target COLUMN", "--out FOLDER"])
    '--task COLUMN, --target COLUMN and --out FOLDER'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
