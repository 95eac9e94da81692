"""Tables by their address: what all parts of a kernel share is written once and read where used.

Numba hands over a named tuple member by member, and the tables of a run have hundreds: each call of
a part would write all of them, and each part would be compiled with all of them. Their address is
one. A member is loaded where it is asked for; none changes while the kernel runs, so the compiler
may load it once, later or never. Without the JIT tables are their own address.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_builtin, lower_getattr_generic, type_callable


class Tables(NamedTuple):
    """What the larger parts on named nodes are handed; the last are a score over nodes."""

    run: Any
    nodes: Any
    jobs: Any
    score: Any
    theta: Any


class Address(types.Type):  # type: ignore[misc]
    """Where a named tuple stands, while the function that asked for it runs."""

    def __init__(self, of: Any) -> None:
        self.of = of
        # Spelt out, the name would be longer than the code of most functions.
        digest = hashlib.sha256(str(of).encode()).hexdigest()[:16]
        super().__init__(name=f"Address({of.instance_class.__name__}_{digest})")

    def member(self, name: str) -> tuple[int, Any]:
        """The place of a member, and its type."""
        place = self.of.fields.index(name)
        return place, self.of.types[place]


register_default(Address)(models.OpaqueModel)


@cache
def _address(of: Any) -> Address:
    return Address(of)


def address_of(tables: Any) -> Any:
    """Return where a named tuple stands, until the function that calls this returns; None if it is.

    A member that is a named tuple itself is an address again.
    """
    return tables


def at(address: Any) -> Any:
    """Return the named tuple that stands at an address."""
    return address


@type_callable(address_of)
def _type_address_of(context: Any) -> Any:
    return lambda tables: tables if isinstance(tables, types.NoneType) else _address(tables)


@lower_builtin(address_of, types.Any)
def _lower_address_of(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    if isinstance(signature.return_type, types.NoneType):
        return context.get_dummy_value()
    place = builder.bitcast(cgutils.alloca_once_value(builder, given[0]), cgutils.voidptr_t)
    # An empty instruction that may have written there: nothing is read before it. Otherwise the
    # compiler would see that what never changes was written here, and read it before.
    kind = ir.FunctionType(cgutils.voidptr_t, [cgutils.voidptr_t])
    return builder.call(ir.InlineAsm(kind, "", "=r,0,~{memory}", True), [place])


@infer_getattr
class _Members(AttributeTemplate):  # type: ignore[misc]
    key = Address

    def generic_resolve(self, address: Any, name: str) -> Any:
        """The type of a member."""
        if name not in address.of.fields:
            return None
        _, kind = address.member(name)
        return _address(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@lower_getattr_generic(Address)
def _lower_member(context: Any, builder: Any, address: Any, value: Any, name: str) -> Any:
    place, kind = address.member(name)
    if isinstance(kind, types.NoneType):
        return context.get_dummy_value()
    tables = builder.bitcast(value, context.get_value_type(address.of).as_pointer())
    member = cgutils.gep_inbounds(builder, tables, 0, place)
    if isinstance(kind, types.BaseNamedTuple):
        return builder.bitcast(member, cgutils.voidptr_t)
    return _load(builder, member)


def _load(builder: Any, place: Any) -> Any:
    """Load a value member by member, of which none changes: what nobody uses is not loaded."""
    kind = place.type.pointee
    if not isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        value = builder.load(place)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value
    value = ir.Constant(kind, ir.Undefined)
    for i in range(len(kind.elements) if isinstance(kind, ir.LiteralStructType) else kind.count):
        member = cgutils.gep_inbounds(builder, place, 0, i)
        value = builder.insert_value(value, _load(builder, member), i)
    return value


@type_callable(at)
def _type_at(context: Any) -> Any:
    return lambda address: address.of


@lower_builtin(at, Address)
def _lower_at(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    kind = context.get_value_type(signature.return_type)
    return _load(builder, builder.bitcast(given[0], kind.as_pointer()))
