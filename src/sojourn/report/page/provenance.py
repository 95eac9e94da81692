"""Where the numbers of a page come from, as its folder records it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...errors import plural
from .subjects import ComparisonFolder, RunFolder, StudyFolder

Facts = list[tuple[str, str]]


def provenance_of(subject: RunFolder | ComparisonFolder | StudyFolder) -> Facts:
    """Return name and value of each fact that is needed to make the numbers again."""
    if isinstance(subject, StudyFolder):
        return _of_study(subject)
    if isinstance(subject, RunFolder):
        return _of_run(subject)
    facts = _of_run(subject.runs[0], options=False)
    shared = dict(facts)
    for run in subject.runs:
        own = [f"{n}: {v}" for n, v in _of_run(run, options=False) if shared.get(n) != v]
        files = ", ".join(_origin(run).get("files", []))
        facts.append((f"run {run.name}", "; ".join([str(run.folder.name), *own, files])))
    return facts + _options(_origin(subject.runs[0]).get("options", {}), skip=("policy",))


def _origin(run: RunFolder) -> Mapping[str, Any]:
    origin: Mapping[str, Any] = run.summary.get("provenance", {})
    return origin


def _of_run(run: RunFolder, *, options: bool = True) -> Facts:
    origin = _origin(run)
    facts = _made(origin)
    for name, file in origin.items():
        # Whatever has a digest is a file; a model's jobs stand in the place of a log.
        if isinstance(file, Mapping) and (name == "input" or "sha256" in file):
            facts.append(("log" if name == "input" else name, _file(file)))
    cleaning = run.summary.get("cleaning")
    if cleaning:
        facts.append(("cleaning", _cleaning(cleaning)))
    return facts + (_options(origin.get("options", {})) if options else [])


def _made(facts: Mapping[str, Any]) -> Facts:
    names = (
        ("sojourn", "version"),
        ("command", "command"),
        ("date (UTC)", "time"),
        ("seed", "seed"),
        ("Python", "python"),
        ("NumPy", "numpy"),
        ("Numba", "numba"),
    )
    return [(label, str(facts[key])) for label, key in names if facts.get(key) not in (None, "")]


def _file(facts: Mapping[str, Any]) -> str:
    if not facts.get("path"):
        return f"none: {plural(int(facts.get('jobs') or 0), 'job')} of a model"
    parts = [str(facts["path"])]
    if facts.get("jobs") is not None:
        parts.append(plural(int(facts["jobs"]), "job"))
    parts.append(f"SHA-256 {facts['sha256']}" if facts.get("sha256") else "no digest")
    return ", ".join(parts)


def _cleaning(report: Mapping[str, Any]) -> str:
    words = [f"{plural(report.get('read', 0), 'job')} read, {report.get('kept', 0):,} kept"]
    for row in report.get("findings", []):
        count = plural(int(row["count"]), str(row["unit"]))
        words.append(f"{row['action']} {row['rule']}: {count}, {row['what']}")
    return "; ".join(words)


def _options(options: Mapping[str, Any], skip: Sequence[str] = ()) -> Facts:
    given = [
        f"{name} = {_spelt(value)}"
        for name, value in _flat(options)
        if not (value is None or value is False or value in ([], "")) and name not in skip
    ]
    return [("options", "; ".join(given))] if given else []


def _flat(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Options and those inside of them, by dotted names."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _spelt(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_spelt, value)) if isinstance(value, list | tuple) else str(value)


def _of_study(study: StudyFolder) -> Facts:
    facts = _made(study.facts)
    if study.facts.get("scenario"):
        facts.append(("scenario", f"SHA-256 {study.facts['scenario']}"))
    if study.facts.get("replications") is not None:
        facts.append(("replications", str(study.facts["replications"])))
    for name, file in (study.facts.get("inputs") or {}).items():
        facts.append((str(name), _file(file) if isinstance(file, Mapping) else str(file)))
    states = study.runs["status"].value_counts()
    facts.append(("runs", ", ".join(f"{count:,} {state}" for state, count in states.items())))
    return facts + _options(study.facts.get("options") or {})
