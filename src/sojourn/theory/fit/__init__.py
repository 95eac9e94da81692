"""The parameters of the models from a log, with standard errors, tests and warnings.

- `outcomes`: how each job ended, and for how long it could have
- `arrivals`: rate, daily and weekly cycle, trend, and whether arrivals are Poisson
- `widths`: the distribution of processors per job
- `risks`: service and limit rates as competing risks, by maximum likelihood
- `survival`: Kaplan and Meier's estimate
- `goodness`: tests of the exponential assumption
- `doubts`: what speaks against the model, in words
- `model`: all of it at once, `fit_model`
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
