"""What a particle is: the weights of a network and the precisions that belong to them."""

from typing import NamedTuple

from jaxtyping import PyTree


class Particle(NamedTuple):
    """One sample θ of everything a posterior is over.

    `weights` are the network's; `likelihood` and `prior` hold what those two learn beside them, such
    as the log precisions log γ and log λ (an empty tuple where there is nothing).
    """

    weights: PyTree
    likelihood: PyTree
    prior: PyTree
