"""What cannot be parsed is told in one line, with the exit code of wrong usage."""

from pathlib import Path

import pytest

from bmaml.cli.main import main
from bmaml.cli.train.sinusoid import TrainSinusoid
from bmaml.cli.wording import in_options
from bmaml.run_folder import RunFolder

TRAIN = "train sinusoid --out run "


METHODS = "maml, fomaml, emaml, reptile, bfa, bmaml"
KINDS = "sinusoid, glyphs, omniglot, miniimagenet, folder, table"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (TRAIN + "--particles two", "--particles cannot be 'two' (bmaml --help says more)."),
        (TRAIN + "--steps two", "--steps cannot be 'two'"),
        (TRAIN + "--partcles 3", "--partcles, 3; perhaps you meant --particles"),
        (TRAIN + "--steps", ": --steps needs a value (bmaml train sinusoid --help says more)."),
        (TRAIN + "--method foo", f": --method cannot be 'foo': choose one of {METHODS} (bmaml train"),
        (TRAIN + "--method mml", f"choose one of {METHODS}; perhaps you meant maml (bmaml train"),
        (TRAIN + "--leader-rows half", "cannot be 'half': choose one of all, query (bmaml train"),
        (TRAIN + "extra", "Unrecognized options: extra"),
        ("train sinusoid --steps 5", ": bmaml train sinusoid needs --out FOLDER (bmaml train sinusoid"),
        (
            "train good.csv",
            ": bmaml train good.csv needs --out FOLDER, --task COLUMN and --target COLUMN (bmaml train "
            "table --help says more).",
        ),
        (
            "train --steps 3",
            f": bmaml train needs FILE.csv, FOLDER/ or one of {KINDS}, before --steps",
        ),
        ("train", f": bmaml train needs FILE.csv, FOLDER/ or one of {KINDS} (bmaml train --help"),
        (
            "evalute run",
            ": There is no command 'bmaml evalute'; perhaps you meant evaluate (bmaml",
        ),
        ("foo", ": There is no command 'bmaml foo': choose one of train, evaluate,"),
        ("reproduce foo", "'bmaml reproduce foo': choose one of sinusoid, classification,"),
        ("reproduce snusoid", "perhaps you meant sinusoid (bmaml reproduce --help says more)."),
        ("reproduce", ": bmaml reproduce needs one of sinusoid, classification"),
        ("reproduce sinusoid --scale big", "(bmaml reproduce sinusoid --help says more)."),
        ("evaluate", ": bmaml evaluate needs PATH (a run folder"),
        (
            "predict run --quer x",
            ": bmaml predict needs --query PATH, and has no --quer (bmaml",
        ),
        ("--foo", ": bmaml needs one of train, evaluate,"),
    ],
)
@pytest.mark.parametrize("columns", ["40", "200"])
def test_wrong_usage_is_one_line(line, told, columns, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert told in output.err
    assert output.err.startswith("bmaml: ")
    assert output.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_help_is_a_page_as_ever(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "--help"])
    assert ended.value.code == 0
    output = capsys.readouterr()
    assert output.out.count("\n") > 10
    assert output.err == ""


def test_without_a_command_there_is_the_page_of_all(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert "reproduce" in output.out
    assert output.out.count("\n") > 20
    assert output.err == ""


@pytest.mark.parametrize(
    "command", ["train sinusoid", "train table", "train folder", "predict", "suggest"]
)
def test_help_speaks_of_defaults_once_and_of_no_none(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    page = capsys.readouterr().out
    assert "None" not in page
    assert "(default: the method's own) (" not in page
    assert all(line.count("default: ") <= 1 for line in page.splitlines())


def test_help_names_the_forms_for_your_own_data_and_the_kernels(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    for words, told in (
        (["train"], ("bmaml train FILE.csv", "bmaml train FOLDER/")),
        (["train", "table"], ("rbf-initial", "--features COLUMN [COLUMN ...]", "--task COLUMN")),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        page = capsys.readouterr().out
        assert all(part in page for part in told)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--step-size -1", ": --step-size is -1.0; it must be a number above 0."),
        ("--steps 0", ": --steps is 0; it must be at least 1."),
        ("--validate-every 0", ": --validate-every is 0; it must be at least 1."),
        ("--seed -1", ": --seed is -1; it must be at least 0."),
        ("--leader-steps 0", ": --leader-steps is 0; it must be at least 1."),
        ("--particles 0", ": --particles is 0; it must be at least 1."),
        ("--temperature 1", ": The inner update 'svgd' has no --temperature: leave it out."),
        ("--prior flat --prior-precision 1", ": --prior-precision is that of the Gaussian prior:"),
        ("--kernel foo", ": Unknown kernel 'foo': use one of rbf,"),
        (
            "--method maml --distance mmd",
            ": maml has no --distance: leave it out, or choose a",
        ),
    ],
)
@pytest.mark.parametrize("source", ["sinusoid", "missing.csv --task who --target y", "folder missing/"])
def test_cheap_mistakes_are_told_first_by_the_names_of_options(
    source, options, told, capsys, tmp_path, monkeypatch
):
    """Before a table is read, which is not even there."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(f"train {source} --out run {options}".split())
    assert ended.value.code == 1
    output = capsys.readouterr().err
    assert told in output
    assert output.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_there_is_told_before_a_table_is_read(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RunFolder.start("run", {"steps": 3}, resume=False).close()
    Path("run", "log.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(SystemExit):
        main(["train", "missing.csv", "--task", "who", "--target", "y", "--out", "run"])
    told = capsys.readouterr().err
    assert "already holds a run: resume it (--resume), or choose another folder.\n" in told
    assert told.count("\n") == 1


def test_what_python_and_the_command_line_say_otherwise_is_said_once():
    again = "go on with resume=True (on the command line, the same command with --resume)."
    assert in_options(again) == "go on with the same command with --resume."
    last = "take the last ones (which='last', on the command line --checkpoint last)."
    assert in_options(last) == "take the last ones (--checkpoint last)."
    command = TrainSinusoid(out=Path("run"))
    whose = "run holds a run whose description.method_options.num_particles is 2, not 3: resume"
    assert in_options(whose, command) == "run holds a run whose --particles is 2, not 3: resume"
    untouched = "The column 'step_size' is empty, the file shots is missing, and (dose) is dose: no."
    assert in_options(untouched, command) == untouched
