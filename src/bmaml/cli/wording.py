"""The library's sentences, in the words of the command line."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

from bmaml.cli.method_options import OPTION_NAMES

# "(resume=True, on the command line --resume)" and the like, where Python and the command line differ.
IN_BRACKETS = re.compile(r"\(\w+=[^,()]+, on the command line (--[^)]+)\)")
IN_PYTHON = re.compile(r"with \w+=\w+ \(on the command line, ([^)]+)\)")
# Where a sentence names an option: as what something is, in brackets, or as what something lacks; a
# run folder has it as a part of its description.
NAMED = re.compile(r"(^|\(| has no | whose )((?:description\.\w+_options\.)?([a-z_]+))(?= is |\)|:)")


def in_options(sentence: str, command: Any = None) -> str:
    """The same sentence, with `--step-size` for `step_size` and so on.

    Arguments:
        sentence: what went wrong.
        command: what was being done; None if that is not known yet.

    >>> in_options("run holds a run: resume it (resume=True, on the command line --resume).")
    'run holds a run: resume it (--resume).'
    """
    sentence = IN_PYTHON.sub(r"with \1", IN_BRACKETS.sub(r"(\1)", sentence))
    known = {one.name for one in fields(command)} if is_dataclass(command) else set()

    def option(found: re.Match[str]) -> str:
        name = OPTION_NAMES.get(found[3], found[3])
        return found[1] + (f"--{name.replace('_', '-')}" if name in known else found[2])

    return NAMED.sub(option, sentence)
