"""What cannot be parsed is told in one line, with the exit code of wrong usage."""

import pytest

from bmaml.cli.main import main

TRAIN = "train sinusoid --out run "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (TRAIN + "--particles two", "--particles cannot be 'two' (bmaml --help says more)."),
        (TRAIN + "--steps two", "--steps cannot be 'two'"),
        (TRAIN + "--partcles 3", "--partcles, 3; perhaps you meant --particles"),
        (TRAIN + "--method foo", "'foo' for argument '--method'. Expected one of ('maml',"),
        ("train sinusoid --steps 5", "Missing from bmaml train sinusoid: --out PATH"),
        ("evalute run", "evalute, run; available subcommands: train, evaluate"),
        ("reproduce sinusoid --scale big", "(bmaml reproduce sinusoid --help says more)."),
        ("evaluate", "Missing from bmaml evaluate: PATH a run folder"),
        ("train", "Expected one of {sinusoid, glyphs"),
    ],
)
def test_wrong_usage_is_one_line(line, told, capsys, tmp_path, monkeypatch):
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
