"""The multilayer perceptron of the paper's regression experiments."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Shaped

from bmaml.models.model import Model

# The bias scale of the paper's authors (their `bnn.py`).
BIAS_SCALE = 0.01

INITIALISERS = {
    "xavier": jax.nn.initializers.glorot_normal(),
    "xavier_uniform": jax.nn.initializers.glorot_uniform(),
    "he": jax.nn.initializers.he_normal(),
}


class Layer(NamedTuple):
    """The weights of one layer."""

    weight: Float[Array, "fan_in fan_out"]
    bias: Float[Array, " fan_out"]


def mlp(
    inputs: int | None,
    outputs: int,
    hidden: Sequence[int] = (40, 40, 40),
    activation: Callable[[Any], Any] = jax.nn.relu,
    initialisation: str | Callable[..., Any] = "xavier",
) -> Model:
    r"""A fully connected network with a linear last layer.

    $$h_0 = x, \qquad h_{l+1} = \phi(h_l W_l + b_l), \qquad y = h_L W_L + b_L$$

    The weights are a tuple of one `Layer(weight, bias)` per layer. (Folding the bias into the matrix
    would halve the number of leaves, but odd sizes such as 41×40 multiply slower than 40×40.)

    Args:
        inputs: numbers per example; None reads them off the example given to `init`.
        outputs: numbers predicted per example.
        hidden: the width of each hidden layer; `()` makes a linear model. The default, three layers
            of 40, is the paper's for sinusoids.
        activation: $\phi$, applied after every layer but the last.
        initialisation: how the weights are drawn: `"xavier"` (normal), `"xavier_uniform"` (same
            variance; what the paper's authors ran), `"he"`, or any of `jax.nn.initializers`. Biases
            are drawn from N(0, 0.01²).

    Returns:
        A `Model`; its `init` needs no example if `inputs` is given.

    >>> import jax
    >>> network = mlp(inputs=2, outputs=1, hidden=(40, 40))
    >>> weights = network.init(jax.random.key(0), None)
    >>> [layer.weight.shape for layer in weights]
    [(2, 40), (40, 40), (40, 1)]
    >>> network.apply(weights, jax.numpy.ones((5, 2))).shape
    (5, 1)

    Reference: Kim et al. 2018, Section 5.1; Glorot and Bengio 2010 for the initialisation.
    """
    later_sizes = (*hidden, outputs)
    if min(later_sizes) < 1 or (inputs is not None and inputs < 1):
        raise ValueError(
            f"mlp needs layers of at least one unit, but got the sizes {(inputs, *later_sizes)}."
        )
    draw = _initialiser(initialisation)

    def init(key: Key[Array, ""], example: Any = None) -> tuple[Layer, ...]:
        sizes = (example.shape[1] if inputs is None else inputs, *later_sizes)
        keys = jax.random.split(key, len(sizes) - 1)
        return tuple(
            _draw_layer(draw, layer_key, fan_in, fan_out)
            for layer_key, fan_in, fan_out in zip(keys, sizes[:-1], sizes[1:], strict=True)
        )

    def apply(
        weights: tuple[Layer, ...], x: Shaped[Array | np.ndarray, "..."]
    ) -> Float[Array, "rows outputs"]:
        expected = weights[0].weight.shape[0]
        if x.ndim != 2 or x.shape[1] != expected:
            raise ValueError(
                f"mlp expects inputs of shape (rows, {expected}), but got {x.shape}: reshape them to "
                "one row per example, or build the network with another `inputs`."
            )
        hidden_state = jnp.asarray(x)  # NumPy's float64 becomes the precision JAX runs at.
        *body, head = weights
        for layer in body:
            hidden_state = activation(_affine(layer, hidden_state))
        return _affine(head, hidden_state)

    return Model(init, apply)


def _initialiser(name: str | Callable[..., Any]) -> Callable[..., Any]:
    if callable(name):
        return name
    if name not in INITIALISERS:
        raise ValueError(
            f"mlp does not know the initialisation {name!r}: use one of {', '.join(INITIALISERS)}, "
            "or a function from jax.nn.initializers."
        )
    return INITIALISERS[name]


def _draw_layer(draw: Callable[..., Any], key: Key[Array, ""], fan_in: int, fan_out: int) -> Layer:
    weight_key, bias_key = jax.random.split(key)
    weight = draw(weight_key, (fan_in, fan_out))
    return Layer(weight, BIAS_SCALE * jax.random.normal(bias_key, (fan_out,), weight.dtype))


def _affine(layer: Layer, x: Float[Array, "rows fan_in"]) -> Float[Array, "rows fan_out"]:
    return x @ layer.weight + layer.bias[None, :]
