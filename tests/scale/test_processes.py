"""Processes that train together: the same result, a sentence when one is gone, and going on."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from bmaml.cli import watched
from bmaml.errors import LOST_PROCESS, BmamlError, LostProcessError
from bmaml.recipe import Recipe
from bmaml.run_folder import read_description
from bmaml.scale import processes
from bmaml.scale.processes import Place, find_place
from bmaml.trained import Trained
from tests.scale.commands import (
    SINUSOID,
    finish,
    folder_of_second,
    goes_on,
    start,
    start_pair,
    survivor_of,
)
from tests.scale.small import TOLERANCE


def particles(folder):
    learner = Recipe.from_json(read_description(folder)).learner()
    last = Trained.load(folder, learner, "last")
    return last.step, np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(last.particles)])


def test_two_processes_train_as_one(tmp_path):
    assert finish(start(SINUSOID, tmp_path / "alone", "--steps=40"))[0] == 0
    first, second = start_pair(SINUSOID, tmp_path / "pair", "--steps=40")
    (code, told, errors), (other, nothing, _) = finish(first), finish(second)
    assert (code, other) == (0, 0), errors
    assert "Trained 40 updates" in told
    assert "experimental" not in errors, "the runtime's remarks are for its developers"
    assert "Trained" not in nothing, "only the first process speaks"
    assert not folder_of_second(tmp_path / "pair").exists(), "and only it writes"
    step, expected = particles(tmp_path / "alone")
    found_step, found = particles(tmp_path / "pair")
    assert found_step == step == 40
    np.testing.assert_allclose(found, expected, **TOLERANCE)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_process_ends_the_other_with_a_sentence_and_the_run_goes_on(tmp_path, victim):
    folder, long = tmp_path / "run", "--steps=100000"
    pair = start_pair(SINUSOID, folder, long)
    assert survivor_of(pair, folder, victim) == (1, [f"bmaml: {LOST_PROCESS}"])
    goes_on(SINUSOID, folder, long)


# What a process writes that has lost another, and how it ends: in its own words among those of the
# runtime's threads, by the runtime, or for a reason of its own.
@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (
            "print('E coordination_service: gone', file=sys.stderr); watched.end_after_loss()",
            LOST_PROCESS,
        ),
        ("sys.stderr.write('E coordination_service: gone' + 2 * chr(10)); os._exit(75)", LOST_PROCESS),
        ("os.abort()", LOST_PROCESS),
        ("sys.exit('bmaml: No such folder.')", "No such folder."),
    ],
)
def test_who_watches_speaks_for_a_process_that_lost_another(ending, told):
    child = [sys.executable, "-c", f"import os, sys; from bmaml.cli import watched; {ending}"]
    watch = f"import sys; from bmaml.cli import watched; sys.exit(watched.run({child!r}))"
    found = subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (1, f"bmaml: {told}\n")


@pytest.mark.parametrize(
    ("given", "environment", "place"),
    [
        (("a:1", 2, 1), {"SLURM_PROCID": "0"}, Place("a:1", 2, 1)),
        (("a:1",), {"SLURM_NTASKS": "4", "SLURM_PROCID": "3"}, Place("a:1", 4, 3)),
        (
            ("a:1",),
            {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"},
            Place("a:1", 2, 0),
        ),
        (("a:1", 3), {"PMI_SIZE": "2", "PMI_RANK": "1"}, Place("a:1", 3, 1)),
        (
            ("auto",),
            {"MASTER_ADDR": "b", "MASTER_PORT": "2", "WORLD_SIZE": "2", "RANK": "1"},
            Place("b:2", 2, 1),
        ),
        (("auto", 2, 0), {"JAX_COORDINATOR_ADDRESS": "c:3"}, Place("c:3", 2, 0)),
    ],
)
def test_launchers_tell_what_was_not_given(given, environment, place):
    assert find_place(*given, environment=environment) == place


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("nowhere", 2, 0), "'nowhere': give the first process's HOST:PORT"),
        (("a:b", 2, 0), "HOST:PORT"),
        (("a:99999", 2, 0), "HOST:PORT"),
        (("auto", 2, 0), "No launcher says where"),
        (("a:1", None, 0), "--num-processes is missing"),
        (("a:1", 2, None), "--process-id is missing"),
        (("a:1", 2, 2), "numbered 0 to 1"),
        (("a:1", 0, 0), "numbered 0 to -1"),
    ],
)
def test_a_place_that_cannot_be_gets_a_sentence(given, sentence):
    with pytest.raises(BmamlError, match=sentence):
        find_place(*given, environment={})


def test_only_what_tells_of_a_loss_is_taken_for_one(monkeypatch):
    with pytest.raises(ValueError, match="Gloo"), processes.noticing_loss():  # alone: a real bug
        raise ValueError("Gloo all-reduce failed")
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(LostProcessError, match="start all of them again"), processes.noticing_loss():
        raise ValueError("Gloo all-reduce failed")
    with pytest.raises(ValueError, match="shapes"), processes.noticing_loss():
        raise ValueError("shapes do not fit")


def test_a_process_alone_agrees_with_itself():
    tree = {"a": np.ones(2)}
    assert processes.agree(7, False) == (7, False)
    assert processes.of_first(tree) is tree
    assert processes.is_first()
    processes.leave()
    assert not watched.is_watched() or watched.VARIABLE in os.environ
