"""Networks of which all particles share one part and each has its own copy of the rest."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from bmaml.models.convert import as_model
from bmaml.models.model import Model


class SharedModel(NamedTuple):
    """A network in two parts: adaptation moves `own`, the meta-update moves both.

    `init_shared(key, example)` and `init_own(key, example)` draw the weights of either part; `example`
    is a batch of inputs. `encode(shared, x, statistics)` is all that can be computed before any
    particle is known; it runs once for each row of a task. It returns the encoded rows and the
    statistics they were normalised with: those it was given, or those of `x` itself if it was given
    None. `apply(shared, own, encoded)` finishes the work for one particle. With `transductive`,
    statistics are those of a task's support and query rows together.
    """

    init_shared: Callable[[Key[Array, ""], Any], PyTree]
    init_own: Callable[[Key[Array, ""], Any], PyTree]
    encode: Callable[[PyTree, Any, PyTree | None], tuple[Any, PyTree]]
    apply: Callable[[PyTree, PyTree, Any], Array]
    transductive: bool = False


def encode_task(
    model: SharedModel, shared: PyTree, support_x: Any, query_x: Any
) -> tuple[Any, Any, PyTree]:
    """The support and the query rows of one task, each encoded once, and the statistics used."""
    if model.transductive:
        rows = support_x.shape[0]
        together, statistics = model.encode(shared, jnp.concatenate([support_x, query_x]), None)
        return together[:rows], together[rows:], statistics
    support, statistics = model.encode(shared, support_x, None)
    query, _ = model.encode(shared, query_x, statistics)
    return support, query, statistics


@runtime_checkable
class Features(Protocol):
    """A feature extractor, such as `ConvFeatures`."""

    def init(self, key: Key[Array, ""], example: Any) -> PyTree:
        """Draw its weights."""
        ...

    def encode(self, weights: PyTree, x: Any, statistics: PyTree | None) -> tuple[Any, PyTree]:
        """Features of the rows of `x`, and the statistics used."""
        ...

    @property
    def transductive(self) -> bool:
        """Whether support and query rows are normalised together."""
        ...


class _Extractor(NamedTuple):
    """Any model as features, each row by itself."""

    model: Model
    transductive: bool = False

    def init(self, key: Key[Array, ""], example: Any) -> PyTree:
        return self.model.init(key, example)

    def encode(self, weights: PyTree, x: Any, statistics: PyTree | None) -> tuple[Any, PyTree]:
        return self.model.apply(weights, x), ()


def features_and_heads(features: Any, head: Any) -> SharedModel:
    """One feature extractor for all particles, and a head for each.

    The paper's network for images: a row passes the extractor once, whatever the number of particles
    and of inner steps; memory is O(features + M heads).

    Arguments:
        features: shared; any model (see `as_model`), or `Features` that keep statistics of a task.
        head: any model of the features (see `as_model`).
    """
    head_model = as_model(head)
    if not isinstance(features, Features):
        features = _Extractor(as_model(features))

    def init_own(key: Key[Array, ""], example: Any) -> PyTree:
        def encoded(example: Any) -> Any:
            return features.encode(features.init(jax.random.key(0), example), example, None)[0]

        shape = jax.eval_shape(encoded, example)
        return head_model.init(key, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape))

    return SharedModel(
        init_shared=features.init,
        init_own=init_own,
        encode=features.encode,
        apply=lambda shared, own, encoded: head_model.apply(own, encoded),
        transductive=features.transductive,
    )


def share(model: Any, parts: Sequence[str] | Callable[[str], bool]) -> SharedModel:
    """Share any part of any model between the particles.

    The whole model runs for every particle and step, since what is shared may stand anywhere in it. If
    it stands first, `features_and_heads` has it run once for each row.

    Arguments:
        model: anything that `as_model` takes.
        parts: the beginnings of the paths of the weights to share, such as `["[0]", "[1]"]` or
            `[".layers[0]"]` as `jax.tree_util.keystr` writes them; or a function that says of a path
            whether it is shared.
    """
    whole: Model = as_model(model)

    def is_shared(path: Any) -> bool:
        name = jax.tree_util.keystr(path)
        return parts(name) if callable(parts) else name.startswith(tuple(parts))

    def pick(weights: PyTree, shared: bool) -> PyTree:
        leaves = jax.tree.leaves_with_path(weights)
        chosen = {
            jax.tree_util.keystr(path): leaf for path, leaf in leaves if is_shared(path) == shared
        }
        if not chosen:
            names = ", ".join(jax.tree_util.keystr(path) for path, _ in leaves)
            what = "no part" if shared else "every part"
            raise ValueError(f"`parts` shares {what} of the model, whose weights are: {names}.")
        return chosen

    def init_own(key: Key[Array, ""], example: Any) -> PyTree:
        weights = whole.init(key, example)
        return pick(weights, False)

    def apply(shared: PyTree, own: PyTree, x: Any) -> Array:
        structure = jax.tree.structure(jax.eval_shape(lambda: whole.init(jax.random.key(0), x)))
        paths = jax.tree.leaves_with_path(jax.tree.unflatten(structure, range(structure.num_leaves)))
        both = {**shared, **own}
        leaves = [both[jax.tree_util.keystr(path)] for path, _ in paths]
        return whole.apply(jax.tree.unflatten(structure, leaves), x)

    return SharedModel(
        init_shared=lambda key, example: pick(whole.init(key, example), True),
        init_own=init_own,
        encode=lambda shared, x, statistics: (x, ()),
        apply=apply,
    )
