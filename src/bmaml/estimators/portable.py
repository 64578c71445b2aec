"""Compiled code that models of one configuration share, and what of a model can be pickled."""

import json
from dataclasses import fields, replace
from typing import Any

from bmaml.learner import Learner
from bmaml.recipe import Recipe
from bmaml.tables.model import TableModel
from bmaml.trained import Compiled, Trained

# Functions and what was compiled from them cannot be pickled; the recipe says how to make them again.
_LEFT_OUT = ("learner", "compiled")
# A search over many settings should not keep everything that was ever compiled.
MOST_CONFIGURATIONS = 32
# By configuration, the one used last at the end.
_cache: dict[str, tuple[Learner, Compiled]] = {}


def with_shared_code(model: TableModel) -> TableModel:
    """The same model, using what others with its method and network have compiled."""
    learner, compiled = _code(model.recipe)
    return replace(model, trained=replace(model.trained, learner=learner, compiled=compiled))


def pack(model: TableModel) -> dict[str, Any]:
    """The model as arrays and plain values."""
    kept = [field.name for field in fields(Trained) if field.name not in _LEFT_OUT]
    trained = {name: getattr(model.trained, name) for name in kept}
    return {"trained": trained, "encoding": model.encoding, "recipe": model.recipe}


def unpack(packed: dict[str, Any]) -> TableModel:
    """The model that `pack` took apart."""
    recipe, encoding = packed["recipe"], packed["encoding"]
    learner, compiled = _code(recipe)
    trained = Trained(learner=learner, compiled=compiled, **packed["trained"])
    return TableModel(trained=trained, encoding=encoding, recipe=recipe)


def _code(recipe: Recipe) -> tuple[Learner, Compiled]:
    configuration = (recipe.method, recipe.method_options, recipe.model_options, recipe.rows)
    key = json.dumps(configuration, sort_keys=True)
    code = _cache.pop(key, None)
    if code is None:
        learner = recipe.learner()
        code = learner, Compiled(learner)
    _cache[key] = code
    if len(_cache) > MOST_CONFIGURATIONS:
        del _cache[next(iter(_cache))]
    return code
