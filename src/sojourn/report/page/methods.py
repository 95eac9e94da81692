"""How the numbers of a page were made, in words with citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ...cluster.power import states_energy
from .subjects import ComparisonFolder, RunFolder, StudyFolder

REFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "rumyantsev2018": "A. Rumyantsev, T. Morozova, R. Basmadjian. Discrete-event modeling of "
        "a high-performance computing cluster with service rate control. 2018.",
        "gomez2012": "C. Gómez-Martín, M. A. Vega-Rodríguez, J.-L. González-Sánchez, "
        "J. Corral-García, D. Cortés-Polo. Performance and energy aware scheduling simulator for "
        "high-performance computing. 7th IBERGRID, 2013, pp. 17-29.",
        "lifka1995": "D. A. Lifka. The ANL/IBM SP scheduling system. Job Scheduling Strategies "
        "for Parallel Processing, LNCS 949, 1995, pp. 295-303.",
        "mualem2001": "A. W. Mu'alem, D. G. Feitelson. Utilization, predictability, workloads, "
        "and user runtime estimates in scheduling the IBM SP2 with backfilling. IEEE Transactions "
        "on Parallel and Distributed Systems 12(6), 2001, pp. 529-543.",
        "tsafrir2007": "D. Tsafrir, Y. Etsion, D. G. Feitelson. Backfilling using "
        "system-generated predictions rather than user runtime estimates. IEEE Transactions on "
        "Parallel and Distributed Systems 18(6), 2007, pp. 789-803.",
        "tang2009": "W. Tang, Z. Lan, N. Desai, D. Buettner. Fault-aware, utility-based job "
        "scheduling on Blue Gene/P systems. IEEE Cluster, 2009.",
        "feitelson1998": "D. G. Feitelson, L. Rudolph. Metrics and benchmarking for parallel job "
        "scheduling. Job Scheduling Strategies for Parallel Processing, LNCS 1459, 1998, pp. 1-24.",
        "jain1984": "R. Jain, D.-M. Chiu, W. R. Hawe. A quantitative measure of fairness and "
        "discrimination for resource allocation in shared computer systems. DEC-TR-301, 1984.",
        "fieller1954": "E. C. Fieller. Some problems in interval estimation. Journal of the Royal "
        "Statistical Society B 16(2), 1954, pp. 175-185.",
        "kuensch1989": "H. R. Künsch. The jackknife and the bootstrap for general stationary "
        "observations. Annals of Statistics 17(3), 1989, pp. 1217-1241.",
        "zakay2014": "N. Zakay, D. G. Feitelson. Workload resampling for performance evaluation of "
        "parallel job schedulers. Concurrency and Computation: Practice and Experience 26(12), "
        "2014, pp. 2079-2105.",
        "law2015": "A. M. Law. Simulation Modeling and Analysis. 5th edition, McGraw-Hill, 2015.",
        "deb2002": "K. Deb, A. Pratap, S. Agarwal, T. Meyarivan. A fast and elitist "
        "multiobjective genetic algorithm: NSGA-II. IEEE Transactions on Evolutionary Computation "
        "6(2), 2002, pp. 182-197.",
    }
)
"""What a page may cite, by key."""

_POLICIES: tuple[tuple[str, str], ...] = (
    (r"easy.*sjbf|sjbf", "EASY backfilling that tries the shortest job first [tsafrir2007]"),
    (r"easy", "EASY backfilling [lifka1995, mualem2001]"),
    (r"conservative", "conservative backfilling [mualem2001]"),
    (r"wfp3|unicef", "the orders WFP3 and UNICEF [tang2009]"),
)

_QUANTILE = re.compile(r"[._](median|p\d+|max)$")

_MODEL = (
    "Jobs went through the discrete-event simulator sojourn {version}: a job arrives with its "
    "width and its user's estimate, starts when the policy lets it and its processors are free, "
    "and leaves after its runtime [rumyantsev2018]."
)
_MEASURES = (
    "Means over time are exact integrals over the steps between events, from the first submit to "
    "the last end, not samples. A wait is start less submit; bounded slowdown is the response time "
    "over the larger of runtime and 10 s, at least 1 [feitelson1998]."
)
_ENERGY = (
    "Energy is the integral of the power of busy and idle processors [rumyantsev2018, eq. 11]."
)
_NODES = "Nodes are named: a job runs on some of them, at the speed of the slowest [gomez2012]."
_PARTS = {
    "sleep": "Idle nodes go to sleep by the rule {policy}; a job that gets one waits until it is "
    "up, and the energy has the nodes that sleep, and change between the two.",
    "failures": "Nodes fail, as drawn by the seed or recorded, and jobs on them are stopped; "
    "goodput is the useful part of the processor time that jobs held.",
    "caps": "A job starts only where the power stays below the cap.",
    "deferred": "Some jobs are held for cheap or clean electricity before they enter the queue.",
}
"""What a run has besides jobs and processors, by the section of its summary."""
_FAIR = "Fairness between users is Jain's index of their mean bounded slowdowns [jain1984]."
_BATCHES = (
    "The intervals of one run are from consecutive batches of its jobs, those of means over time "
    "(such as utilisation) from batches of its time: their means and quantiles are nearly "
    "independent of each other although neighbouring jobs are not [law2015]. Where even ten "
    "batches are alike the run is too short: the interval is widened by what they have in common, "
    "and marked. Makespans and extremes have none."
)
_STUDY = (
    "Each point was run with several independent streams of random numbers; replications with the "
    "same number use the same jobs at every point, so that points are compared in pairs [law2015]. "
    "Intervals of means are by Student's t over replications; those of relative changes by "
    "Fieller's method over pairs [fieller1954], without ends where the baseline may be 0."
)
_DRAWS = (
    "Replications are draws of blocks of one log, with replacement [kuensch1989, zakay2014]; those "
    "with the same number are the same at every point, so that points are compared in pairs. An "
    "interval is as wide as the draws spread, by Student's t, and does not become narrower with "
    "more of them: there is one log alone."
)
_RIVALS = (
    "A point cannot be distinguished from the best if the interval of their difference in pairs "
    "holds 0, at a level at which all comparisons with the best hold together (Bonferroni's "
    "inequality); the change that is given for the best has the same level."
)
_QUANTILES = (
    "Quantiles and longest values are those of each replication, averaged over replications, not "
    "those of all jobs together."
)
_ONCE = (
    "Each point was run once: there are no intervals, and differences hold for these jobs alone."
)
_SEARCH = "Points were chosen by a search for trade-offs with NSGA-II [deb2002]."
_CONFIRMED = (
    "What a search finds was lucky in the replications that it was chosen by; points of the front "
    "are therefore measured by others, run afterwards, and the share on the front says how often "
    "each stays there when these are drawn anew. Charts show only points that were run so again."
)
_UNCONFIRMED = (
    "Points of the front were not run again: they are measured by the replications that they were "
    "chosen by, and look better than they are where these are few."
)


def cited(paragraphs: Iterable[str]) -> list[tuple[str, str]]:
    """Return key and text of all references that some paragraphs cite, in order."""
    keys: dict[str, None] = {}
    for paragraph in paragraphs:
        for inside in re.findall(r"\[([a-z]+\d{4}[^\]]*)\]", paragraph):
            keys |= dict.fromkeys(part.strip() for part in inside.split(","))
    return [(key, REFERENCES[key]) for key in keys if key in REFERENCES]


def methods_of(
    subject: RunFolder | ComparisonFolder | StudyFolder,
    *,
    interval: bool,
    fairness: bool,
    confirmed: bool = False,
) -> list[str]:
    """Return the paragraphs on methods, of what the page shows.

    `interval` says that it has intervals, `fairness` that it shows how users were served,
    `confirmed` that the front of a search is measured by replications of its own.
    """
    if isinstance(subject, StudyFolder):
        version = str(subject.facts.get("version", ""))
        varied = [str(value) for key in subject.keys for value in subject.runs[key].unique()]
        policies = _policies(re.findall(r"[\w+:.-]+", subject.scenario) + varied)
        more = [_DRAWS if subject.is_resampled else _STUDY] if interval else [_ONCE]
        if interval and any(_QUANTILE.search(name) for name in subject.measures):
            more.append(_QUANTILES)
        if subject.front:
            more.insert(0, _SEARCH)
            more += [_CONFIRMED if confirmed else _UNCONFIRMED] if interval else []
        elif interval:
            more.append(_RIVALS)
        known = f"{_MEASURES} {_ENERGY}" if subject.states_energy else _MEASURES
        paragraphs = [_MODEL + policies, known, " ".join(more)]
    else:
        runs = [subject] if isinstance(subject, RunFolder) else subject.runs
        version = str(runs[0].summary.get("version", ""))
        policies = _policies([str(run.summary["policy"]) for run in runs])
        known = _MEASURES
        if any(states_energy(run.summary) for run in runs):
            known = f"{known} {_ENERGY}"
        if any(run.nodes is not None for run in runs):
            known = f"{known} {_NODES}"
        known = " ".join((known, *_parts([run.summary for run in runs])))
        paragraphs = [_MODEL + policies, known]
        paragraphs += [_BATCHES] if interval else []
        paragraphs += [_RIVALS] if interval and isinstance(subject, ComparisonFolder) else []
        paragraphs += [_FAIR] if fairness else []
    return [text.format(version=version) if "{version}" in text else text for text in paragraphs]


def _parts(summaries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence on each part that one of the runs has."""
    for key, text in _PARTS.items():
        sections = [summary[key] for summary in summaries if key in summary]
        if sections:
            rules = dict.fromkeys(str(section.get("policy", "")) for section in sections)
            yield text.format(policy=", ".join(rules))


def _policies(words: Sequence[str]) -> str:
    """Return a sentence on the policies that some words name; nothing for none of them."""
    left = [word.lower() for word in words]
    texts = []
    for pattern, text in _POLICIES:
        hits = [word for word in left if re.search(pattern, word)]
        if hits:
            texts.append(text)
            left = [word for word in left if word not in hits]
    return f" Policies include {'; '.join(texts)}." if texts else ""
