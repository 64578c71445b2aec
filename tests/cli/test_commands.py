"""The command line as a user meets it: in a process of its own."""

import json
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest


def bmaml(*arguments, timeout=240):
    return subprocess.run(
        [sys.executable, "-m", "bmaml.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def one_sentence(result, *words):
    """Failed, with a sentence that holds `words`, and no traceback."""
    assert result.returncode != 0
    assert "Traceback" not in result.stderr + result.stdout
    for word in words:
        assert word in result.stderr + result.stdout


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "first"
    result = bmaml(
        *("train", "sinusoid", "--method", "bmaml", "--particles", 2, "--shots", 3),
        *("--num-tasks", 20, "--steps", 20, "--seed", 1, "--out", folder, "--quiet"),
    )
    assert result.returncode == 0, result.stderr
    assert "bmaml evaluate" in result.stdout
    return folder


def test_help_answers_in_under_a_second_without_importing_jax():
    bmaml("--help")  # fills the disk cache
    start = time.monotonic()
    result = bmaml("--help")
    seconds = time.monotonic() - start
    assert result.returncode == 0
    for command in ("train", "evaluate", "reproduce", "methods"):
        assert command in result.stdout
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, bmaml.cli.main; print('jax' in sys.modules)"],
        capture_output=True,
        text=True,
    )
    assert loaded.stdout.strip() == "False"
    assert seconds < 3.0  # under a second on an idle machine; tests share theirs


def test_the_version_is_that_of_the_package():
    assert bmaml("--version").stdout == f"bmaml {version('bmaml')}\n"


def test_more_than_the_machine_can_hold_is_told(tmp_path):
    result = bmaml("train", "sinusoid", "--particles", 10**9, "--out", tmp_path / "run", "--quiet")
    one_sentence(result, "more than the machine can hold: ask for fewer particles")
    assert not (tmp_path / "run").exists()


def test_evaluate_prints_scores_and_json(run_folder):
    assert "mse" in bmaml("evaluate", run_folder).stdout
    scores = json.loads(bmaml("evaluate", run_folder, "--json").stdout)
    assert scores["tasks"] == 500
    assert scores["method"] == "bmaml"
    assert 0.0 <= scores["coverage"] <= 1.0


def test_a_run_is_never_overwritten(run_folder):
    before = (run_folder / "log.jsonl").read_text()
    result = bmaml("train", "sinusoid", "--steps", 20, "--out", run_folder, "--quiet")
    one_sentence(result, "already holds a run")
    assert (run_folder / "log.jsonl").read_text() == before


def test_methods_lists_every_preset():
    result = bmaml("methods")
    for name in ("maml", "fomaml", "emaml", "reptile", "bfa", "bmaml"):
        assert name in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "sinusoid", "--method", "mamal", "--out", "x"), ("mamal",)),
        (("train", "sinusoids", "--out", "x"), ("sinusoids",)),
        (("train", "sinusoid", "--stepz", "3", "--out", "x"), ("stepz",)),
        (("train", "sinusoid"), ("out",)),
        (("evaluate", "/no/such/folder"), ("is not a run folder",)),
    ],
)
def test_wrong_options_are_named(arguments, words):
    one_sentence(bmaml(*arguments), *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--steps", 0), ("at least 1",)),
        (("--shots", 0), ("at least one",)),
        (("--particles", 0), ("--particles is 0", "at least 1")),
        (("--inner-steps", 0), ("--inner-steps is 0", "at least 1")),
        (("--step-size", -1), ("--step-size is -1", "above 0")),
        (("--leader-steps", 0), ("--leader-steps is 0", "at least 1")),
        (("--num-tasks", -1), ("--num-tasks is -1", "at least 1", "without end")),
        (("--seed", -1), ("--seed is -1", "at least 0")),
        (("--seed", 2**32), ("--seed is 4294967296", "below")),
        (("--num-tasks", 3), ("meta-batch of 10", "3")),
        (("--method", "maml", "--particles", 5), ("one particle",)),
    ],
)
def test_impossible_numbers_are_named(options, words, tmp_path):
    result = bmaml("train", "sinusoid", "--out", tmp_path / "run", "--quiet", *options)
    one_sentence(result, *words)
    assert not (tmp_path / "run").exists()


