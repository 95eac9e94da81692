"""Tables by their address: what many functions share is written once and read where it is used.

Numba hands over a named tuple member by member, and the tables of named nodes have hundreds: a
call through a pointer would write all of them. Their address is one. Without the JIT the tables
are their own address.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.extending import lower_builtin, type_callable


class Tables(NamedTuple):
    """What the larger parts on named nodes are handed; the last are a score over nodes."""

    run: Any
    nodes: Any
    jobs: Any
    score: Any
    theta: Any


class Address(types.Type):  # type: ignore[misc]
    """Where tables stand, while the function that asked for it runs."""

    def __init__(self, *members: Any) -> None:
        self.of = types.NamedTuple(members, Tables)
        super().__init__(name=f"Address({self.of})")


register_default(Address)(models.OpaqueModel)


def address_of(run: Any, nodes: Any, jobs: Any, score: Any, theta: Any) -> Any:
    """Return where these stand, as `Tables`, until the function that calls this returns."""
    return Tables(run, nodes, jobs, score, theta)


def at(address: Any) -> Any:
    """Return the tables that stand at an address."""
    return address


@type_callable(address_of)
def _type_address_of(context: Any) -> Any:
    return lambda run, nodes, jobs, score, theta: Address(run, nodes, jobs, score, theta)


@lower_builtin(address_of, *[types.Any] * len(Tables._fields))
def _lower_address_of(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    tables = context.make_tuple(builder, signature.return_type.of, given)
    return builder.bitcast(cgutils.alloca_once_value(builder, tables), cgutils.voidptr_t)


@type_callable(at)
def _type_at(context: Any) -> Any:
    return lambda address: address.of


def _load(builder: Any, place: Any) -> Any:
    """Load a value member by member: what nobody uses is not loaded then."""
    kind = place.type.pointee
    if not isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        return builder.load(place)
    value = ir.Constant(kind, ir.Undefined)
    for i in range(len(kind.elements) if isinstance(kind, ir.LiteralStructType) else kind.count):
        member = cgutils.gep_inbounds(builder, place, 0, i)
        value = builder.insert_value(value, _load(builder, member), i)
    return value


@lower_builtin(at, Address)
def _lower_at(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    kind = context.get_value_type(signature.return_type)
    return _load(builder, builder.bitcast(given[0], kind.as_pointer()))
