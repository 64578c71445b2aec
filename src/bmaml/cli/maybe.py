"""Options that may be left out, for which the help has words of its own."""

import types
from typing import Annotated, Any, TypeVar, Union

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    UnsupportedTypeAnnotationError,
)

Value = TypeVar("Value")
# None is the default, and the help says what that means: `(default: None)` would only be in the way.
Maybe = Annotated[Value | None, tyro.conf.arg(help_behavior_hint="")]

REGISTRY = ConstructorRegistry()


@REGISTRY.primitive_rule
def value_or_nothing(
    kind: PrimitiveTypeInfo,
) -> PrimitiveConstructorSpec | UnsupportedTypeAnnotationError | None:
    """An option that may be None takes a value of its type; None is what leaving it out means."""
    types_of: tuple[Any, ...] = getattr(kind.type, "__args__", ())
    if kind.type_origin not in (Union, types.UnionType) or type(None) not in types_of:
        return None
    given: Any = Union[tuple(one for one in types_of if one is not type(None))]  # noqa: UP007
    inner = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(given, kind.markers))
    if isinstance(inner, UnsupportedTypeAnnotationError):
        return inner
    return PrimitiveConstructorSpec(
        nargs=inner.nargs,
        metavar=inner.metavar,
        instance_from_str=inner.instance_from_str,
        is_instance=lambda value: value is None or inner.is_instance(value),
        str_from_instance=lambda value: ["None"] if value is None else inner.str_from_instance(value),
        choices=inner.choices,
    )
