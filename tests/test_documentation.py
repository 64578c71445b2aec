"""What README and docs tell a reader to type works: commands are parsed, Python is run in miniature."""

import re
import shlex
from pathlib import Path
from typing import Any

import flax.linen
import flax.nnx
import jax
import numpy as np
import pytest
import tyro

import bmaml
from bmaml.cli.main import Command
from bmaml.cli.train import name_the_kind
from bmaml.tasks import Data, Task

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(bmaml [^`]+)`")
OUTLINE = re.compile(r"…|\w\|\w")  # `--seed …`, `quick|paper`


def commands(page: Path) -> set[str]:
    """The lines of its blocks, and the spans of its text that have options."""
    text = page.read_text()
    lines = [line for _, block in BLOCK.findall(text) for line in block.splitlines()]
    spans = [" ".join(span.split()) for span in INLINE.findall(BLOCK.sub("", text))]
    found = [line for line in lines if line.startswith("bmaml ")] + [
        span for span in spans if "--" in span
    ]
    return {line for line in found if not OUTLINE.search(line)}


COMMANDS = [(page.stem, line) for page in PAGES for line in sorted(commands(page))]


def test_the_pages_have_commands():
    assert {page for page, _ in COMMANDS} >= {"README", "guide", "sinusoid", "classification"}


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_documented_command_is_one(page, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pictures").mkdir()  # that it is a folder tells images from a table
    arguments = shlex.split(line, comments=True)[1:]
    if arguments[0] in ("train", "reproduce", "rl") and "--out" not in arguments:
        arguments += ["--out", "runs/mine"]  # the text speaks of the other options
    tyro.cli(Command, prog="bmaml", args=name_the_kind(arguments))


def test_an_option_that_is_gone_would_be_found(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        test_a_documented_command_is_one("", "bmaml train sinusoid --gone 3", tmp_path, monkeypatch)
    assert "--gone" in capsys.readouterr().err


class Linen(flax.linen.Module):
    @flax.linen.compact
    def __call__(self, x):
        return flax.linen.Dense(1)(x)


class NNX(flax.nnx.Module):
    def __init__(self, rngs):
        self.layer = flax.nnx.Linear(1, 1, rngs=rngs)

    def __call__(self, x):
        return self.layer(x)


def brought_to_the_guide() -> dict[str, Any]:
    """What a reader of the guide has: a network in parts, a table with groups, tasks as arrays."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(4, 5, 1)).astype(np.float32)
    return {
        "features": bmaml.models.ConvFeatures(),
        "head": bmaml.models.mlp(None, 5, hidden=()),
        "network": bmaml.models.mlp(1, 1),
        "X": random.normal(size=(120, 2)),
        "dose": random.normal(size=120),
        "patient": np.arange(120) // 12,
        "X_few": random.normal(size=(3, 2)),
        "dose_few": random.normal(size=3),
        "X_new": random.normal(size=(2, 2)),
        **dict.fromkeys(("support_x", "support_y", "query_x", "query_y"), rows),
        "held_out": Task(Data(rows, rows), Data(rows, rows)),
        "other": Task(Data(rows, rows), Data(rows, rows)),
        "init": lambda key: jax.random.normal(key, (1, 1)),
        "apply": lambda weights, x: x @ weights,
        "MyNNXModule": NNX,
        "MyLinenModule": Linen,
    }


BROUGHT = {"guide": brought_to_the_guide}
# As short as can be: what is tested is that the lines of a page fit each other and the library.
MINIATURE = [
    (r"\bsteps=[\d_]+", "steps=2, progress=False"),
    (r"\biterations=\d+", "iterations=1"),
    (r"\bparticles=\d+", "particles=2"),
    (r"\bnum_particles=\d+", "num_particles=2"),
    (r"Sinusoid\(", "Sinusoid(held_out_tasks=4, "),
    (r"Glyphs\(", "Glyphs(validation_tasks=2, test_tasks=2, "),
    (r"FewShotRegressor\(", "FewShotRegressor(steps=2, out='runs/dose', "),
]
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text()]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_documented_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BMAML_CACHE", str(tmp_path / "cache"))  # not the user's
    names = BROUGHT.get(page.stem, dict)()
    text = page.read_text()
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            code = "\n" * text[: block.start(2)].count("\n") + block[2]  # errors name the page's line
            for pattern, shorter in MINIATURE:
                code = re.sub(pattern, shorter, code)
            exec(compile(code, page, "exec"), names)
