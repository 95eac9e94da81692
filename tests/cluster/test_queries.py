"""Conditions on servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.cluster import Cluster, Server, library
from sojourn.cluster.query import FIELDS, facts_of, parse_query
from sojourn.errors import OptionError


def server(model: str, cores: int, chips: int, watts: tuple[float, float], **facts) -> Server:
    memory = facts.pop("memory", float("nan"))
    features = frozenset(facts.pop("features", ()))
    return Server(
        model, cores, cores * 100.0, watts, chips, memory, features, watts[0] > 0, facts=facts
    )


A = server("A1", 4, 1, (50, 100), vendor="Acer", published="2009-05", memory=8, year=2009)
B = server("B2", 8, 2, (60, 200), vendor="Dell", published="2011-12", memory=32, mhz=2500.0)
C = server("C3", 64, 2, (0, 400), vendor="Hewlett Packard Enterprise", published="2012-01")
D = server("D4", 12, 2, (70, 0), features=("gpu", "bigmem"), threads_per_core=2.0, result=0.0)
ALL = {"A": A, "B": B, "C": C, "D": D}


def chosen(query: str) -> str:
    holds = parse_query(query)
    return "".join(name for name, each in ALL.items() if holds(each))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('published <= 2011-12 and (cores >= 8 or vendor == "Acer")', "AB"),
        ("cores >= 8", "BCD"),
        ("cores=8", "B"),
        ("cores <> 8", "ACD"),
        ("cores != 8", "ACD"),
        ("  CORES<12  ", "AB"),
        ("# Cores == 4", "A"),
        ("#cores per chip == 4", "AB"),
        ("Memory (GB) > 8", "B"),
        ('"Memory (GB)" > 8', "B"),
        ("memory < 1e9", "AB"),
        ("not memory < 1e9", "CD"),
        ("memory != 8", "B"),
        ("ssj_ops @ 100% of target load > 1_100", "CD"),
        ("Average watts @ active idle < 60", "A"),
        ("idle_watts >= 0", "ABD"),
        ("efficiency > 4", "C" if C.ops / 400 > 4 else ""),
        ("threads == 24", "D"),
        ("result == 0", "D"),
        ("published <= 2011-12", "AB"),
        ("published < 2011-12", "A"),
        ("published <= 2011", "AB"),
        ("published < 2011", "A"),
        ("published > 2011", "C"),
        ("published == 2011", "B"),
        ("published != 2011", "AC"),
        ("published >= 2011-12-31", "BC"),
        ("published > Nov-2011", "BC"),
        ("published == '2012-01'", "C"),
        ("published in (2009, 2012-01)", "AC"),
        ("published not in (2009)", "BC"),
        ("vendor == acer", "A"),
        ('vendor == "Acer Incorporated"', "A"),
        ("vendor == Hewlett Packard Enterprise", "C"),
        ("vendor in (Acer, 'Dell')", "AB"),
        ("vendor IN [Acer, Hewlett Packard Enterprise]", "AC"),
        ("vendor not in (Acer)", "BC"),
        ("vendor ~ packard", "C"),
        ("vendor !~ packard", "AB"),
        ("model ~ 1 or model ~ 4", "AD"),
        ("features ~ gpu", "D"),
        ("features == gpu", "D"),
        ("features == gp", ""),
        ("features != gpu", "ABC"),
        ("year == 2009", "A"),
        ("cores > 4 or cores < 8 and chips == 1", "ABCD"),
        ("(cores > 4 or cores < 8) and chips == 1", "A"),
        ("not not cores == 4", "A"),
        ("NOT (cores == 4 OR cores == 8)", "CD"),
        ("not cores == 4 and not cores == 8", "CD"),
    ],
)
def test_queries(query, names):
    assert chosen(query) == names


@pytest.mark.parametrize(
    ("query", "at", "told"),
    [
        ("", 1, "is empty"),
        ("   ", 1, "is empty"),
        ("coers > 8", 1, "no field is called 'coers'; did you mean 'cores'?"),
        ("cores > 8 and vendr == x", 15, "no field is called 'vendr'; did you mean 'vendor'?"),
        ("cores", 1, "'cores' is not compared; write for example cores >= 8"),
        ("vendor and cores == 2", 1, "'vendor' is not compared; write for example vendor ~ word"),
        ("cores == 2 or published", 15, "write for example published <= 2011-12"),
        ("cores > ", 9, "a value must come here"),
        ("cores > abc", 9, "'abc' is no number, but 'cores' is"),
        ("cores > nan", 9, "'nan' is no number"),
        ("published > soon", 13, "'soon' is no date"),
        ("published > 2011-13", 13, "'2011-13' is no date"),
        ("(cores > 8", 1, "this parenthesis is not closed"),
        ("cores > 8)", 10, "'and', 'or' or the end must come here"),
        ("vendor < Acer", 8, "'vendor' is text; use =="),
        ("cores ~ 8", 7, "'cores' is no text; use =="),
        ("vendor in (Acer", 10, "this list is not closed with ')'"),
        ("vendor in [Acer)", 10, "this list is not closed with ']'"),
        ("cores in (4, many)", 14, "'many' is no number"),
        ("== 3", 1, "the name of a field must come here"),
        ("and cores == 3", 1, "the name of a field must come here"),
        ('vendor == "Ace', 11, "a value must come here"),
        ("(" * 99 + "cores == 1", 51, "more than 50 conditions inside each other"),
        ("__import__('os') == 1", 1, "no field is called"),
    ],
)
def test_errors_point_at_the_place(query, at, told):
    with pytest.raises(OptionError) as caught:
        parse_query(query)
    message = str(caught.value)
    assert f"at character {at}: " in message
    assert told in message
    assert message.startswith(f"query '{query[: at - 1]}-->{query[at - 1 :]}'")


def test_every_field_can_be_asked_for():
    for name in FIELDS:
        value = "2010" if name in ("published", "hw_available") else "1"
        parse_query(f"{name.upper()} == {value}")
    told = {name for node in library().nodes for name in facts_of(node.server)}
    assert told | {"result", "version", "form_factor"} == set(FIELDS)


def test_select():
    cluster = library()
    few = cluster.select("published <= 2011-12")
    assert [node.name for node in few.nodes] == [
        *("X3360", "L5420", "L5430", "X3470", "E3-1260L", "X5670"),
    ]
    assert cluster.select("cores > 4", first=2).nodes == few.nodes[1:3]
    assert cluster.select(lambda each: each.cores == 4, names=["X3360"]).procs == 4
    with pytest.raises(OptionError, match="no node is left by the selection 'cores > 9999'"):
        cluster.select("cores > 9999")


NUMBERS = st.integers(0, 70)
TESTS = st.builds(
    lambda field, sign, value: (f"{field} {sign} {value}", field, sign, value),
    st.sampled_from(["cores", "chips", "watts"]),
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    NUMBERS,
)


def holds(node: tuple, each: Server) -> bool:
    """The meaning of a condition, told apart from its text."""
    if node[0] == "test":
        _, (_, field, sign, value) = node
        told = {"cores": each.cores, "chips": each.chips, "watts": each.watts[-1]}[field]
        return {
            "==": told == value,
            "!=": told != value,
            "<": told < value,
            "<=": told <= value,
            ">": told > value,
            ">=": told >= value,
        }[sign]
    if node[0] == "not":
        return not holds(node[1], each)
    parts = [holds(part, each) for part in node[1]]
    return all(parts) if node[0] == "and" else any(parts)


def written(node: tuple) -> str:
    if node[0] == "test":
        return node[1][0]
    if node[0] == "not":
        return f"not ({written(node[1])})"
    return f" {node[0]} ".join(f"({written(part)})" for part in node[1])


TREES = st.recursive(
    TESTS.map(lambda test: ("test", test)),
    lambda inner: (
        inner.map(lambda node: ("not", node))
        | st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=8,
)


@given(tree=TREES)
def test_conditions_mean_what_they_say(tree):
    test = parse_query(written(tree))
    for each in ALL.values():
        assert test(each) == holds(tree, each)


@given(text=st.text(alphabet="cores vndpublishd<>=!~()[],'\"andornotin0189-#@%\n\t", max_size=40))
def test_any_text_is_a_query_or_an_error(text):
    try:
        test = parse_query(text)
    except OptionError:
        return
    for each in ALL.values():
        assert test(each) in (True, False)


def test_query_of_a_cluster_of_nothing_known():
    cluster = Cluster.of([Server("x", 1, 1.0, (0, 0), idle_known=False)])
    for query in ("memory > 0", "published > 1900", "vendor != x", "efficiency > 0"):
        with pytest.raises(OptionError, match="no node is left"):
            cluster.select(query)
