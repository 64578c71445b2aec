import doctest
import inspect
import json
import re
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bmaml
from bmaml import presets
from bmaml.distances import DISTANCES
from bmaml.inner import INNER_UPDATES
from bmaml.kernels import KERNELS
from bmaml.presets import METHODS, options_of
from bmaml.recipe import Recipe
from tests.helpers import SMOOTH, initial_particles, tasks


def gradient(learner, particles):
    return jax.jit(jax.grad(learner.meta_loss))(particles, tasks())


def assert_same(left, right, rtol=1e-5):
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-6)


def test_maml_is_emaml_with_one_particle():
    maml, emaml = bmaml.maml(SMOOTH), bmaml.emaml(SMOOTH, num_particles=1)
    particles = initial_particles(maml)
    assert_same(gradient(maml, particles), gradient(emaml, particles))


def test_bfa_with_one_particle_is_maml_on_the_same_posterior():
    maml = bmaml.maml(SMOOTH, likelihood="gaussian", prior="gaussian", step_size=0.05)
    bfa = bmaml.bfa(SMOOTH, num_particles=1, step_size=0.05)
    particles = initial_particles(bfa)
    assert_same(gradient(bfa, particles), gradient(maml, particles))


def test_emaml_is_several_mamls():
    emaml, maml = bmaml.emaml(SMOOTH, num_particles=3), bmaml.maml(SMOOTH)
    particles = initial_particles(emaml)
    together = gradient(emaml, particles)
    for index in range(3):
        alone = jax.tree.map(lambda leaf, i=index: leaf[i : i + 1], particles)
        assert_same(
            jax.tree.map(lambda leaf, i=index: leaf[i : i + 1], together), gradient(maml, alone)
        )


def test_fomaml_is_first_order():
    """Its gradient is that of the validation loss at the adapted weights."""
    fomaml = bmaml.fomaml(SMOOTH)
    particles = initial_particles(fomaml)

    def at_adapted(task):
        adapted = fomaml.adapt(particles, task.support)
        loss = jax.grad(
            lambda p: jnp.sum(jax.vmap(fomaml.posterior.validation_loss, (0, None))(p, task.query))
        )
        return loss(adapted)

    expected = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), jax.vmap(at_adapted)(tasks()))
    assert_same(gradient(fomaml, particles), expected, rtol=1e-4)


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("settings", ["paper", "authors"])
def test_every_preset_has_both_settings_and_finite_gradients(name, settings):
    learner = METHODS[name](SMOOTH, settings=settings)
    leaves = jax.tree.leaves(gradient(learner, initial_particles(learner)))
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="Unknown likelihood"):
        bmaml.bmaml(SMOOTH, likelihood="poisson")
    with pytest.raises(ValueError, match="Unknown bandwidth"):
        bmaml.kernels.rbf("widest")


def test_every_variant_has_a_name_and_names_fit_into_a_recipe():
    """Composed by way of JSON, as from a run folder; the parts themselves have their own tests."""

    def composed(**options):
        recipe = Recipe("sinusoid", "bmaml", {"num_particles": 2, **options})
        return Recipe.from_json(json.loads(json.dumps(recipe.to_json()))).learner()

    for name, kind in INNER_UPDATES.items():
        inner = composed(inner=name, learned_steps=True).inner
        assert type(inner) is kind
        assert inner.learned_steps
        assert not composed(inner=name).inner.learns
    for name, make in DISTANCES.items():
        assert type(composed(distance=name).meta.distance) is type(make())
    for name in KERNELS:
        kernel = composed(kernel=name).inner.kernel
        assert (kernel.layers, kernel.learned) == ("layers" in name, "learned" in name)
    distances = 3.0 * jnp.ones((2, 2))
    assert composed(kernel="imq-layers-70").inner.kernel.bandwidth(distances) == 70.0
    assert composed().inner.kernel.bandwidth(distances) != 70.0
    assert composed(inner="sgld", temperature=0.5).inner.temperature == 0.5
    assert 0.0 < composed(inner="hmc").inner.temperature < 0.1


