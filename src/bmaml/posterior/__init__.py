"""log p(θ | D): one likelihood or prior per file."""

from bmaml.posterior.categorical import Categorical
from bmaml.posterior.cross_entropy import CrossEntropy
from bmaml.posterior.flat_prior import FlatPrior
from bmaml.posterior.gamma import Gamma
from bmaml.posterior.gaussian_likelihood import GaussianLikelihood
from bmaml.posterior.gaussian_prior import GaussianPrior
from bmaml.posterior.likelihood import Likelihood
from bmaml.posterior.particle import Particle
from bmaml.posterior.posterior import Posterior
from bmaml.posterior.prior import Prior
from bmaml.posterior.squared_error import SquaredError

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "gaussian": GaussianLikelihood,
    "categorical": Categorical,
    "cross_entropy": CrossEntropy,
    "squared_error": SquaredError,
}
PRIORS: dict[str, type[Prior]] = {
    "gaussian": GaussianPrior,
    "flat": FlatPrior,
}

__all__ = [
    "LIKELIHOODS",
    "PRIORS",
    "Categorical",
    "CrossEntropy",
    "FlatPrior",
    "Gamma",
    "GaussianLikelihood",
    "GaussianPrior",
    "Likelihood",
    "Particle",
    "Posterior",
    "Prior",
    "SquaredError",
]
