"""A prediction in one line."""

from typing import Any


def told(prediction: Any) -> str:
    """The kind of a prediction, how many particles made it, and the shapes of its arrays.

    >>> import numpy as np
    >>> from bmaml.predictive import RegressionPrediction
    >>> told(RegressionPrediction(np.zeros((10, 50, 1)), np.ones(10)))
    'RegressionPrediction(particles=10, means=(10, 50, 1), noise_variances=(10,))'
    """
    # Transformations of JAX put other things where arrays were.
    shapes = {name: getattr(part, "shape", part) for name, part in prediction._asdict().items()}
    first = next(iter(shapes.values()))
    if isinstance(first, tuple) and first:
        shapes = {"particles": first[0], **shapes}
    parts = ", ".join(f"{name}={shape}" for name, shape in shapes.items())
    return f"{type(prediction).__name__}({parts})"
