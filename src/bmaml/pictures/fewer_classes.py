"""A learner of N classes for tasks that have fewer."""

from dataclasses import replace
from typing import Any

from jaxtyping import Array

from bmaml.learner import Learner
from bmaml.models.model import Model
from bmaml.models.shared import SharedModel


def with_classes(learner: Learner, classes: int) -> Learner:
    r"""The same learner with the first `classes` outputs of its network alone.

    $$p(y = c \mid x, \theta) = \frac{e^{f_c(x)}}{\sum_{k < C} e^{f_k(x)}}$$

    It is as if the other logits were −∞: adaptation takes no notice of them, and each particle's
    probabilities, and so their entropy and disagreement, are those of C classes. The particles keep
    their shapes.
    """
    model = learner.posterior.model
    if isinstance(model, SharedModel):
        return _with_model(learner, model._replace(apply=_first(model.apply, classes)))
    return _with_model(learner, Model(model.init, _first(model.apply, classes)))


def _first(apply: Any, classes: int) -> Any:
    def apply_first(*arguments: Any) -> Array:
        return apply(*arguments)[..., :classes]

    return apply_first


def _with_model(learner: Learner, model: Model | SharedModel) -> Learner:
    return replace(learner, posterior=replace(learner.posterior, model=model))
