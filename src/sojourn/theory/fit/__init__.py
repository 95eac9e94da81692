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

from .arrivals import Arrivals, fit_arrivals
from .goodness import Statistic, exponential_test
from .model import FITTED, Fit, fit_model
from .outcomes import Outcomes, classify
from .risks import Rates, fit_rates
from .survival import Survival, kaplan_meier
from .widths import Widths, fit_widths

__all__ = [
    "FITTED",
    "Arrivals",
    "Fit",
    "Outcomes",
    "Rates",
    "Statistic",
    "Survival",
    "Widths",
    "classify",
    "exponential_test",
    "fit_arrivals",
    "fit_model",
    "fit_rates",
    "fit_widths",
    "kaplan_meier",
]
