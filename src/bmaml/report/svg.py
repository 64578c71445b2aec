"""Matplotlib's figures as pieces of a page: vector, in the colours of the page, free of references."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Drawn in this colour, which nothing else has, and told to be that of the page's text.
INK = "#010203"
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bmaml",
    # A column may be called "$x_{": text is text.
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.fontsize": 8,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "grid.color"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
}


@contextmanager
def figure(width: float = 5.2, height: float = 3.4) -> Iterator[tuple[Any, Any]]:
    """A figure and its axis in the page's style; closed whatever happens."""
    with plt.rc_context(STYLE), warnings.catch_warnings():
        # A browser has the glyphs that Matplotlib's own typeface lacks.
        warnings.simplefilter("ignore")
        made, axis = plt.subplots(figsize=(width, height))
        try:
            yield made, axis
        finally:
            plt.close(made)


def inline(made: Any, name: str) -> str:
    """The figure as an `<svg>` element for an HTML page.

    Arguments:
        made: the figure, still open.
        name: different for each figure of a page, since they share one space of identifiers.
    """
    file = io.StringIO()
    made.tight_layout()
    made.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r'<svg ([^>]*)viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\2" role="img">', text, count=1
    )
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
    return text.replace(INK, "currentColor").strip()
