"""`bmaml train FILE|FOLDER`, `predict`, `suggest`: the same verbs for tables and pictures."""

import json

import numpy as np
import pandas
import pytest
from PIL import Image

from bmaml.cli.main import main
from bmaml.cli.train import name_the_kind
from bmaml.errors import BmamlError
from bmaml.estimators import FewShotRegressor

TINY = ("--steps", "5", "--particles", "2", "--batch-size", "3", "--quiet")


def bmaml(*arguments):
    main([str(argument) for argument in arguments])


def failing(capsys, *arguments):
    """What is said in one sentence on the way to a non-zero exit."""
    with pytest.raises(SystemExit) as stopped:
        bmaml(*arguments)
    assert stopped.value.code not in (0, None)
    said = capsys.readouterr().err
    assert said.startswith("bmaml: ")
    assert said.count("\n") == 1
    return said


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def table(place):
    random = np.random.default_rng(0)
    who, x = np.repeat(np.arange(12), 6), random.normal(size=72)
    frame = pandas.DataFrame({"who": who, "x": x, "y": random.normal(size=12)[who] + x})
    frame.to_csv(place / "table.csv", index=False)
    frame[frame.who == 0].to_csv(place / "one.csv", index=False)
    frame.drop(columns="y").to_csv(place / "asked.csv", index=False)
    return place / "table.csv"


@pytest.fixture(scope="module")
def run(place, table):
    bmaml(
        "train", table, "--task", "who", "--target", "y", "--hidden", "8", "--out", place / "run", *TINY
    )
    return place / "run"


@pytest.fixture(scope="module")
def pictures(place):
    """Eight classes of flat colours, and a few more without labels."""
    random = np.random.default_rng(0)
    for name in [f"classes/{label}" for label in range(8)] + ["labelled/sky", "labelled/grass", "new"]:
        (place / name).mkdir(parents=True)
        for number in range(3):
            pixels = random.integers(0, 255, (9, 11, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / name / f"{number}.png")
    (place / "new" / "broken.png").write_bytes(b"not a picture")
    return place / "classes"


@pytest.fixture(scope="module")
def picture_run(place, pictures):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BMAML_CACHE", str(place / "cache"))
        bmaml(
            "train",
            pictures,
            "--ways",
            "2",
            "--size",
            "16",
            "--filters",
            "4",
            "--out",
            place / "picture_run",
            *TINY,
        )
    return place / "picture_run"


def test_a_path_is_a_table_or_a_folder_and_a_name_is_a_name(table, pictures):
    assert name_the_kind(["train", str(table)])[1] == "table"
    assert name_the_kind(["train", str(pictures)])[1] == "folder"
    assert name_the_kind(["train", "missing.csv", "--x"])[1:] == ["table", "missing.csv", "--x"]
    for words in (["train", "sinusoid"], ["train", "--help"], ["evaluate", str(table)], ["train"]):
        assert name_the_kind(words) == words


@pytest.mark.parametrize(
    "words",
    [
        ["pictrues/"],
        ["pictrues", "--ways", "5"],
        ["visits", "--target=dose"],
        ["sinusiod", "--steps", "5"],
    ],
)
def test_a_path_that_leads_nowhere_is_named(words):
    with pytest.raises(BmamlError, match=f"no file or folder '{words[0]}', and it is none of sinusoid"):
        name_the_kind(["train", *words])


def test_what_was_made_of_a_table_is_told_even_if_quiet(place, table, capsys, monkeypatch):
    def stop(*given, **named):
        raise BmamlError("Stopped.")

    monkeypatch.setattr("bmaml.tables.model.TableModel.fit", stop)
    frame = pandas.read_csv(table)
    frame.assign(same=1, y=frame.y.where(frame.x < 1)).to_csv(place / "gaps.csv", index=False)
    with pytest.raises(SystemExit):
        bmaml(
            *("train", place / "gaps.csv", "--task", "who", "--target", "y"),
            *("--out", place / "none", "--quiet"),
        )
    told = capsys.readouterr()
    assert told.out == ""
    assert "Note: The target 'y' is taken for numbers, -" in told.err
    assert "rows whose 'y' is empty" in told.err
    assert "Note: The column 'same' is left out" in told.err


def test_predictions_are_one_line_a_query_row_in_its_order(run, place, table):
    out = place / "predictions.csv"
    bmaml("predict", run, "--support", table, "--query", place / "asked.csv", "--out", out)
    found, asked = pandas.read_csv(out), pandas.read_csv(place / "asked.csv")
    assert list(found) == ["who", "mean", "std", "q05", "q50", "q95", "support_rows"]
    assert list(found.who) == list(asked.who)
    assert set(found.support_rows) == {6}
    again = FewShotRegressor.load(run)
    frame = pandas.read_csv(table)
    mine = frame[frame.who == 3]
    mean, std = again.adapt(mine[["x"]], mine.y).predict(mine[["x"]], return_std=True)
    np.testing.assert_allclose(found[found.who == 3]["mean"], mean, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[found.who == 3]["std"], std, rtol=1e-3)


def test_without_support_and_without_out_the_prior_prediction_is_printed(run, place, capsys):
    bmaml("predict", run, "--query", place / "asked.csv")
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0] == '"who","mean","std","q05","q50","q95","support_rows"'
    assert len(lines) == 73
    (place / "nothing.csv").write_text("who,x,y\n")
    bmaml("predict", run, "--support", place / "nothing.csv", "--query", place / "asked.csv")
    assert capsys.readouterr().out.strip().splitlines() == lines


