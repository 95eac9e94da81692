"""What the energy of a run costs, in money and in carbon dioxide.

Power, price and carbon intensity are constant between their changes, so both are exact integrals
of power steps (`billing`).

- `tariff`: prices over the week; `carbon`: the intensity of the electricity
- `price`: prices of a market over time, or of a tariff; `series`: values over time, from files
- `shifting`: what a job alone would save by waiting for clean electricity
- `clock`: which moment second 0 of the log is
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
