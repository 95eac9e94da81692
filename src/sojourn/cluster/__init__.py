"""What jobs run on: `cluster` counts the servers, `power` says what they draw."""

from .cluster import Cluster
from .power import XEON_5430, ConstantPower, Power, RatePower, ScaledPower

__all__ = ["XEON_5430", "Cluster", "ConstantPower", "Power", "RatePower", "ScaledPower"]
