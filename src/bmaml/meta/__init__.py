"""Meta-objectives: one contract (`objective.py`), one file per member."""

from bmaml.meta.bfa import BFA
from bmaml.meta.chaser import Chaser
from bmaml.meta.objective import MetaObjective
from bmaml.meta.reptile import Reptile
from bmaml.meta.validation import Validation

META_OBJECTIVES: dict[str, type[MetaObjective]] = {
    "validation": Validation,
    "bfa": BFA,
    "chaser": Chaser,
    "reptile": Reptile,
}

__all__ = ["BFA", "META_OBJECTIVES", "Chaser", "MetaObjective", "Reptile", "Validation"]
