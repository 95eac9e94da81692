"""How the numbers of a page were made, in words with citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from ...cluster.power import states_energy
from ...files.access import load_toml
from .subjects import ComparisonFolder, RunFolder, StudyFolder

_TEXTS = load_toml(
    (resources.files(__package__) / "templates" / "methods.toml").read_text(encoding="utf-8")
)
REFERENCES: Mapping[str, str] = _TEXTS["references"]
"""What a page may cite, by key."""
_QUANTILE = re.compile(r"[._](median|p\d+|max)$")


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
        version = subject.facts.get("version", "")
        varied = [str(value) for key in subject.keys for value in subject.runs[key].unique()]
        policies = _policies(re.findall(r"[\w+:.-]+", subject.scenario) + varied)
        known = ["measures", *(["energy"] if subject.states_energy else [])]
        more = ["search"] if subject.front else []
        more.append(("draws" if subject.is_resampled else "study") if interval else "once")
        if interval and any(_QUANTILE.search(name) for name in subject.measures):
            more.append("quantiles")
        if interval and subject.front:
            more.append("confirmed" if confirmed else "unconfirmed")
        elif interval:
            more.append("rivals")
        said, parts = [known, more], []
    else:
        runs = [subject] if isinstance(subject, RunFolder) else subject.runs
        version = runs[0].summary.get("version", "")
        policies = _policies([str(run.summary["policy"]) for run in runs])
        known = ["measures"]
        known += ["energy"] if any(states_energy(run.summary) for run in runs) else []
        known += ["nodes"] if any(run.nodes is not None for run in runs) else []
        compared = isinstance(subject, ComparisonFolder)
        further = {"batches": interval, "rivals": interval and compared, "fair": fairness}
        said = [known, *([name] for name, is_shown in further.items() if is_shown)]
        parts = _parts([run.summary for run in runs])
    texts = [[_TEXTS["paragraphs"][name] for name in names] for names in said]
    texts[0] += parts
    model = _TEXTS["paragraphs"]["model"].format(version=version) + policies
    return [model, *map(" ".join, texts)]


def _parts(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence on each part that one of the runs has, by the section of its summary."""
    said = []
    for key, text in _TEXTS["parts"].items():
        sections = [summary[key] for summary in summaries if key in summary]
        if sections:
            rules = dict.fromkeys(str(section.get("policy", "")) for section in sections)
            said.append(text.format(policy=", ".join(rules)))
    return said


def _policies(words: Sequence[str]) -> str:
    """Return a sentence on the policies that some words name; nothing for none of them."""
    left = [word.lower() for word in words]
    texts = []
    for pattern, text in _TEXTS["policies"].items():
        hits = [word for word in left if re.search(pattern, word)]
        if hits:
            texts.append(text)
            left = [word for word in left if word not in hits]
    return f" Policies include {'; '.join(texts)}." if texts else ""
