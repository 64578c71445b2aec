"""Fresh weights from a network that is already initialised."""

import jax
from jaxtyping import Array, Key, PyTree


def shuffle(key: Key[Array, ""], weights: PyTree[Array]) -> PyTree[Array]:
    """Shuffle the entries within each weight array.

    Particles must start apart, but a network that exists no longer says how it was initialised.
    Shuffling assumes nothing about it: entries that were drawn independently keep their
    distribution and scale, and constants (zero biases, unit scales) stay as they are.

    Limits: an initialiser whose entries depend on one another loses that (an orthogonal matrix does
    not stay orthogonal), an array of one entry does not change, and training is undone. Give
    `as_model` the function that builds the network instead, and each particle is built by it.

    Args:
        key: decides the order.
        weights: any pytree of arrays.

    Returns:
        Weights of the same structure, each array with the same entries in another order.

    >>> import jax.numpy as jnp
    >>> fresh = shuffle(jax.random.key(0), {"kernel": jnp.arange(6.0), "bias": jnp.zeros(3)})
    >>> jnp.sort(fresh["kernel"]).tolist(), fresh["bias"].tolist()
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.0, 0.0])
    """
    leaves, structure = jax.tree.flatten(weights)
    keys = jax.random.split(key, len(leaves))
    # Raveled first, because `permutation` on its own moves whole rows.
    shuffled = [
        jax.random.permutation(leaf_key, leaf.ravel()).reshape(leaf.shape)
        for leaf_key, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, shuffled)
