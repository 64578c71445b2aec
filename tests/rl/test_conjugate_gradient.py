import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from bmaml.rl.meta.conjugate_gradient import solve


def matrix(size: int) -> jax.Array:
    root = jax.random.normal(jax.random.key(0), (size, size))
    return root @ root.T + jnp.eye(size)


def test_as_many_steps_as_dimensions_solve_exactly():
    # A leading axis of particles, one of them.
    target = {"a": jnp.array([[1.0, -2.0]]), "b": jnp.array([[0.5]])}
    flat, back = ravel_pytree(target)
    x, product = solve(lambda tree: back(matrix(3) @ ravel_pytree(tree)[0]), target, 3)
    solution = ravel_pytree(x)[0]
    np.testing.assert_allclose(solution, np.linalg.solve(matrix(3), flat), rtol=1e-4)
    np.testing.assert_allclose(ravel_pytree(product)[0], flat, rtol=1e-4)


def test_a_few_steps_tell_the_product_with_what_they_reached():
    target = jax.random.normal(jax.random.key(1), (1, 8))
    x, product = solve(lambda vector: vector @ matrix(8), target, 3)
    np.testing.assert_allclose(product, x @ matrix(8), rtol=1e-3, atol=1e-4)
    assert not np.allclose(product, target, rtol=0.01)


def test_it_stands_still_once_it_is_there_and_without_a_target():
    target = jnp.array([[3.0, 0.0]])
    np.testing.assert_allclose(solve(lambda vector: 2.0 * vector, target, 10).x, target / 2)
    nothing = solve(lambda vector: 2.0 * vector, jnp.zeros((1, 2)), 10)
    np.testing.assert_array_equal(nothing.x, np.zeros((1, 2)))