def test_tasks_are_matched_as_numbers_and_those_left_over_told(run, place, table, capsys):
    frame = pandas.read_csv(table)
    frame[frame.who.isin([3, 4])].assign(who=lambda some: some.who + 0.0).to_csv(
        place / "floats.csv", index=False
    )
    frame[frame.who.isin([4, 5, 6])].drop(columns="y").to_csv(place / "some.csv", index=False)
    bmaml("predict", run, "--support", place / "floats.csv", "--query", place / "some.csv")
    told = capsys.readouterr()
    assert [line.split(",")[-1] for line in told.out.splitlines()[1:]] == ["6"] * 6 + ["0"] * 12
    assert told.err.count("\n") == 1
    assert "2 of 3 tasks of the query ('5', '6') have no support rows" in told.err
    assert "1 of 2 tasks of the support ('3.0') has no rows in the query" in told.err


def test_rows_of_one_task_for_want_of_its_column_are_told(run, place, table, capsys):
    frame = pandas.read_csv(table)
    frame[frame.who < 2].rename(columns={"who": "whom"}).to_csv(place / "misspelt.csv", index=False)
    bmaml("predict", run, "--support", place / "misspelt.csv", "--query", place / "misspelt.csv")
    told = capsys.readouterr().err
    assert "The query has no column 'who', so all its rows are taken for one task" in told
    assert "not used: 'whom'." in told
    frame[frame.who == 0].drop(columns=["who", "y"]).to_csv(place / "plain.csv", index=False)
    bmaml("predict", run, "--query", place / "plain.csv")  # of one task indeed
    assert capsys.readouterr().err == ""


def test_a_missing_folder_to_write_to_is_named_before_the_work(run, place, capsys):
    out = place / "nowhere" / "predictions.csv"
    told = failing(capsys, "predict", run, "--query", place / "asked.csv", "--out", out)
    assert f"There is no folder {out.parent}" in told


