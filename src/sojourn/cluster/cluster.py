"""What jobs run on."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import OptionError
from .power import ConstantPower, Power

__all__ = ["Cluster"]


@dataclass(frozen=True)
class Cluster:
    """A machine of equal servers.

    Parameters
    ----------
    procs : number of servers (processors).
    power : watts of one server, busy and idle.
    """

    procs: int
    power: Power = field(default_factory=ConstantPower)

    def __post_init__(self) -> None:
        if isinstance(self.procs, bool) or int(self.procs) != self.procs or self.procs < 1:
            raise OptionError(f"cluster: {self.procs} processors; give a whole number above 0")
        if self.procs > 2**31 - 1:
            raise OptionError(
                f"cluster: {self.procs} processors; at most 2147483647 can be counted"
            )

    @classmethod
    def homogeneous(cls, procs: int, *, power: Power | None = None) -> Cluster:
        """Return a machine of `procs` equal processors."""
        return cls(procs, power or ConstantPower())
