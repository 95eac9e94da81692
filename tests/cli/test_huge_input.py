"""Input that is far too large or deep: one line, and at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.cluster.query import parse_query
from sojourn.errors import OptionError
from sojourn.study import read_scenario

Refused = Callable[..., str]

DIGITS = "9" * 5_000
BLANKS = " " * 60_000
CONF = "NodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
DEEP = {
    "lists": "a = " + "[" * 5_000 + "]" * 5_000,
    "tables": "a = " + "{a=" * 5_000 + "1" + "}" * 5_000,
    "header": "[" + ".".join("a" * 50_000) + "]\nb = 1",
    "key": ".".join("a" * 50_000) + " = 1",
    "inner key": "a = {" + ".".join("a" * 50_000) + " = 1}",
    "digits": f"a = {DIGITS}",
}


@pytest.mark.parametrize("kind", list(DEEP))
@pytest.mark.parametrize("verb", ["run", "cluster inspect", "peas"])
def test_toml_that_is_too_deep(
    refused: Refused, small: Path, tmp_path: Path, kind: str, verb: str
) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(DEEP[kind])
    words = [*verb.split(), path]
    if verb == "peas":
        words = ["peas", small, "2 x X5670", "--config", path]
    line = refused(*words)
    assert "deep.toml" in line
    assert "is not TOML" in line or "so many digits" in line
    assert len(line) < 400


@pytest.mark.parametrize(
    "options",
    [
        ["simulate", "--procs", DIGITS],
        ["simulate", "--cluster", f"{DIGITS} x X5670"],
        ["replay", "--slurm-conf", "s.conf", "--set", f"bf_interval={DIGITS}"],
        ["replay", "--slurm-conf", "s.conf", "--set", f"bf_interval={'9' * 80}"],
        ["replay", "--slurm-conf", "cpus.conf"],
        ["replay", "--slurm-conf", "names.conf"],
    ],
)
def test_numbers_of_thousands_of_digits(
    refused: Refused,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.conf").write_text(CONF)
    (tmp_path / "cpus.conf").write_text(CONF.replace("CPUs=4", f"CPUs={DIGITS}"))
    (tmp_path / "names.conf").write_text(CONF.replace("1-4", f"1-{DIGITS}"))
    refused(options[0], small, *options[1:])


def test_a_sample_of_thousands_of_digits(refused: Refused, tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text('[workload]\nmodel = "lublin"\njobs = 5\n[cluster]\nprocs = 4\n')
    options = ("--set", "control.rate=0.5:1", "--sample", f"lhs:{DIGITS}")
    assert "N up to 1,000,000" in refused("sweep", scenario, *options)


@pytest.mark.parametrize(
    "query",
    [
        f"cores >= 8{BLANKS}x",
        f"vendor == 'a{BLANKS}b'",
        f"vendor == a{','.join(BLANKS)}",
        f"model in{BLANKS}x",
        f"model not{BLANKS}in (a{BLANKS}, b)",
        f"cores >= 8{BLANKS}and cores >= 9",
        f"{BLANKS}cores{BLANKS}>= 8{BLANKS}",
        "x" * 60_000,
    ],
)
def test_queries_take_no_longer_than_they_are_long(query: str) -> None:
    begun = time.process_time()
    try:
        parse_query(query)
    except OptionError as error:
        message = str(error)
    else:
        message = ""
    # Looked at once for each of its blanks it would take a minute.
    assert time.process_time() - begun < 2.0
    assert len(message) < 700


def test_blanks_around_words_of_a_query_say_nothing() -> None:
    from sojourn.cluster import library

    servers = library()
    for text in ("cores >= 8 and vendor == Acer", "model == 'X5670' or vendor ~ dell and chips=2"):
        plain = servers.select(text)
        assert servers.select(text.replace(" ", "   ")).nodes == plain.nodes


def test_many_tables_are_refused_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("".join(f"[t{i}]\na = 1\n" for i in range(5_000)))
    begun = time.process_time()
    with pytest.raises(OptionError, match="line 1, key 't0': is not known"):
        read_scenario(path)
    # With a search for the nearest key of each table it would take 20 s.
    assert time.process_time() - begun < 5.0
