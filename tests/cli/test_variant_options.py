"""Variants on the command line: their names are those of the registries, and reach the preset."""

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from bmaml.cli.method_options import VARIANTS
from bmaml.cli.methods import Methods
from bmaml.cli.reproduce import ReproduceVariants
from bmaml.cli.train.sinusoid import TrainSinusoid
from bmaml.cli.train.training import MethodName, Train
from bmaml.distances import DISTANCES
from bmaml.errors import BmamlError
from bmaml.experiments.variants import SCALES
from bmaml.inner import INNER_UPDATES
from bmaml.kernels import KERNELS
from bmaml.meta.chaser import LEADER_ROWS
from bmaml.posterior import (
    LIKELIHOODS,
    PRIORS,
    FlatPrior,
    GaussianLikelihood,
    GaussianPrior,
    SquaredError,
)
from bmaml.presets import METHODS, options_of
from bmaml.recipe import Recipe


def command(method="bmaml", **options):
    return TrainSinusoid(out=Path("nowhere"), method=method, **options)


def test_the_command_line_knows_every_registered_name():
    assert get_args(MethodName) == tuple(METHODS)
    assert set(get_args(ReproduceVariants.__dataclass_fields__["scale"].type)) == set(SCALES)


def test_options_reach_the_preset_by_its_names():
    options = command(
        sampler="svgd", kernel="imq-learned", distance="mmd", learned_steps=True, particles=3
    ).method_options()
    assert options == {
        "num_particles": 3,
        "settings": "paper",
        "inner": "svgd",
        "kernel": "imq-learned",
        "distance": "mmd",
        "learned_steps": True,
    }
    learner = Recipe("sinusoid", "bmaml", options).learner()
    assert learner.inner.learned_steps
    assert type(learner.meta.distance) is type(DISTANCES["mmd"]())
    warm = command("bfa", sampler="hmc", temperature=0.1).method_options()
    assert Recipe("sinusoid", "bfa", warm).learner().inner.temperature == 0.1


def test_the_papers_leader_can_be_asked_for():
    options = command(leader_steps=1, leader_step_size=0.001).method_options()
    leader = Recipe("sinusoid", "bmaml", options).learner().meta
    assert (leader.leader_steps, leader.leader_step_size) == (1, 0.001)
    assert leader.leader_rows == "all"
    rows = get_args(get_args(get_type_hints(Train)["leader_rows"])[0])
    assert rows == LEADER_ROWS
    on_query = command(leader_rows="query").method_options()
    assert Recipe("sinusoid", "bmaml", on_query).learner().meta.leader_rows == "query"


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_takes_the_posterior_of_another(method):
    options = command(method, likelihood="gaussian", prior="gaussian").method_options()
    posterior = Recipe("sinusoid", method, options).learner().posterior
    assert (type(posterior.likelihood), type(posterior.prior)) == (GaussianLikelihood, GaussianPrior)
    options = command(method, likelihood="squared_error", prior="flat").method_options()
    posterior = Recipe("sinusoid", method, options).learner().posterior
    assert (type(posterior.likelihood), type(posterior.prior)) == (SquaredError, FlatPrior)


@pytest.mark.parametrize("option", ["sampler", "distance", "likelihood", "prior"])
def test_an_unknown_name_is_refused_with_those_that_there_are(option):
    registries = {"sampler": INNER_UPDATES, "distance": DISTANCES}
    registry = (registries | {"likelihood": LIKELIHOODS, "prior": PRIORS})[option]
    options = command(**{option: "bogus"}).method_options()
    with pytest.raises(BmamlError, match=f"'bogus': use one of {', '.join(registry)}"):
        Recipe("sinusoid", "bmaml", options).learner()


def test_without_variants_the_options_are_as_before():
    assert command("maml", particles=1).method_options() == {"settings": "paper"}
    assert command(step_size=0.1).method_options() == {"step_size": 0.1, "settings": "paper"}


@pytest.mark.parametrize(
    ("method", "options", "others"),
    [
        ("reptile", {"learned_steps": True}, "maml, fomaml, emaml, bfa, bmaml"),
        ("emaml", {"distance": "paired"}, "bmaml"),
        ("bfa", {"distance": "mmd"}, "bmaml"),
        ("emaml", {"prior_precision": 0.1}, "bfa, bmaml"),
    ],
)
def test_a_variant_that_a_method_lacks_is_refused_with_those_that_have_it(method, options, others):
    with pytest.raises(BmamlError, match=rf"{method} has no --.*that has it: {others}\.$"):
        command(method, **options).method_options()


@pytest.mark.parametrize("columns", ["80", "300"])
def test_the_list_of_methods_names_every_variant(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    Methods().run()
    printed = capsys.readouterr().out
    for name in (*INNER_UPDATES, *DISTANCES, *KERNELS):
        assert name in printed
    for name in VARIANTS:
        assert f"--{name.replace('_', '-')}" in printed
    assert all(method in printed for method in METHODS if "inner" in options_of(method))
