import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml import particles as sets
from bmaml.kernels import (
    KERNELS,
    as_bandwidth,
    authors_rbf,
    fixed,
    imq,
    layers_of,
    median,
    rbf,
    share_of_distance,
)
from bmaml.kernels.kernel import SMALLEST_SHARE

ALL = pytest.mark.parametrize("name", list(KERNELS))
# All whose repulsion is the gradient of their values.
TRUE = pytest.mark.parametrize("name", [name for name in KERNELS if not name.startswith("authors")])


def network(seed=0, size=4):
    """A set of particles with two layers of different spread and a precision."""
    keys = jax.random.split(jax.random.key(seed), 4)
    return {
        "first": {
            "bias": 0.1 * jax.random.normal(keys[0], (size, 3)),
            "weight": jax.random.normal(keys[1], (size, 2, 3)),
        },
        "precision": jax.random.normal(keys[2], (size,)),
        "second": {"weight": 10.0 * jax.random.normal(keys[3], (size, 3))},
    }


def assert_same(left, right, rtol=1e-4, atol=1e-5):
    for one, other in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ["rbf", "imq"])
def test_repulsion_is_the_gradient_of_the_kernel(name):
    particles = jax.random.normal(jax.random.key(0), (4, 3))
    kernel = KERNELS[name](0.7)
    _, repulsion = kernel(sets.squared_distances(particles))

    def value(theta_j, theta_i):
        return kernel.profile(jnp.sum(jnp.square(theta_i - theta_j)) / 0.7)

    for i in range(4):
        for j in range(4):
            expected = jax.grad(value)(particles[j], particles[i])
            ours = repulsion[i, j] * (particles[i] - particles[j])
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


@TRUE
def test_push_is_the_gradient_of_the_values_at_the_same_bandwidths(name):
    """Σ_j ∇_{θʲ} k(θʲ, θⁱ), for every kernel, over a set with layers; also with learned factors."""
    particles, kernel = network(), KERNELS[name]()
    factors = kernel.init(particles)
    factors = factors if isinstance(factors, tuple) else factors + 0.3
    widths = kernel.bandwidths(kernel.squared_distances(particles), factors)

    @jax.jit
    def values(particles):
        return kernel.profile(kernel.scaled(kernel.squared_distances(particles), widths))

    interaction = jax.jit(kernel.on)(particles, factors)
    np.testing.assert_allclose(interaction.values, values(particles), rtol=1e-5)
    for i in range(4):
        # Of the sum over j, with θⁱ itself held where it is; k is 1 at zero distance whatever moves.
        gradient = jax.grad(lambda particles, i=i: jnp.sum(values(particles)[i]))(particles)
        others = jax.tree.map(lambda leaf, i=i: jnp.sum(leaf, axis=0) - leaf[i], gradient)
        assert_same(jax.tree.map(lambda leaf, i=i: leaf[i], interaction.apart), others)


@ALL
def test_kernel_is_symmetric_one_on_the_diagonal_and_positive_definite(name):
    values, _ = KERNELS[name]().on(network(seed=1, size=6))
    np.testing.assert_allclose(values, values.T, rtol=1e-6)
    np.testing.assert_allclose(jnp.diagonal(values), 1.0)
    assert np.all(np.linalg.eigvalsh(np.asarray(values, np.float64)) > -1e-6)


@ALL
@pytest.mark.parametrize("size", [1, 2, 5])
def test_coincident_particles_give_finite_values_and_gradients(name, size):
    kernel = KERNELS[name]()

    def total(particles, factors):
        values, apart = kernel.on(particles, factors)
        return jnp.sum(values) + sum(jnp.sum(leaf) for leaf in jax.tree.leaves(apart))

    particles = jax.tree.map(jnp.ones_like, network(size=size))
    value, gradient = jax.jit(jax.value_and_grad(total, argnums=(0, 1)))(
        particles, kernel.init(particles)
    )
    assert np.isfinite(value)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


@ALL
def test_on_a_set_without_layers_every_kernel_is_the_plain_one(name):
    """One leaf is one layer, and factors begin at one."""
    particles = jax.random.normal(jax.random.key(3), (5, 3))
    kernel, plain = KERNELS[name](), KERNELS[name.split("-l")[0]]()
    assert_same(
        kernel.on(particles, kernel.init(particles)),
        plain.on(particles),
        rtol=2e-5,  # initial bandwidths are kept as logarithms
        atol=1e-6,
    )
    values, repulsion = plain(sets.squared_distances(particles))
    spread = jnp.diag(jnp.sum(repulsion, axis=1)) - repulsion
    assert_same(plain.on(particles), (values, sets.mix(spread, particles)))


def test_layers_are_leaves_that_stand_together():
    particles = network()
    shapes = [[leaf.shape[1:] for leaf in layer] for layer in layers_of(particles)]
    assert shapes == [[(3,), (2, 3)], [()], [(3,)]]
    assert rbf(layers=True, learned=True).init(particles).shape == (3,)
    assert rbf(layers=True).init(particles) == ()


