"""The paper's four methods by name, each an inner update and a meta-update.

`settings="paper"` is the mathematics of Kim et al. 2018, `settings="authors"` what their published code
does: its kernel, a trust region for each particle, and for the distances an unsquared norm.
"""

from collections.abc import Callable
from typing import NamedTuple

from bmaml.rl.inner import PolicyGradient, svpg, vpg
from bmaml.rl.kernels import authors_kernel
from bmaml.rl.meta import TRPO, Chaser, MetaUpdate, Reptile

# Adam's step under the distances, in the authors' code whatever it is asked for. The paper's meta step
# is TRPO's bound; as Adam's step it makes the weights wander (see docs/deviations.md).
ADAM_STEPS = {"svpg-chaser": 0.001, "vpg-reptile": 0.001}


class Method(NamedTuple):
    """A way to adapt and a way to learn from adaptations."""

    name: str
    inner: PolicyGradient
    meta: MetaUpdate


def vpg_trpo(step_size: float, meta_step_size: float, temperature: float, settings: str) -> Method:
    """MAML with one particle, EMAML with more: policy gradients apart, then TRPO for each."""
    return Method("vpg-trpo", vpg(step_size), TRPO(meta_step_size))


def svpg_trpo(step_size: float, meta_step_size: float, temperature: float, settings: str) -> Method:
    """Algorithm 5: SVPG, then TRPO of all particles."""
    meta = TRPO(meta_step_size, apart=settings == "authors")
    return Method("svpg-trpo", _svpg(step_size, temperature, settings), meta)


def svpg_chaser(step_size: float, meta_step_size: float, temperature: float, settings: str) -> Method:
    """Algorithm 6: SVPG, then the chaser loss."""
    meta = Chaser(meta_step_size, squared=settings != "authors")
    return Method("svpg-chaser", _svpg(step_size, temperature, settings), meta)


def vpg_reptile(step_size: float, meta_step_size: float, temperature: float, settings: str) -> Method:
    """Algorithm 7: policy gradients apart, then Reptile."""
    meta = Reptile(meta_step_size, squared=settings != "authors")
    return Method("vpg-reptile", vpg(step_size), meta)


def _svpg(step_size: float, temperature: float, settings: str) -> PolicyGradient:
    kernel = authors_kernel() if settings == "authors" else None
    return svpg(step_size, temperature=temperature, kernel=kernel)


METHODS: dict[str, Callable[[float, float, float, str], Method]] = {
    "vpg-trpo": vpg_trpo,
    "svpg-trpo": svpg_trpo,
    "svpg-chaser": svpg_chaser,
    "vpg-reptile": vpg_reptile,
}
