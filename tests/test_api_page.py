"""docs/api.md is what docs/api.py makes of the code."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_is_what_the_code_says():
    spec = importlib.util.spec_from_file_location("api_page", DOCS / "api.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (DOCS / "api.md").read_text() == script.page(), "run `python docs/api.py`"