@pytest.mark.parametrize("method", list(METHODS))
def test_every_inner_update_goes_with_every_method(method):
    plain = METHODS[method](SMOOTH)
    for name, kind in INNER_UPDATES.items():
        learner = METHODS[method](SMOOTH, inner=name, step_size=0.02)
        assert type(learner.inner) is kind
        assert learner.inner.step_size == 0.02
        assert learner.inner.first_order == plain.inner.first_order
        assert type(learner.meta) is type(plain.meta)
        assert type(learner.posterior.likelihood) is type(plain.posterior.likelihood)


@pytest.mark.parametrize(("method", "options"), [("emaml", {}), ("bmaml", {"kernel": "rbf-learned"})])
def test_what_a_preset_learns_has_a_gradient(method, options):
    learner = METHODS[method](SMOOTH, num_particles=2, learned_steps=True, **options)
    learned = gradient(learner, initial_particles(learner)).inner
    assert set(learned) == {"log_steps", *(["log_bandwidths"] if options else [])}
    for leaf in (*jax.tree.leaves(learned["log_steps"].weights), learned.get("log_bandwidths", 1.0)):
        assert np.all(np.isfinite(leaf))
        assert np.all(leaf != 0)


@pytest.mark.parametrize("method", METHODS)
def test_the_meta_step_size_is_adams_and_all_else_of_it_stays(method):
    default = METHODS[method](SMOOTH).optimizer
    smaller = METHODS[method](SMOOTH, meta_step_size=1e-4).optimizer
    assert (default.step_size, smaller.step_size) == (1e-3, 1e-4)
    assert replace(smaller, step_size=1e-3) == default
    with pytest.raises(ValueError, match=r"meta_step_size is -1\.0; it must be"):
        METHODS[method](SMOOTH, meta_step_size=-1.0)


def test_one_particle_is_what_maml_has():
    with pytest.raises(TypeError, match="maml has one particle: leave out num_particles"):
        bmaml.maml(SMOOTH, num_particles=3)


def test_options_of_a_method_are_those_of_its_signature():
    assert "learned_steps" in options_of("maml")
    assert "num_particles" not in options_of("fomaml")
    assert "distance" in options_of("bmaml")
    assert "distance" not in options_of("bfa")
    assert "learned_steps" not in options_of("reptile")


ARGUMENT = re.compile(r"^ {4}(\w+): ", re.MULTILINE)


@pytest.mark.parametrize("name", METHODS)
def test_help_describes_every_argument_or_says_where_it_is_described(name):
    """What is said elsewhere holds here, too: an argument of another default is described again."""
    told, preset = inspect.getdoc(METHODS[name]) or "", METHODS[name]
    described, own = (set(ARGUMENT.findall(text)) for text in (inspect.getdoc(bmaml.bmaml) or "", told))
    assert described >= {"model", *options_of("bmaml")} - {"options"}
    if list(inspect.signature(preset).parameters) == ["model", "options"]:
        assert own == {"model", "options"}
        assert "`emaml`" in told
        return
    defaults, usual = (
        {one.name: one.default for one in inspect.signature(each).parameters.values()}
        for each in (preset, bmaml.bmaml)
    )
    assert own <= set(defaults)
    assert set(defaults) <= own | (described if "those of `bmaml`" in told else set())
    assert {key for key, value in defaults.items() if value != usual[key]} <= own


