"""What particles predict of classes: p(y | x, D) ≈ 1/M Σ_m softmax(f_m(x))."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from bmaml.predictive.labels import Labels, check_integers, pick
from bmaml.predictive.square_root import square_root
from bmaml.predictive.told import told


class ClassificationPrediction(NamedTuple):
    r"""An equal-weight mixture of class probabilities at every row, one for each particle.

    .. math:: p(y = c \mid x, D) \approx \frac1M \sum_{m=1}^M \mathrm{softmax}(f_m(x))_c

    Exact to rounding however large the logits are; a logit of −∞ rules a class out. The prediction
    is of one task: the first axis of `logits` is always the particles, so batch over tasks with `vmap`.

    Arguments:
        logits: f_m(x), the particles first, the C ≥ 2 classes last, rows of any shape between.

    >>> prediction = ClassificationPrediction(jnp.log(jnp.array([[[0.9, 0.1]], [[0.5, 0.5]]])))
    >>> prediction.probabilities, prediction.labels
    (Array([[0.7, 0.3]], dtype=float32), Array([0], dtype=int32))
    """

    logits: Float[Array, "particles *rows classes"]

    def __repr__(self) -> str:
        """In one line: the shapes, not the numbers."""
        return told(self)

    @property
    def samples(self) -> Float[Array, "particles *rows classes"]:
        """Each particle's own probabilities softmax(f_m(x)), the particles first."""
        return jax.nn.softmax(self._checked(), axis=-1)

    @property
    def probabilities(self) -> Float[Array, "*rows classes"]:
        """p̄ = 1/M Σ_m softmax(f_m(x))."""
        return jnp.mean(self.samples, axis=0)

    @property
    def log_probabilities(self) -> Float[Array, "*rows classes"]:
        """log p̄, precise where p̄ itself is too small for a number; never above zero."""
        return _log_mean_exp(self._log_samples())

    @property
    def labels(self) -> Int[Array, "*rows"]:
        """The most probable class at each row, argmax_c p̄_c; the first of equals."""
        return jnp.argmax(self.probabilities, axis=-1).astype(jnp.int32)

    @property
    def particle_labels(self) -> Int[Array, "particles *rows"]:
        """The class that each particle by itself finds most probable."""
        return jnp.argmax(self._checked(), axis=-1).astype(jnp.int32)

    @property
    def confidence(self) -> Float[Array, "*rows"]:
        """The probability of the most probable class, max_c p̄_c, from 1/C to 1."""
        return jnp.max(self.probabilities, axis=-1)

    @property
    def margin(self) -> Float[Array, "*rows"]:
        """How far the most probable class is ahead of the second, from 0 to 1."""
        best = jax.lax.top_k(self.probabilities, 2)[0]
        return best[..., 0] - best[..., 1]

    @property
    def epistemic_std(self) -> Float[Array, "*rows classes"]:
        """How much the particles disagree: the population std of their probabilities, zero for one."""
        return square_root(jnp.var(self.samples, axis=0))

    @property
    def entropy(self) -> Float[Array, "*rows"]:
        """H[y | x, D] = −Σ_c p̄_c log p̄_c, in nats, from 0 to log C: all uncertainty."""
        log_probabilities = self.log_probabilities
        return -_expect(log_probabilities, log_probabilities)

    @property
    def expected_entropy(self) -> Float[Array, "*rows"]:
        """1/M Σ_m H[y | x, θᵐ]: what would stay uncertain if the right particle were known."""
        log_samples = self._log_samples()
        return -jnp.mean(_expect(log_samples, log_samples), axis=0)

    @property
    def mutual_information(self) -> Float[Array, "*rows"]:
        r"""What y would tell of θ: `entropy` − `expected_entropy`, the particles' disagreement.

        .. math:: I[y; \theta \mid x, D] = \frac1M \sum_m \mathrm{KL}(p_m \,\|\, \bar p) \ge 0

        In this form it is exactly zero for particles that agree. BALD, Houlsby et al. 2011.
        """
        log_samples, log_probabilities = self._log_samples(), self.log_probabilities[None]
        # A class that is ruled out has −∞ on both sides, and no part in the sum.
        ratio = jnp.where(jnp.isneginf(log_samples), 0.0, log_samples - log_probabilities)
        return jnp.maximum(jnp.mean(_expect(log_samples, ratio), axis=0), 0.0)

    def sharpened(self, log_factor: ArrayLike) -> "ClassificationPrediction":
        """The same with every logit times e^log_factor: softmax(e^c f_m(x)).

        >>> prediction = ClassificationPrediction(jnp.log(jnp.array([[[0.8, 0.2]]])))
        >>> prediction.sharpened(jnp.log(2.0)).probabilities.round(2)
        Array([[0.94, 0.06]], dtype=float32)
        """
        logits = jnp.asarray(self.logits)
        return self._replace(logits=logits * jnp.exp(jnp.asarray(log_factor, logits.dtype)))

    def log_prob(self, y: Labels) -> Float[Array, "*rows"]:
        r"""The log probability of y.

        .. math:: \log p(y) = \log \frac1M \sum_m \mathrm{softmax}(f_m(x))_y

        Arguments:
            y: as in `targets`.

        Returns:
            log p(y) at each row; NaN for a label that is no class.

        >>> prediction = ClassificationPrediction(jnp.array([[[1e4, 0.0]], [[1e4, 0.0]]]))
        >>> prediction.log_prob(1)
        Array([-10000.], dtype=float32)
        """
        return pick(self.log_probabilities, self.targets(y))

    def targets(self, y: Labels) -> Int[Array, "*rows"]:
        """The labels y, one for each row.

        Arguments:
            y: labels 0..C−1 of exactly the rows' shape, or one Python integer for all of them.

        >>> ClassificationPrediction(jnp.zeros((1, 3, 2))).targets(1)
        Array([1, 1, 1], dtype=int32)
        """
        rows = self._checked().shape[1:-1]
        # Only a Python number spreads over rows: (n,) against (n, 1) would quietly become (n, n).
        if isinstance(y, int):
            return jnp.full(rows, y, jnp.int32)
        if y.shape != rows:
            raise ValueError(f"y has shape {y.shape}, but the prediction's rows have shape {rows}.")
        check_integers(y)
        return jnp.asarray(y).astype(jnp.int32)

    def _log_samples(self) -> Float[Array, "particles *rows classes"]:
        return jax.nn.log_softmax(self._checked(), axis=-1)

    def _checked(self) -> Float[Array, "particles *rows classes"]:
        logits = jnp.asarray(self.logits)
        if not jnp.issubdtype(logits.dtype, jnp.floating):
            raise ValueError(f"logits must be floating point, but is {logits.dtype}.")
        if logits.ndim < 2 or logits.shape[0] == 0 or logits.shape[-1] < 2:
            raise ValueError(
                "logits needs a first axis of at least one particle and a last axis of at least two "
                f"classes, but has shape {logits.shape}."
            )
        return logits


def _log_mean_exp(log_values: Float[Array, "particles *rest"]) -> Float[Array, "*rest"]:
    """log 1/M Σ_m exp(ℓ_m); the mean of equals is exact, as log Σ − log M would not be."""
    largest = jax.lax.stop_gradient(jnp.max(log_values, axis=0))
    ruled_out = jnp.isneginf(largest)
    shift = jnp.where(ruled_out, 0.0, largest)
    mean = jnp.mean(jnp.exp(log_values - shift[None]), axis=0)
    # The inner `where` keeps log 0 out of the derivative.
    return jnp.where(ruled_out, -jnp.inf, jnp.log(jnp.where(ruled_out, 1.0, mean)) + shift)


def _expect(log_p: Float[Array, "*rows classes"], values: Float[Array, "..."]) -> Float[Array, "*rows"]:
    """Σ_c p_c v_c, where a class of probability zero has no part even if its value is infinite."""
    return jnp.sum(jnp.exp(log_p) * jnp.where(jnp.isneginf(log_p), 0.0, values), axis=-1)
