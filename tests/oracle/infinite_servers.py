"""Infinitely many servers by the longest way, in fractions [mminf2023]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import factorial

Exact = Fraction | int


def forward(lam: Exact, leaving: Exact, alpha: Sequence[Exact], states: int) -> list[Fraction]:
    """p_n / p_0 by equation (12) itself, state by state: exact, so its instability is harmless.

    `alpha[k - 1]` is the probability of k servers, `leaving` is mu + nu.
    """
    p = [Fraction(1)]
    for n in range(states - 1):
        inflow = sum(lam * alpha[n - i - 1] * p[i] for i in range(n) if n - i <= len(alpha))
        p.append(((lam + leaving * n) * p[n] - inflow) / (leaving * (n + 1)))
    return p


def partitions(n: int, largest: int) -> Iterator[dict[int, int]]:
    """Ways to write n as a sum of parts up to `largest`: how often each part occurs."""
    if n == 0:
        yield {}
    elif largest > 0:
        for times in range(n // largest + 1):
            for rest in partitions(n - times * largest, largest - 1):
                yield {**rest, largest: times} if times else rest


def by_partitions(groups: Sequence[Fraction], states: int) -> list[Fraction]:
    """p_n / p_0 as the sum over all ways in which independent Poisson groups make n servers.

    `groups[j - 1]` is the mean number of requests with j servers busy.
    """
    total = []
    for n in range(states):
        ways = Fraction(0)
        for counts in partitions(n, len(groups)):
            way = Fraction(1)
            for j, times in counts.items():
                way *= groups[j - 1] ** times / factorial(times)
            ways += way
        total.append(ways)
    return total


def groups(
    lam: Exact, mu: Exact, nu: Exact, alpha: Sequence[Exact], reading: str
) -> list[Fraction]:
    """Mean number of requests with j = 1, 2, ... servers busy, request by request.

    A request of k servers is followed down: in each state, the mean time there and what comes next.
    """
    mean = [Fraction(0)] * len(alpha)
    for k, share in enumerate(alpha, start=1):
        if reading == "concurrent":
            mean[k - 1] += Fraction(lam) * share / (mu + nu)
            continue
        there = Fraction(1)
        for j in range(k, 0, -1):
            completions = j * mu
            strikes = nu if reading == "shared" else j * nu
            leaving = Fraction(completions + strikes)
            mean[j - 1] += lam * share * there / leaving
            if reading != "run-on":
                there *= completions / leaving
    return mean


def completion(mu: Exact, nu: Exact, alpha: Sequence[Exact], limits: str) -> Fraction:
    """P_serv from who is first in each race of k exponential times and their limits."""
    done = Fraction(0)
    for k, share in enumerate(alpha, start=1):
        fate = Fraction(share)
        for running in range(k, 0, -1):
            clocks = running if limits == "each" else 1
            fate *= Fraction(running * mu) / (running * mu + clocks * nu)
        done += fate
    return done


def loss_system(
    servers: int, loads: Sequence[Exact], widths: Sequence[int]
) -> tuple[list[Fraction], list[Fraction]]:
    """Occupancies and blocking of a loss system, from its product form over all states."""
    occupancy = [Fraction(0)] * (servers + 1)
    for state in product(*(range(servers // width + 1) for width in widths)):
        busy = sum(count * width for count, width in zip(state, widths, strict=True))
        if busy <= servers:
            weight = Fraction(1)
            for count, load in zip(state, loads, strict=True):
                weight *= Fraction(load) ** count / factorial(count)
            occupancy[busy] += weight
    whole = sum(occupancy)
    q = [weight / whole for weight in occupancy]
    return q, [sum(q[max(servers - width + 1, 0) :], Fraction(0)) for width in widths]