def test_training_says_what_begins_how_good_it_is_and_what_comes_next(place, table, capsys):
    folder = place / "a run"
    words = ("train", table, "--task", "who", "--target", "y", "--hidden", "8", "--out", folder, *TINY)
    bmaml(*words, "--resume")
    told = capsys.readouterr()
    assert f"bmaml: {folder} holds no run yet: a new one begins.\n" in told.err
    assert "(in variances of the target) at update" in told.out
    assert told.out.endswith(f"Next: bmaml evaluate '{folder}'\n")
    bmaml(*words, "--resume")
    assert "a new one begins" not in capsys.readouterr().err
    bmaml(*words, "--resume", "--steps", 7)
    assert f"{folder} was to have 5 updates: it goes on to 7.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--particles 3", "run began with --particles 2, not 3: resume with the options it began with"),
        ("--kernel imq", "run began without --kernel: resume"),
        ("--method bfa", "run began with --method bmaml, not bfa: resume"),
        ("--steps 3", "run began with --steps 5, not 3: resume"),
        ("--hidden 8 8", "run began with --hidden 8, not 8 8: resume"),
        ("--seed 3", "run began with --seed 0, not 3: resume"),
        ("--split-seed 3", "run began with --split-seed 0, not 3: resume"),
        ("--shots 1", "run began with --shots 3, not 1: resume"),
        ("--batch-size 2", "run began with --batch-size 3, not 2: resume"),
        ("--features x", "run began without --features: resume"),
        ("--validate-every 2", "run began with --validate-every 5, not 2: resume"),
    ],
)
def test_another_run_is_refused_by_the_names_of_options_and_nothing_is_announced(
    run, table, options, told, capsys
):
    words = ("--task", "who", "--target", "y", "--hidden", "8", "--out", run, *TINY, "--steps", "9")
    with pytest.raises(SystemExit):
        bmaml("train", table, *words, "--resume", *options.split())
    said = capsys.readouterr().err
    assert told in said
    assert "it goes on to" not in said


def test_a_table_that_has_changed_is_told_before_anything_is_announced(run, table, capsys):
    words = ("--task", "who", "--target", "y", "--hidden", "8", "--out", run, *TINY, "--steps", "9")
    before = table.read_text()
    try:
        table.write_text("".join(before.splitlines(keepends=True)[:-20]))
        with pytest.raises(SystemExit):
            bmaml("train", table, *words, "--resume")
    finally:
        table.write_text(before)
    said = capsys.readouterr().err
    assert "run began when the table had other columns, values or tasks: resume" in said
    assert "it goes on to" not in said


def test_columns_with_commas_between_them_are_told_how_to_be_given(place, table, capsys):
    words = ("--task", "who", "--target", "y", "--out", place / "none")
    told = failing(capsys, "train", table, *words, "--features", "x,who")
    assert "no column 'x,who'" in told
    assert told.endswith("; columns are separated by spaces: --features x who.\n")
    told = failing(capsys, "train", table, *words, "--features", "z")
    assert "separated" not in told


def test_suggestions_name_rows_and_reasons(run, place, capsys):
    bmaml("suggest", run, "--support", place / "one.csv", "--pool", place / "one.csv", "--count", "2")
    assert "disagree about" in " ".join(capsys.readouterr().out.split())
    out = place / "next.csv"
    bmaml("suggest", run, "--pool", place / "one.csv", "--count", "3", "--out", out)
    found = pandas.read_csv(out)
    assert list(found) == ["row", "who", "score", "reason"]
    assert set(found.who) == {0}
    assert set(found.row) <= set(range(1, 7))
    assert len(set(found.row)) == 3