def test_what_help_shows_is_what_happens():
    found = doctest.DocTestFinder().find(presets)
    examples = [one for one in found if one.examples]
    assert len(examples) >= 4
    assert not [one.name for one in examples if doctest.DocTestRunner().run(one).failed]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"inner": "sgld", "kernel": "rbf"}, "'sgld' has no kernel: leave it out"),
        ({"temperature": 0.1}, "'svgd' has no temperature: leave it out"),
        ({"inner": "adam"}, "Unknown inner update 'adam': use one of gd, svgd"),
        ({"distance": "far"}, "Unknown distance 'far': use one of paired"),
        ({"kernel": "cubic"}, "Unknown kernel 'cubic': use one of rbf"),
        ({"kernel": "rbf-wide"}, "Unknown kernel 'rbf-wide'"),
        ({"kernel": "rbf-0"}, "Unknown kernel 'rbf-0'"),
        ({"kernel": "authors-rbf-3"}, "Unknown kernel 'authors-rbf-3'"),
        ({"prior": "flat", "prior_precision": 0.1}, "prior_precision is that of the Gaussian prior"),
    ],
)
def test_variants_that_do_not_exist_or_go_together_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        bmaml.bmaml(SMOOTH, **options)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("num_particles", 0),
        ("inner_steps", 0),
        ("inner_steps", -2),
        ("step_size", 0.0),
        ("step_size", -0.1),
        ("step_size", float("nan")),
        ("step_size", float("inf")),
        ("leader_steps", 0),
        ("leader_step_size", 0.0),
        ("leader_step_size", -1.0),
        ("prior_precision", 0.0),
        ("prior_precision", float("nan")),
    ],
)
def test_numbers_that_mean_nothing_are_refused_by_name(option, value):
    for method in METHODS:
        if option in options_of(method):
            with pytest.raises(ValueError, match=rf"{option} is {value!r}; it must be"):
                METHODS[method](SMOOTH, **{option: value})


@pytest.mark.parametrize("kind", [bmaml.posterior.GaussianLikelihood, bmaml.posterior.GaussianPrior])
def test_precisions_are_positive(kind):
    with pytest.raises(ValueError, match=r"initial_precision is -1\.0"):
        kind(initial_precision=-1.0)


@pytest.mark.parametrize("method", ["bfa", "bmaml"])
def test_a_prior_precision_changes_the_initial_precision_alone(method):
    usual, weak = METHODS[method](SMOOTH), METHODS[method](SMOOTH, prior_precision=0.003)
    assert weak.posterior.prior == replace(usual.posterior.prior, initial_precision=0.003)
    authors = METHODS[method](SMOOTH, prior_precision=0.5, settings="authors").posterior.prior
    assert authors == bmaml.posterior.GaussianPrior(0.5, step_scale=0.01)


@pytest.mark.parametrize("targets", ["numbers", "labels"])
@pytest.mark.parametrize("method", ["emaml", "bfa", "bmaml"])
def test_naming_a_default_changes_nothing(method, targets):
    usual = METHODS[method](SMOOTH, targets=targets)
    point = {"numbers": "squared_error", "labels": "cross_entropy"}[targets]
    full = {"numbers": "gaussian", "labels": "categorical"}[targets]
    names = {"likelihood": point} if method == "emaml" else {"likelihood": full, "prior": "gaussian"}
    assert METHODS[method](SMOOTH, targets=targets, **names).describe() == usual.describe()


def test_a_prior_that_is_given_is_not_replaced_by_the_authors():
    given = bmaml.posterior.GaussianPrior()  # the default of the paper's settings
    assert bmaml.bmaml(SMOOTH, prior=given, settings="authors").posterior.prior == given


UNKNOWN_SETTINGS = """
from bmaml.models import mlp
from bmaml.presets import METHODS

for preset in METHODS.values():
    try:
        preset(mlp(1, 1), settings="papers")
    except ValueError as error:
        print(error)
"""


def test_unknown_settings_are_refused_with_those_that_there_are():
    # In a process of its own: here the checker of types would be first.
    told = subprocess.run(
        [sys.executable, "-c", UNKNOWN_SETTINGS], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told == ["Unknown settings 'papers': use 'paper' or 'authors'."] * len(METHODS)


def test_a_description_is_plain_and_tells_learners_apart():
    learners = [
        bmaml.bmaml(SMOOTH),
        bmaml.bmaml(SMOOTH, step_size=0.1),
        bmaml.bmaml(SMOOTH, kernel="imq"),
        bmaml.bmaml(SMOOTH, leader_steps=2),
        bmaml.bmaml(SMOOTH, prior_precision=1.0),
        bmaml.bmaml(SMOOTH, settings="authors"),
        *(preset(SMOOTH) for name, preset in METHODS.items() if name != "bmaml"),
    ]
    described = [json.dumps(learner.describe()) for learner in learners]
    assert len(set(described)) == len(learners)
    assert json.dumps(bmaml.bmaml(SMOOTH).describe()) == described[0]
    assert " at 0x" not in "".join(described)
