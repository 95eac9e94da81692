"""The parameter sets on which theory and engine are compared."""

from __future__ import annotations

import numpy as np
from scipy.stats import expon, gamma, lognorm, uniform

from sojourn.theory import geometric

from .models import many_servers, saturated, saturated_classes, scaled, sleeping, small
from .unlimited import general, infinite

THREE = (0.5, 0.3, 0.2)
FIVE = (0.0, 0.0, 0.0, 0.0, 1.0)
POWERS = np.zeros(1000)
POWERS[[2**i - 1 for i in range(10)]] = 0.5 ** np.arange(10)

CASES = [
    many_servers(1, 0.5),
    many_servers(1, 0.8),
    many_servers(2, 0.7),
    many_servers(4, 0.75),
    many_servers(10, 0.85),
    many_servers(30, 0.85),
    small(0.8, (0.5, 0.5), (1.0, 1.0), 2),
    small(0.5, (0.5, 0.5), (1.0, 0.5), 2),
    small(0.9, (0.8, 0.2), (1.0, 2.0), 2),
    small(1.0, (0.2, 0.8), (1.0, 3.0), 2),
    small(0.8, (0.5, 0.5), (1.0, 1.0), 2, speeds=(1.0, 2.0), switch=(0.3, 0.1)),
    small(1.2, (0.7, 0.3), (1.0, 1.0), 2, speeds=(0.5, 2.0), switch=(0.2, 0.6)),
    small(0.85, (0.5, 0.5), (1.0, 0.5), 2, speeds=(1.0, 2.0), switch=(0.5, 0.5)),
    small(0.8, (0.5, 0.5), (1.0, 1.0), 2, speeds=(0.5, 1.5), thresholds=((1,), (4,))),
    small(1.0, (0.3, 0.7), (1.0, 1.0), 2, speeds=(0.8, 1.0, 2.0), thresholds=((1, 3), (2, 6))),
    small(0.85, (0.4, 0.3, 0.3), (1.0, 2.0, 0.5), 3),
    small(1.2, (0.4, 0.3, 0.2, 0.1), (1.0, 1.0, 1.0, 1.0), 4),
    small(1.5, (0.5, 0.0, 0.3, 0.0, 0.2), (1.0, 1.0, 2.0, 1.0, 3.0), 5),
    small(1.6, (0.3, 0.2, 0.2, 0.1, 0.1, 0.1), (1.0, 1.5, 2.0, 1.0, 0.8, 3.0), 6),
    small(1.5, (0.6, 0.2, 0.2), (1.0, 1.0, 0.7), 3, speeds=(1.0, 2.0), switch=(0.4, 0.3)),
    small(
        1.5,
        (0.5, 0.2, 0.2, 0.1),
        (1.0, 1.0, 1.0, 1.0),
        4,
        speeds=(0.7, 1.5),
        thresholds=((2,), (5,)),
    ),
    saturated("p = (0.5, 0, 0, 0.5)", (0.5, 0, 0, 0.5)),
    saturated("p = (0.4, 0.3, 0.2, 0.1)", (0.4, 0.3, 0.2, 0.1)),
    saturated("uniform widths", np.ones(10)),
    saturated("widths 3 and 10 alike", (0, 0, 1, 0, 0, 0, 0, 0, 0, 1), 30),
    saturated("geometric widths, ratio 0.9", 0.9 ** np.arange(100)),
    saturated("widths 2^i, i < 10, ratio 0.5", POWERS),
    saturated_classes((0.5, 0.5), (1.0, 0.5), 2),
    saturated_classes((0.4, 0.3, 0.2, 0.1), (2.0, 1.0, 0.5, 0.25), 4),
    saturated_classes((0.5, 0.0, 0.3, 0.2), (1.0, 1.0, 3.0, 0.5), 8),
    scaled((0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.3, 0.7)),
    scaled((0.5, 0.5), (1.0, 0.5), (1.0, 1.5), (0.5, 0.2)),
    scaled((0.3, 0.3, 0.4), (1.0, 2.0, 0.5), (0.5, 2.0), (0.4, 0.4)),
    infinite(5.0, 1.0, 0.5, (1.0,)),
    infinite(5.0, 1.0, 0.5, THREE),
    infinite(2.0, 1.0, 1.0, geometric(0.75)),
    infinite(1.0, 1.0, 1.0, FIVE),
    infinite(1.0, 1.0, 1.0, FIVE, siblings="killed-together"),
    infinite(1.0, 1.0, 1.0, FIVE, limits="shared"),
    infinite(5.0, 1.0, 0.2, THREE, siblings="killed-together"),
    infinite(5.0, 1.0, 0.2, THREE, limits="shared"),
    infinite(5.0, 1.0, 0.2, THREE, release="concurrent"),
    general("gamma(2) of mean 1, limit 2 s", 5.0, gamma(2, scale=0.5), 2.0, THREE),
    general(
        "lognormal(-0.5, 1), exponential limit of mean 3",
        5.0,
        lognorm(1.0, scale=np.exp(-0.5)),
        expon(scale=3.0),
        THREE,
        limits="shared",
    ),
    general(
        "uniform(0, 2), gamma(3) limit of mean 3",
        2.0,
        uniform(0, 2),
        gamma(3),
        FIVE,
        siblings="killed-together",
    ),
    *(
        sleeping(servers, load, setup, delay)
        for servers, load in ((2, 0.3), (2, 0.7), (3, 0.5), (5, 0.6), (10, 0.3), (10, 0.7))
        for setup, delay in ((1.0, 0.0), (8.0, 0.0), (2.0, 1.0), (8.0, 4.0))
    ),
]
