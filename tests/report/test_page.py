"""The run page: whole, self-contained, and deaf to what names of columns would like to do."""

import os
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest

from bmaml.errors import RunError
from bmaml.recipe import Recipe
from bmaml.report import plots
from bmaml.report.page import make_page, write_page
from bmaml.run_folder import RunFolder
from bmaml.tables.encoding import Encoding
from tests.report.made_up import made_up

VOID = {"meta", "br", "hr", "img", "link", "input"}
HOSTILE = '<script>alert("1")</script>'
ODD = "$x_{ & 温度"


class Reader(HTMLParser):
    """Collects tags, attributes and text, and sees that tags are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def of_table(kind="numbers"):
    """The recipe of a run on a table with names that mean harm."""
    rows = np.arange(40.0)
    targets = rows**1.5 if kind == "numbers" else np.where(rows > 20, HOSTILE, "b")
    frame = pandas.DataFrame({"t": rows // 4, HOSTILE: rows, ODD: np.sin(rows), "y<i>": targets})
    encoding = Encoding.learn(frame, task="t", target="y<i>", kind=kind)
    options = {"path": f"/data/{HOSTILE}.csv", "task": "t", "target": "y<i>", "features": None}
    return Recipe("table", "bmaml", {}, {**options, "shots": 5, "encoding": encoding.to_json()})


@pytest.fixture(scope="module")
def pages(run):
    folder, trained, recipe = run
    settings = RunFolder.read(folder).settings
    alone = made_up(methods=("maml",), support_rows=(5,))
    return {
        "table": make_page(
            settings, trained, of_table(), made_up(), evaluated_by="bmaml evaluate 'a run'"
        ),
        "labels": make_page(settings, trained, of_table("labels"), made_up("labels")),
        "sinusoid": make_page(settings, trained, recipe, alone, made_by="bmaml train 'a run'"),
    }


@pytest.mark.parametrize("name", ["table", "labels", "sinusoid"])
def test_a_page_needs_nothing_but_itself(pages, name):
    reader = Reader(pages[name])
    assert reader.open == []
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(reader.tags)
    for attribute, value in reader.attributes:
        assert not attribute.startswith("on")
        if attribute in ("src", "href", "xlink:href", "action"):
            assert value.startswith("#")
    for word in ("http:", "https:", "//fonts", "@import", "data:"):
        assert word not in pages[name]
    assert pages[name].count("url(") == pages[name].count("url(#")


@pytest.mark.parametrize("name", ["table", "labels"])
def test_names_of_columns_are_text_and_nothing_else(pages, name):
    assert "<script" not in pages[name]
    assert "<i>" not in pages[name]
    assert "else</b>" not in pages[name]
    told = " ".join(Reader(pages[name]).words)
    for text in (HOSTILE, ODD, "y<i>", "something <b>else</b>"):
        assert text in told


def test_identifiers_are_unique_and_every_reference_finds_its_own(pages):
    attributes = Reader(pages["table"]).attributes
    names = [value for attribute, value in attributes if attribute == "id"]
    assert len(names) == len(set(names))
    wanted = {value[1:] for attribute, value in attributes if attribute.endswith("href")}
    wanted |= {
        value.split("url(#")[1].split(")")[0] for _, value in attributes if value and "url(#" in value
    }
    assert wanted
    assert wanted <= set(names)


def test_it_is_readable_by_day_by_night_and_on_a_phone(pages):
    page = pages["table"]
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page
    assert "currentColor" in page  # the ink of the plots is that of the page
    assert "#010203" not in page
    assert "width: 100%" in page


def test_it_tells_what_when_and_who_wins(pages):
    told = " ".join(Reader(pages["table"]).words)
    evaluation = made_up()
    for sentence in evaluation.sentences():
        assert sentence in told
    assert "bmaml evaluate 'a run'" in told
    for score in evaluation.scores:
        assert score.estimates["mse"].told(evaluation.metrics["mse"]) in told
    sinusoid = " ".join(Reader(pages["sinusoid"]).words)
    assert "bmaml train 'a run'" in sinusoid
    assert pages["table"].count("<figure>") == 5
    assert pages["sinusoid"].count("<figure>") == 3  # one number of support rows makes no curve


def test_it_is_the_same_for_the_same_numbers(pages, run):
    folder, trained, recipe = run
    settings = RunFolder.read(folder).settings
    alone = made_up(methods=("maml",), support_rows=(5,))
    again = make_page(settings, trained, recipe, alone, made_by="bmaml train 'a run'")
    assert again == pages["sinusoid"]


def test_it_is_written_whole_or_not_at_all(run, monkeypatch):
    folder, trained, recipe = run
    evaluation = made_up(methods=("maml",), support_rows=(5,))
    path = write_page(folder, trained, recipe, evaluation)
    before = path.read_text()

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(RunError, match="Permission denied"):
        write_page(folder, trained, recipe, made_up(methods=("maml",), support_rows=(3,)))
    assert path.read_text() == before
    assert not list(folder.glob("report.html.*"))


def test_scores_that_are_not_finite_do_not_stop_the_plots():
    evaluation = made_up()
    ill = [
        replace(
            score,
            estimates={name: value._replace(mean=np.nan) for name, value in score.estimates.items()},
        )
        for score in evaluation.scores
    ]
    broken = replace(evaluation, scores=tuple(ill))
    for name in ("mse", "nll"):
        assert plots.against_support_rows(broken, name).startswith("<svg")
    history = [{"step": 1, "loss": None, "validation": {"mse": None}}]
    assert plots.training_curve(history, "mse", 1).startswith("<svg")
