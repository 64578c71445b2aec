"""What is wrong with a command line, in one sentence instead of the parser's page."""

import contextlib
import io
import re
import sys
from collections.abc import Callable
from typing import TypeVar

Command = TypeVar("Command")
FRAME = re.compile(r"[╭╮╰╯│]")
RULE = re.compile(r"^\s*[─-]{5,}\s*$", re.MULTILINE)
HELP = re.compile(r"bmaml[a-z -]*?--help")


def in_one_sentence(parse: Callable[[], Command]) -> Command:
    """What `parse` returns; if it ends with a page on standard error, a sentence takes its place."""
    page = io.StringIO()
    try:
        with contextlib.redirect_stderr(page):
            return parse()
    except SystemExit as error:
        if error.code:
            print(f"bmaml: {sentence(page.getvalue())}", file=sys.stderr, flush=True)
        raise


def sentence(page: str) -> str:
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
    told = " ".join(first.partition("Got errors:")[0].split()).rstrip(".")
    wrong = re.match(r"Error parsing (\S+): .*?('[^']*')\]?$", told)
    if wrong:
        told = f"{wrong[1]} cannot be {wrong[2]}"
    for other in others:
        if "Perhaps you meant" in other or "Arguments similar to" in other:
            options = dict.fromkeys(re.findall(r"^\s+(--[a-z-]+)", other, re.MULTILINE))
            told += f"; perhaps you meant {' or '.join(options)}" if options else ""
        elif "Available subcommands" in other:
            told += f"; {' '.join(other.split()).replace('Available', 'available')}"
    where = HELP.findall(inner)
    # The most particular, which stands last.
    return f"{told} ({where[-1] if where else 'bmaml --help'} says more)."
