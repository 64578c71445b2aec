"""What particles predict of numbers: p(y | x, D) ≈ 1/M Σ_m N(y; f_m(x), 1/γ_m)."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, ndtr, ndtri
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Key, Real

from bmaml.predictive.square_root import square_root
from bmaml.predictive.told import told

# Exactly one target for each entry of a prediction, or one number for all of them.
Targets = Real[Array | np.ndarray, "*rows"] | int | float


class RegressionPrediction(NamedTuple):
    r"""An equal-weight mixture of Gaussians at every row, one for each particle.

    .. math:: p(y \mid x, D) \approx \frac1M \sum_{m=1}^M N(y;\ f_m(x),\ 1/\gamma_m)

    Densities, quantiles and intervals are those of each entry by itself. The prediction is of one
    task: the first axis of `means` is always the particles, so batch over tasks with `vmap`.

    A noise variance below the square root of the smallest normal number (1e-19 in float32), zero
    included, counts as that number wherever a density is needed, which keeps noiseless particles
    finite; moments report it as given. A negative one gives NaN.

    Arguments:
        means: f_m(x), the particles first, then rows of any shape, such as `(rows, outputs)`.
        noise_variances: 1/γ_m. A scalar, one for each particle, or more axes; axes line up with
            those of `means` from the left, each of the same size or 1.

    >>> prediction = RegressionPrediction(jnp.array([[0.0], [2.0]]), jnp.array([0.25, 0.25]))
    >>> prediction.mean, prediction.variance
    (Array([1.], dtype=float32), Array([1.25], dtype=float32))
    """

    means: Float[Array, "particles *rows"]
    noise_variances: Float[Array, "*particles_or_scalar"]

    def __repr__(self) -> str:
        """In one line: the shapes, not the numbers."""
        return told(self)

    @property
    def samples(self) -> Float[Array, "particles *rows"]:
        """One function f_m(x) for each particle, the particles first: samples free of noise."""
        return self._aligned()[0]

    @property
    def mean(self) -> Float[Array, "*rows"]:
        """E[y] = 1/M Σ_m f_m(x)."""
        return jnp.mean(self._aligned()[0], axis=0)

    @property
    def variance(self) -> Float[Array, "*rows"]:
        """Var[y] = Var_m[f_m(x)] + 1/M Σ_m 1/γ_m, the law of total variance."""
        means, noise = self._aligned()
        return jnp.var(means, axis=0) + jnp.mean(noise, axis=0)

    @property
    def std(self) -> Float[Array, "*rows"]:
        """The standard deviation of y: disagreement and noise."""
        return square_root(self.variance)

    @property
    def epistemic_std(self) -> Float[Array, "*rows"]:
        """How much the particles disagree: the population std of f_m(x), zero for one particle."""
        return square_root(jnp.var(self._aligned()[0], axis=0))

    @property
    def noise_std(self) -> Float[Array, "*rows"]:
        """The noise that no data would remove: √(1/M Σ_m 1/γ_m)."""
        means, noise = self._aligned()
        return jnp.broadcast_to(square_root(jnp.mean(noise, axis=0)), means.shape[1:])

    @property
    def scales(self) -> Float[Array, "..."]:
        """The components' standard deviations, never zero; they broadcast against `means`."""
        _, noise = self._aligned()
        # √tiny: as small as it can be while squares of z-scores still fit, for residuals to 1e9.
        floor = math.sqrt(jnp.finfo(noise.dtype).tiny)
        # `where`, not `maximum`, whose derivative would multiply zero by an overflow.
        return jnp.sqrt(jnp.where((noise >= 0) & (noise < floor), floor, noise))

    def sharpened(self, log_factor: ArrayLike) -> "RegressionPrediction":
        """The same with every precision γ_m times e^log_factor.

        >>> RegressionPrediction(jnp.zeros((1, 1)), jnp.ones(1)).sharpened(math.log(4)).noise_std
        Array([0.5], dtype=float32)
        """
        noise = jnp.asarray(self.noise_variances)
        return self._replace(noise_variances=noise * jnp.exp(-jnp.asarray(log_factor, noise.dtype)))

    def draw(self, key: Key[Array, ""], count: int) -> Float[Array, "count *rows"]:
        r"""Draw y, noise included: m ~ Uniform{1..M}, then y ~ N(f_m(x), 1/γ_m).

        One particle makes all rows of a draw, so a draw is a whole noisy function.

        Arguments:
            key: a typed key, `jax.random.key(seed)`.
            count: how many draws.

        Returns:
            The draws, `(count, *rows)`.

        >>> prediction = RegressionPrediction(jnp.zeros((3, 5)), jnp.ones(3))
        >>> prediction.draw(jax.random.key(0), 7).shape
        (7, 5)
        """
        means, noise = self._aligned()
        particle_key, noise_key = jax.random.split(key)
        particle = jax.random.randint(particle_key, (count,), 0, means.shape[0])
        std = jnp.broadcast_to(square_root(noise), means.shape)
        white = jax.random.normal(noise_key, (count, *means.shape[1:]), means.dtype)
        return means[particle] + std[particle] * white

    def residuals(self, y: Targets) -> Float[Array, "particles *rows"]:
        """y − f_m(x), the particles first.

        Arguments:
            y: targets of exactly the rows' shape, or one Python number for all of them.

        Returns:
            The differences, `(particles, *rows)`, in the precision of the means.

        >>> RegressionPrediction(jnp.array([[0.0], [2.0]]), jnp.ones(2)).residuals(3.0)
        Array([[3.],
               [1.]], dtype=float32)
        """
        means, _ = self._aligned()
        rows = means.shape[1:]
        # Only a Python number spreads over rows: (n,) against (n, 1) would quietly become (n, n).
        if jnp.shape(y) != rows and not isinstance(y, int | float):
            raise ValueError(
                f"y has shape {jnp.shape(y)}, but the prediction's rows have shape {rows}."
            )
        return jnp.broadcast_to(jnp.asarray(y, means.dtype), (1, *rows)) - means

    def cdf(self, y: Targets) -> Float[Array, "*rows"]:
        r"""The probability of at most y.

        .. math:: F(y) = \frac1M \sum_m \Phi\left(\sqrt{\gamma_m}\,(y - f_m(x))\right)

        Arguments:
            y: as in `residuals`.

        Returns:
            F(y) at each row.

        >>> RegressionPrediction(jnp.array([[-1.0], [1.0]]), jnp.ones(2)).cdf(0.0)
        Array([0.5], dtype=float32)
        """
        return jnp.mean(ndtr(self.residuals(y) / self.scales), axis=0)

    def log_prob(self, y: Targets) -> Float[Array, "*rows"]:
        r"""The log density of y.

        .. math:: \log p(y) = \log \sum_m \exp \log N(y; f_m(x), 1/\gamma_m) - \log M

        Arguments:
            y: as in `residuals`.

        Returns:
            log p(y) at each row, finite far into the tails.

        >>> RegressionPrediction(jnp.zeros((2, 1)), jnp.ones(2)).log_prob(1e6)
        Array([-5.e+11], dtype=float32)
        """
        residuals, scale = self.residuals(y), self.scales
        components = -0.5 * jnp.square(residuals / scale) - jnp.log(scale)
        size, *rows = components.shape
        constant = 0.5 * math.log(2 * math.pi) + math.log(size)
        # Rows flat: exponentials along a last axis of one, as of most targets, are slow on a CPU.
        return logsumexp(components.reshape(size, -1), axis=0).reshape(rows) - constant

    def quantile(self, q: ArrayLike) -> Float[Array, "*rows"]:
        r"""The value that y stays below with probability q.

        .. math:: F^{-1}(q) = \inf \{y : F(y) \ge q\}

        Found by bisection, so exact to rounding; derivatives are those of the implicit function,
        dy = (dq − ∂F) / p(y). Where F is flat (between modes far apart) any value is a quantile.

        Arguments:
            q: one probability; a Python number must lie in (0, 1), an array gives ∓∞ at the ends
                and NaN beyond them.

        Returns:
            The quantile at each row.

        >>> prediction = RegressionPrediction(jnp.array([-1.0, 1.0]), jnp.ones(2))
        >>> print(f"{prediction.quantile(0.975):.3f}")
        2.646
        """
        _check_probability("q", q)
        # The upper tail is the lower tail of −y, where F is small and keeps its relative precision.
        tail = jnp.minimum(jnp.asarray(q, self.means.dtype), jnp.asarray(1 - q, self.means.dtype))
        sign = jnp.where(jnp.asarray(q) > 0.5, -1.0, 1.0).astype(self.means.dtype)
        return sign * _lower_quantile(self._replace(means=sign * self._aligned()[0]), tail)

    def interval(self, level: ArrayLike = 0.9) -> tuple[Float[Array, "*rows"], Float[Array, "*rows"]]:
        r"""The central interval that holds y with probability `level`.

        .. math:: [F^{-1}(\tfrac{1-\ell}{2}),\ F^{-1}(\tfrac{1+\ell}{2})]

        Arguments:
            level: ℓ, in (0, 1).

        Returns:
            The lower and the upper end at each row.

        >>> lower, upper = RegressionPrediction(jnp.zeros(1), jnp.ones(1)).interval(0.95)
        >>> print(f"{lower:.2f} {upper:.2f}")
        -1.96 1.96
        """
        _check_probability("level", level)
        tail = jnp.asarray((1 - level) / 2, self.means.dtype)
        mirrored = self._replace(means=-self._aligned()[0])
        return _lower_quantile(self, tail), -_lower_quantile(mirrored, tail)

    def covers(self, y: Targets, level: ArrayLike = 0.9) -> Bool[Array, "*rows"]:
        """Whether the central interval holds y: |F(y) − ½| ≤ ℓ/2, which needs no quantile.

        Arguments:
            y: as in `residuals`.
            level: ℓ, in (0, 1).

        Returns:
            True at each row whose interval holds its y.

        >>> RegressionPrediction(jnp.zeros((1, 2)), jnp.ones(1)).covers(jnp.array([1.9, 2.0]), 0.95)
        Array([ True, False], dtype=bool)
        """
        _check_probability("level", level)
        return jnp.abs(self.cdf(y) - 0.5) <= jnp.asarray(level / 2, self.means.dtype)

    def _aligned(self) -> tuple[Float[Array, "particles *rows"], Float[Array, "..."]]:
        """The means, and the noise variances with as many axes."""
        means = jnp.asarray(self.means)
        # Noise takes the means' type, and as an integer it would be cut to zero.
        if not jnp.issubdtype(means.dtype, jnp.floating):
            raise ValueError(f"means must be floating point, but is {means.dtype}.")
        noise = jnp.asarray(self.noise_variances, means.dtype)
        if means.ndim == 0 or means.shape[0] == 0:
            raise ValueError(
                f"means needs a first axis of at least one particle, but has shape {means.shape}."
            )
        shape = noise.shape + (1,) * (means.ndim - noise.ndim)
        if len(shape) != means.ndim or any(
            size not in (1, full) for size, full in zip(shape, means.shape, strict=True)
        ):
            raise ValueError(
                f"noise_variances of shape {noise.shape} does not line up from the left with means"
                f" of shape {means.shape}."
            )
        return means, noise.reshape(shape)