def test_layers_have_equal_votes_whatever_their_scale():
    particles = network()
    smaller = {**particles, "second": jax.tree.map(lambda leaf: 0.1 * leaf, particles["second"])}
    np.testing.assert_allclose(
        rbf(layers=True).on(smaller).values, rbf(layers=True).on(particles).values, rtol=1e-4, atol=1e-6
    )
    assert np.max(np.abs(rbf().on(smaller).values - rbf().on(particles).values)) > 0.01


def test_rbf_over_layers_is_the_geometric_mean_of_one_a_layer():
    particles = network()
    alone = [rbf().on(layer).values for layer in layers_of(particles)]
    np.testing.assert_allclose(
        rbf(layers=True).on(particles).values,
        jnp.prod(jnp.stack(alone), axis=0) ** (1 / 3),
        rtol=1e-4,
    )


def test_a_layer_in_which_particles_agree_does_not_drive_them_apart():
    """Precisions begin alike: a median of zero must not make their smallest difference a push."""
    particles = {**network(), "precision": 1e-5 * jnp.arange(4.0)}
    kernel = rbf(layers=True)
    distances = kernel.squared_distances(particles)
    whole = kernel.bandwidth(jnp.sum(distances, axis=0))
    np.testing.assert_allclose(kernel.bandwidths(distances)[1], SMALLEST_SHARE * whole, rtol=1e-5)
    assert np.max(np.abs(kernel.on(particles).apart["precision"])) < 1e-3


@pytest.mark.parametrize("profile", [rbf, imq])
@pytest.mark.parametrize("layers", [False, True])
def test_a_learned_bandwidth_is_the_rule_times_a_factor_with_a_gradient(profile, layers):
    particles, kernel = network(), profile(2.0, layers=layers, learned=True)
    factors = kernel.init(particles)
    wider = kernel.on(particles, factors + jnp.log(3.0))
    assert_same(wider, profile(6.0, layers=layers).on(particles), rtol=1e-5)
    assert_same(kernel.on(particles), kernel.on(particles, factors), rtol=1e-6)

    def total(factors):
        values, apart = kernel.on(particles, factors)
        return jnp.sum(values) + sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(apart))

    gradient = jax.jit(jax.grad(total))(factors)
    for index in np.ndindex(factors.shape):
        step = jnp.zeros_like(factors).at[index].set(1e-2)
        numeric = (total(factors + step) - total(factors - step)) / 2e-2
        np.testing.assert_allclose(gradient[index], numeric, rtol=5e-3, atol=1e-4)


def test_initial_bandwidths_are_those_of_the_first_particles_whatever_becomes_of_them():
    first, later = network(seed=0), network(seed=1)
    kernel = rbf("initial")
    kept = kernel.init(first)
    width = share_of_distance(sets.squared_distances(first))
    pairs = sets.squared_distances(first)[jnp.triu_indices(4, k=1)]
    np.testing.assert_allclose(width, 0.6 * np.median(pairs), rtol=1e-5)
    assert_same(kernel.on(later, kept), rbf(float(width)).on(later), rtol=1e-5)
    assert np.max(np.abs(kernel.on(later).values - kernel.on(later, kept).values)) > 1e-3
    # A constant, unless it is to be learned.
    gradient = jax.grad(lambda kept: jnp.sum(kernel.on(later, kept).values))
    assert gradient(kept) == 0
    learned = rbf("initial", learned=True)
    assert jax.grad(lambda kept: jnp.sum(learned.on(later, kept).values))(kept) != 0
    layers = imq("initial", layers=True)
    assert layers.init(first).shape == (3,)
    assert_same(layers.on(first, layers.init(first)), layers.on(first), rtol=1e-5)


def test_median_is_over_pairs_and_the_authors_median_over_all_entries():
    distances = jnp.array([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    np.testing.assert_allclose(median(distances), 4.0 / np.log(4.0), rtol=1e-6)
    np.testing.assert_allclose(authors_rbf().bandwidth(distances), 1.0 / np.log(3.0), rtol=1e-6)


def test_authors_repulsion_lacks_the_factor_two():
    distances = sets.squared_distances(jax.random.normal(jax.random.key(2), (5, 2)))
    bandwidth = float(authors_rbf().bandwidth(distances))
    np.testing.assert_allclose(
        authors_rbf()(distances).repulsion, 0.5 * rbf(bandwidth)(distances).repulsion, rtol=1e-5
    )


def test_bandwidth_is_a_constant_to_differentiation():
    def total(scale):
        return jnp.sum(rbf()(scale * jnp.array([[0.0, 1.0], [1.0, 0.0]])).values)

    # With the gradient through the median, scaling all distances would change nothing.
    assert abs(jax.grad(total)(jnp.asarray(1.0))) > 0.1


def test_a_kernel_of_layers_wants_the_distances_of_each():
    with pytest.raises(ValueError, match="each layer"):
        rbf(layers=True)(jnp.zeros((2, 2)))


def test_bad_bandwidths_are_refused():
    with pytest.raises(ValueError, match="positive"):
        fixed(0.0)
    with pytest.raises(ValueError, match="Unknown bandwidth"):
        as_bandwidth("mean")
