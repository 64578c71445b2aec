"""Every meta-update: finite, exact in its gradients, and true to its own definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.distances import paired_squared
from bmaml.kernels import rbf
from bmaml.rl import Settings
from bmaml.rl.inner import svpg, vpg
from bmaml.rl.kernels import authors_kernel
from bmaml.rl.meta import TRPO, Chaser, Reptile
from bmaml.rl.meta.trust_region import Problem, company_of
from bmaml.rl.play import Player
from bmaml.rl.rollout import draw_tasks
from tests.helpers import as_float64
from tests.rl.small import ENVIRONMENT, POLICY, initial_particles, meta_batch

# A fixed bandwidth: the median is a constant to differentiation by design.
INNER = {"vpg": vpg(0.1), "svpg": svpg(0.1, temperature=0.5, kernel=rbf(3.0))}
UPDATES = {"trpo": TRPO(), "chaser": Chaser(0.01), "reptile": Reptile(0.01)}
ALL_INNER = pytest.mark.parametrize("inner", list(INNER))
# Of three particles, through a bandwidth that depends on them.
AUTHORS = svpg(0.1, temperature=0.1, kernel=authors_kernel())


def leaves_equal(left, right):
    return all(
        np.array_equal(one, two)
        for one, two in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    )


def run(update, inner, particles, batch):
    step = jax.jit(lambda these, state, data: update.update(POLICY, inner, these, state, data))
    return step(particles, update.init(particles), batch)


def directional(function, point, direction, size=1e-5):
    def at(share):
        return jax.tree.map(lambda leaf, move: leaf + share * move, point, direction)

    return (function(at(size)) - function(at(-size))) / (2 * size)


def inner_product(left, right):
    return sum(
        jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    )


def distance_to_leaders(inner, particles, batch, squared=True):
    """The chaser loss as a function of the particles, its leaders where `particles` would lead."""

    def chaser(these, task):
        return inner.run(POLICY, these, task.support)

    leaders = jax.vmap(lambda task: inner.step(POLICY, chaser(particles, task), task.query))(batch)

    def loss(these):
        distances = jax.vmap(lambda task, leader: paired_squared(chaser(these, task), leader))(
            batch, leaders
        )
        return jnp.mean(jnp.sum(distances if squared else jnp.sqrt(distances), axis=1))

    return loss


@ALL_INNER
@pytest.mark.parametrize("name", list(UPDATES))
def test_an_update_is_finite_and_moves(name, inner):
    particles = initial_particles(2)
    moved, _, report = run(UPDATES[name], INNER[inner], particles, meta_batch(3, 2))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(moved))
    assert report.finite
    assert not leaves_equal(moved, particles)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("inner", [*INNER.values(), AUTHORS], ids=[*INNER, "svpg-authors"])
def test_the_surrogates_gradient_matches_finite_differences(inner, steps):
    with jax.enable_x64(True):
        particles = as_float64(initial_particles(3))
        batch = as_float64(meta_batch(2, 3, inner_steps=steps))
        direction = as_float64(initial_particles(3, seed=7))
        # The old policies stay where they were, elsewhere than the point of differentiation.
        problem = Problem.together(POLICY, inner, as_float64(initial_particles(3, seed=3)), batch)
        gradient = jax.jit(jax.grad(lambda these: problem.loss(these)[0]))(particles)
        loss = jax.jit(lambda these: problem.loss(these)[0])
        expected = directional(loss, particles, direction)
        np.testing.assert_allclose(inner_product(gradient, direction), expected, rtol=1e-6)


@pytest.mark.parametrize("inner", [*INNER.values(), AUTHORS], ids=[*INNER, "svpg-authors"])
def test_curvature_products_are_those_of_the_divergences_hessian(inner):
    with jax.enable_x64(True):
        particles = as_float64(initial_particles(3))
        batch = as_float64(meta_batch(2, 3))
        vector = as_float64(initial_particles(3, seed=7))
        problem = Problem.together(POLICY, inner, particles, batch)
        require_exact_product(problem, particles, vector)


@pytest.mark.parametrize("method", ["svpg-trpo", "vpg-trpo", "svpg-chaser"])
def test_gradients_on_episodes_of_a_tiny_environment_match_finite_differences(method):
    """Played, judged and adapted as in training; the episodes are then held still."""
    settings = Settings("navigation", method, particles=2, tasks=2, episodes=3)
    player = Player(ENVIRONMENT, POLICY, settings.build_method(), settings)
    tasks = draw_tasks(ENVIRONMENT, jax.random.key(0), 2)
    played = player(initial_particles(2), tasks, jax.random.key(1)).batch
    inner = INNER[method.split("-")[0]]
    with jax.enable_x64(True):
        particles, direction = (as_float64(initial_particles(2, seed=seed)) for seed in (0, 7))
        batch = as_float64(played)
        if method == "svpg-chaser":
            judged = Chaser()
            loss = distance_to_leaders(inner, particles, batch)
            gradient = jax.jit(
                jax.grad(lambda these: judged.loss(POLICY, inner, these, batch)),
            )(particles)
        else:
            problem = Problem.together(POLICY, inner, particles, batch)

            def loss(these):
                return problem.loss(these)[0]

            gradient = jax.jit(jax.grad(loss))(particles)
        expected = directional(jax.jit(loss), particles, direction)
        assert abs(expected) > 1e-6
        np.testing.assert_allclose(inner_product(gradient, direction), expected, rtol=1e-5)


def require_exact_product(problem, particles, vector, size=1e-5):
    """The product is how the gradient of the divergence changes along the vector."""
    product = jax.jit(problem.curvature_product)(particles, vector)
    slope = jax.jit(jax.grad(lambda these: problem.loss(these)[1]))
    ahead, behind = (
        slope(jax.tree.map(lambda leaf, move, sign=sign: leaf + sign * size * move, particles, vector))
        for sign in (1, -1)
    )
    for one, plus, minus in zip(*map(jax.tree.leaves, (product, ahead, behind)), strict=True):
        np.testing.assert_allclose(one, (plus - minus) / (2 * size), atol=1e-7)


@ALL_INNER
@pytest.mark.parametrize("bound", [0.1, 0.001])
def test_the_divergence_stays_within_its_bound_and_the_surrogate_rises(inner, bound):
    particles, batch = initial_particles(3), meta_batch(3, 3)
    problem = Problem.together(POLICY, INNER[inner], particles, batch)
    before, _ = problem.loss(particles)
    moved, _, report = run(TRPO(bound), INNER[inner], particles, batch)
    after, divergence = problem.loss(moved)
    assert report.accepted > 0
    assert 0 < divergence <= bound * (1 + 1e-4)
    assert after < before
    np.testing.assert_allclose(report.divergence, divergence, rtol=1e-2)


@ALL_INNER
def test_a_rejected_step_leaves_the_particles_as_they_were(inner):
    particles, batch = initial_particles(2), meta_batch(2, 2)
    # Advantages of nothing but NaN: no step can be an improvement.
    spoilt = batch._replace(query=batch.query._replace(advantages=batch.query.advantages * jnp.nan))
    moved, _, report = run(TRPO(), INNER[inner], particles, spoilt)
    assert leaves_equal(moved, particles)
    assert report.accepted == 0
    assert not report.finite
    flat = batch._replace(query=batch.query._replace(advantages=0.0 * batch.query.advantages))
    moved, _, report = run(TRPO(), INNER[inner], particles, flat)
    assert leaves_equal(moved, particles)
    assert report.accepted == 0
    assert report.finite


def test_particles_that_adapt_apart_are_optimised_apart():
    """EMAML is M runs of MAML: the others do not matter to a particle's step."""
    with jax.enable_x64(True):  # Conjugate gradients magnify the rounding of float32.
        particles, batch = as_float64((initial_particles(3), meta_batch(2, 3)))
        together, _, _ = run(TRPO(), INNER["vpg"], particles, batch)
        own = jax.tree.map(lambda leaf: leaf[1:2], particles)
        alone, _, _ = run(TRPO(), INNER["vpg"], own, jax.tree.map(lambda leaf: leaf[:, 1:2], batch))
    for one, two in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(one[1:2], two, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("steps", [1, 2])
def test_one_particle_among_others_that_are_held(steps):
    """Its outputs are those of the whole set, its gradient is exact with the others held still."""
    with jax.enable_x64(True):
        inner = INNER["svpg"]
        particles, batch = as_float64((initial_particles(3), meta_batch(2, 3, inner_steps=steps)))
        company = company_of(POLICY, inner, particles, batch)
        whole = Problem.together(POLICY, inner, particles, batch)
        own = jax.tree.map(lambda leaf: leaf[1:2], particles)
        played = jax.tree.map(lambda leaf: leaf[:, 1:2], batch)
        problem = Problem.of_one(POLICY, inner, company, jnp.asarray(1), own, played)
        np.testing.assert_allclose(problem.old.mean, whole.old.mean[:, 1:2], atol=1e-12)

        require_exact_product(problem, own, as_float64(initial_particles(1, seed=8)))

        elsewhere = jax.tree.map(lambda leaf: leaf + 0.1, own)
        direction = as_float64(initial_particles(1, seed=7))
        loss = jax.jit(lambda these: problem.loss(these)[0])
        gradient = jax.jit(jax.grad(lambda these: problem.loss(these)[0]))(elsewhere)
        expected = directional(loss, elsewhere, direction)
        np.testing.assert_allclose(inner_product(gradient, direction), expected, rtol=1e-6)


def test_interacting_particles_can_have_a_region_each():
    particles, batch = initial_particles(3), meta_batch(3, 3)
    moved, _, report = run(TRPO(0.01, apart=True), INNER["svpg"], particles, batch)
    assert report.accepted == 1
    assert 0 < report.divergence <= 0.01
    assert not leaves_equal(moved, particles)


def test_a_gradient_that_is_not_finite_is_no_rejected_step():
    """The surrogate of one task is, and its gradient is not: the run has to be told."""
    particles, batch = initial_particles(1), meta_batch(1, 1)
    spoilt = batch.support[0]._replace(advantages=jnp.full_like(batch.support[0].advantages, 1e38))
    _, _, report = run(TRPO(), INNER["vpg"], particles, batch._replace(support=(spoilt,)))
    assert not report.finite


@ALL_INNER
@pytest.mark.parametrize("squared", [True, False])
def test_the_chasers_gradient_holds_the_leader_constant(inner, squared):
    with jax.enable_x64(True):
        particles = as_float64(initial_particles(2))
        batch = as_float64(meta_batch(2, 2))
        direction = as_float64(initial_particles(2, seed=7))
        update = Chaser(squared=squared)
        gradient = jax.jit(jax.grad(lambda these: update.loss(POLICY, INNER[inner], these, batch)))(
            particles
        )

        loss = jax.jit(distance_to_leaders(INNER[inner], particles, batch, squared))
        expected = directional(loss, particles, direction)
        np.testing.assert_allclose(inner_product(gradient, direction), expected, rtol=1e-6)


def test_reptile_pulls_towards_the_adapted_particles():
    particles, batch = initial_particles(2), meta_batch(2, 2)
    adapted = jax.vmap(lambda task: INNER["vpg"].run(POLICY, particles, task.support))(batch)
    gradient = jax.grad(lambda these: Reptile().loss(POLICY, INNER["vpg"], these, batch))(particles)
    for slope, start, end in zip(*map(jax.tree.leaves, (gradient, particles, adapted)), strict=True):
        np.testing.assert_allclose(slope, jnp.mean(2.0 * (start[None] - end), axis=0), atol=1e-5)


def test_a_chaser_at_its_leader_has_no_loss_and_a_finite_gradient():
    particles, batch = initial_particles(2), meta_batch(2, 2)
    still = batch._replace(query=batch.query._replace(weights=0.0 * batch.query.weights))
    update = Chaser(squared=False)
    loss, gradient = jax.value_and_grad(lambda these: update.loss(POLICY, INNER["vpg"], these, still))(
        particles
    )
    assert loss == 0
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))