# As at a prompt: a test run in the background was told by its shell to ignore Ctrl-C.
AT_A_PROMPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from bmaml.cli.main import main
main()
"""


def test_ctrl_c_saves_says_how_to_go_on_and_ends_as_an_interrupt(tmp_path):
    words = "train sinusoid --method maml --num-tasks 20 --steps 1000000 --validate-every 50 --quiet"
    child = subprocess.Popen(
        [sys.executable, "-c", AT_A_PROMPT, *words.split(), "--out", str(tmp_path / "run")],
        stderr=subprocess.PIPE,
        text=True,
    )
    log, deadline = tmp_path / "run" / "log.jsonl", time.monotonic() + 120
    while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "bmaml: Interrupted after step" in told
    assert "--resume" in told


def test_a_corrupt_checkpoint_is_named(run_folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(run_folder, broken)
    for path in (broken / "checkpoints").rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage")
    one_sentence(bmaml("evaluate", broken), "damaged")


@pytest.mark.parametrize(("name", "value"), [("seeds", "abc"), ("seeds", 3), ("example", 3)])
def test_a_damaged_description_is_named(name, value, run_folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(run_folder, broken)
    path = broken / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    one_sentence(bmaml("evaluate", broken), "run.json")


def test_lines_of_a_log_that_are_no_entries_are_left_out(run_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run_folder, copy)
    with open(copy / "log.jsonl", "a") as file:
        file.write("5\n{}\n")
    result = bmaml("evaluate", copy, "--json")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("methods",)])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_to_a_full_disk_is_one_sentence(arguments):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "bmaml.cli.main", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=240,
        )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "the disk is full" in result.stderr


def test_a_name_that_no_file_can_have_is_one_sentence(tmp_path):
    out = tmp_path / ("a" * 300)
    one_sentence(bmaml("train", "sinusoid", "--steps", 5, "--resume", "--out", out), "name too long")


def test_a_closed_output_is_no_error():
    shell = 'exec "$0" -m bmaml.cli.main --help >&-'
    ended = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_images_are_trained_and_scored_like_everything_else(tmp_path, monkeypatch):
    monkeypatch.setenv("BMAML_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "glyphs"
    result = bmaml(
        *("train", "glyphs", "--method", "emaml", "--particles", 2, "--filters", 4, "--ways", 3),
        *("--batch-size", 2, "--steps", 2, "--out", folder, "--quiet"),
    )
    assert result.returncode == 0, result.stderr
    assert "validation accuracy" in result.stdout
    scores = json.loads(bmaml("evaluate", folder, "--json").stdout)
    assert {"accuracy", "accuracy_interval", "nll", "ece", "brier", "tasks"} <= set(scores)
    assert scores["tasks"] == 600
    assert 0.3 < scores["unknown_auroc_entropy"] < 0.8
    page = (folder / "report.html").read_text()
    assert "emaml on glyphs" in page
    assert page.count("<figure>") == 3  # reliability, refusal, training


def test_a_folder_without_the_images_is_named(tmp_path):
    for images in ("omniglot", "miniimagenet"):
        result = bmaml("train", images, "--folder", tmp_path, "--out", tmp_path / "run")
        one_sentence(result, str(tmp_path))
        assert not (tmp_path / "run").exists()


def test_policies_are_trained_scored_and_refused_like_everything_else(tmp_path):
    folder = tmp_path / "navigation"
    small = ("--tasks", 2, "--episodes", 2, "--particles", 2, "--method", "vpg-reptile", "--quiet")
    longer = ("--iterations", 2, "--validate-every", 2)
    result = bmaml("rl", "navigation", *longer, "--out", folder, *small)
    assert result.returncode == 0, result.stderr
    assert len((folder / "log.jsonl").read_text().splitlines()) == 1
    assert "bmaml evaluate" in result.stdout
    picture = tmp_path / "paths.png"
    scores = json.loads(bmaml("evaluate", folder, "--json", "--render", picture).stdout)
    assert {"return_best", "return_mean", "return_best_before", "return_mean_before"} <= set(scores)
    assert picture.stat().st_size > 1000
    one_sentence(bmaml("evaluate", folder, "--render", tmp_path / "paths.avi"), "paths.avi")
    one_sentence(bmaml("evaluate", folder, "--data", "somewhere.csv"), "--data is for runs on data")
    # A log that is lost leaves nothing to tell, and the particles as they are.
    (folder / "log.jsonl").write_text("")
    resumed = bmaml("rl", "navigation", *longer, "--out", folder, *small, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    other = tmp_path / "other"
    one_sentence(bmaml("rl", "navigation", "--out", other, "--particles", 0), "at least 1")
    one_sentence(bmaml("rl", "navigation", "--out", other, "--validate-every", 0), "at least 1")
    one_sentence(bmaml("rl", "nowhere", "--out", other), "nowhere")
    one_sentence(bmaml("rl", "navigation", "--out", other, "--threads", 2), "navigation has none")
    assert not other.exists()
    one_sentence(
        bmaml("rl", "navigation", *longer, "--out", folder, *small, "--resume", "--seed", 3), "seed"
    )
    below = picture / "deeper.png"
    one_sentence(bmaml("evaluate", folder, "--render", below), "is a file, so nothing can be drawn")
    one_sentence(bmaml("evaluate", folder, "--support-rows", 3), "--support-rows is for runs on data")
    for checkpoint in (folder / "checkpoints").glob("*/*"):
        shutil.rmtree(checkpoint) if checkpoint.is_dir() else checkpoint.unlink()
    one_sentence(bmaml("evaluate", folder), "damaged")