# Compiled here, since the loop would otherwise compile anew at every call outside `jit`.
@jax.jit
def _lower_quantile(prediction: RegressionPrediction, tail: Float[Array, ""]) -> Float[Array, "*rows"]:
    """The quantile at `tail`, by bisection between the components' smallest and largest."""
    fixed, fixed_tail = jax.lax.stop_gradient((prediction, tail))
    # At the smallest of the components' quantiles no component exceeds q, at the largest none
    # falls short: the mixture's lies between.
    ends = fixed._aligned()[0] + ndtri(fixed_tail) * fixed.scales

    def halve(_, bracket):
        lower, upper = bracket
        middle = 0.5 * lower + 0.5 * upper
        below = fixed.cdf(middle) < fixed_tail
        return jnp.where(below, middle, lower), jnp.where(below, upper, middle)

    # A mantissa's bits reach rounding at the size of the bracket; forty more reach it where the
    # answer is 1e12 times smaller.
    steps = jnp.finfo(ends.dtype).nmant + 41
    bracket = (jnp.min(ends, axis=0), jnp.max(ends, axis=0))
    _, root = jax.lax.fori_loop(0, steps, halve, bracket)

    # Adds zero to the value and the implicit function's derivative to the gradient.
    excess = prediction.cdf(root) - tail
    density = jnp.maximum(jnp.exp(fixed.log_prob(root)), jnp.finfo(root.dtype).tiny)
    return root - (excess - jax.lax.stop_gradient(excess)) / density


def _check_probability(name: str, value: ArrayLike) -> None:
    """Reject a Python number outside (0, 1); an array's value may be traced, so only its shape."""
    if jnp.shape(value) != ():
        raise ValueError(
            f"{name} must be one probability, but has shape {jnp.shape(value)}; vmap over several."
        )
    if isinstance(value, int | float) and not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, but is {value}.")