def test_a_model_trained_in_python_serves_the_command_line(place, table, capsys):
    frame = pandas.read_csv(table)
    model = FewShotRegressor(
        steps=5, num_particles=2, hidden=(8,), random_state=0, out=place / "python"
    )
    model.fit(frame[["x"]], frame.y, groups=frame.who)
    one = frame[frame.who == 0]
    bmaml("predict", place / "python", "--support", place / "one.csv", "--query", place / "one.csv")
    printed = capsys.readouterr().out
    expected = model.adapt(one[["x"]], one.y).predict(one[["x"]])
    found = [float(line.split(",")[-6]) for line in printed.strip().splitlines()[1:]]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_evaluate_needs_the_table_and_finds_it_elsewhere(run, place, table, capsys):
    table.rename(place / "moved.csv")
    try:
        assert "table.csv" in failing(capsys, "evaluate", run)
        bmaml(
            "evaluate",
            run,
            "--data",
            place / "moved.csv",
            "--no-baselines",
            "--json",
            "--support-rows",
            "0",
            "2",
        )
    finally:
        (place / "moved.csv").rename(table)
    scores = json.loads(capsys.readouterr().out)
    assert [score["support_rows"] for score in scores["scores"]] == [0, 2]
    assert (run / "report.html").exists()


def test_pictures_are_predicted_and_suggested(picture_run, place, capsys):
    out = place / "pictures.csv"
    bmaml(
        "predict", picture_run, "--support", place / "labelled", "--query", place / "new", "--out", out
    )
    found = pandas.read_csv(out)
    assert list(found) == ["file", "predicted", "p(grass)", "p(sky)", "entropy"]
    assert list(found.file) == ["0.png", "1.png", "2.png"]
    np.testing.assert_allclose(found["p(grass)"] + found["p(sky)"], 1.0, rtol=1e-5)
    assert "broken.png" in capsys.readouterr().err
    bmaml(
        "suggest", picture_run, "--support", place / "labelled", "--pool", place / "new", "--count", "1"
    )
    assert ".png" in capsys.readouterr().out


def test_what_is_wrong_is_said_in_a_sentence_and_nothing_is_written(
    run, picture_run, place, table, capsys
):
    asked, out = place / "asked.csv", place / "never.csv"
    (place / "text.csv").write_text("who,x\n1,three\n")
    (place / "other.csv").write_text("who,z\n1,3\n")
    (place / "empty.csv").write_text("")
    (place / "foreign.csv").write_text("a,b\n")
    (place / "latin.csv").write_bytes("who,x\nJosé,1\n".encode("latin-1"))
    wanted = {
        ("predict", run, "--query", place / "missing.csv"): "missing.csv",
        ("predict", run, "--query", place / "empty.csv"): "empty",
        ("predict", run, "--query", place / "other.csv"): "'x'",
        ("predict", run, "--query", place / "text.csv"): "three",
        ("predict", run, "--query", place / "latin.csv"): "UTF-8",
        ("predict", run, "--query", asked, "--support", asked): "'y'",
        ("predict", run, "--query", asked, "--support", place / "foreign.csv"): "no column 'x', 'y'",
        ("predict", run, "--query", place): "folder",
        ("predict", run, "--query", asked, "--steps", "-1"): "--steps",
        ("predict", place, "--query", asked): "run folder",
        ("predict", picture_run, "--query", place / "new"): "--support",
        ("suggest", run, "--pool", asked, "--count", "1000"): "1000",
        ("suggest", run, "--pool", asked, "--count", "0"): "--count",
        ("suggest", run, "--pool", asked, "--acquisition", "entropy"): "entropy",
    }
    for arguments, word in wanted.items():
        more = () if arguments[0] == "suggest" and "0" in arguments else ("--out", out)
        assert word in failing(capsys, *arguments, *more), arguments
        assert not out.exists()
    assert "overwrite" in failing(capsys, "predict", run, "--query", asked, "--out", asked)
    assert asked.read_text().startswith("who,x")
    for arguments, word in {
        (table, "--task", "nobody", "--target", "y"): "nobody",
        (table, "--task", "y", "--target", "y"): "both",
        (place / "one.csv", "--task", "who", "--target", "y"): "task",
        (place / "empty.csv", "--task", "who", "--target", "y"): "empty",
        (table, "--task", "who", "--target", "y", "--shots", "0"): "shots",
    }.items():
        assert word in failing(capsys, "train", *arguments, "--out", place / "none", "--quiet"), (
            arguments
        )
        assert not (place / "none").exists()
