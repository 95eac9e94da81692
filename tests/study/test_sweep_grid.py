"""Grids, lists and samples: which points a study has."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sojourn.errors import OptionError
from sojourn.study import Grid, Range, latin_hypercube, parse_axis, parse_range, sobol
from sojourn.study.braces import Around


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=0:3:1", [0, 1, 2, 3]),
        ("k=0:1:0.25", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("k=0:0.3:0.1", [0.0, 0.1, 0.2, 0.3]),  # and not 0.30000000000000004
        ("k=3:0:-1.5", [3.0, 1.5, 0.0]),
        ("k=0:10:4", [0, 4, 8]),
        ("k=fcfs,sjf+easy", ["fcfs", "sjf+easy"]),
        ("k=1,2.5,true,1h", [1, 2.5, True, "1h"]),
        ("k=[0.6,1.0],[0.8,1.0]", [[0.6, 1.0], [0.8, 1.0]]),
        ("k='a,b',c", ["a,b", "c"]),
        ("k=workload:2.0", ["workload:2.0"]),
        ("k = 5", [5]),
    ],
)
def test_values_of_an_axis(text: str, values: list[object]) -> None:
    key, found = parse_axis(text)
    assert key == "k"
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_axes_in_python() -> None:
    axes = {
        "a": np.arange(2),
        "b": [(0.5, 1.0), np.array([0.7, 1.0])],
        "c": np.float64(0.5),
        "d": 3,
        "e": None,
    }
    grid = Grid.of(axes)
    assert grid.points == tuple(
        (a, b, 0.5, 3, None) for a in (0, 1) for b in ([0.5, 1.0], [0.7, 1.0])
    )
    assert type(grid.points[0][0]) is int
    assert Grid.of([{"a": np.int64(1)}]).points == ((1,),)
    assert Grid.of(None).points == ((),)


def test_the_thresholds_of_the_figure() -> None:
    _, found = parse_axis("control.k=0:3e6:1e5")
    assert len(found) == 31
    assert found == [1e5 * i for i in range(31)]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("k", "write --set KEY=VALUES"),
        ("k=", "write --set KEY=VALUES"),
        ("=1", "write --set KEY=VALUES"),
        ("k=0:1:0", "no step of 0 leads from 0 to 1"),
        ("k=0:1:-1", "no step of -1 leads from 0 to 1"),
        ("k=1,,2", "an item of the list is empty"),
        ("k=0:3e6", "has no step; write k=0:3e6:STEP"),
        ("k=0:1e9:1e-9", "give a larger step"),
    ],
)
def test_axes_that_cannot_be(text: str, part: str) -> None:
    with pytest.raises(OptionError, match=part):
        parse_axis(text)


def test_a_grid_is_every_combination_the_last_axis_fastest() -> None:
    grid = Grid.of({"a": [1, 2], "b": "x,y"})
    assert grid.keys == ("a", "b")
    assert grid.points == ((1, "x"), (1, "y"), (2, "x"), (2, "y"))
    assert len(Grid.of({})) == 1
    assert Grid.of([{"a": 1, "b": 2}, {"b": 4, "a": 3}]).points == ((1, 2), (3, 4))


@pytest.mark.parametrize(
    ("axes", "part"),
    [
        ({"a": []}, "no points"),
        ([], "no points"),
        ([{"a": 1}, {"b": 1}], "point 2 has the keys b, the first one has a"),
        ({"a": range(10_000), "b": range(10_000)}, "more than 10,000,000 points"),
    ],
)
def test_grids_that_cannot_be(axes: object, part: str) -> None:
    with pytest.raises(OptionError, match=part):
        Grid.of(axes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("k=0:3e6", Range("k", 0.0, 3e6)),
        ("k=1:8", Range("k", 1.0, 8.0, whole=True)),
        ("k=1:1000:log", Range("k", 1.0, 1000.0, logarithmic=True)),
        ("k=fcfs,sjf", Range("k", choices=("fcfs", "sjf"))),
        ("k=idle:{60:7200}", Range("k", 60.0, 7200.0, whole=True, around=Around("idle:", ""))),
        ("k=easy:{1,2}", Range("k", choices=("easy:1", "easy:2"))),
    ],
)
def test_ranges(text: str, found: Range) -> None:
    assert parse_range(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *("k=1:1", "k=2:1", "k=0:1:log", "k=a", "k=0:1:0.1", "k", "k=x:log"),
        *("k=idle:{60..7200}", "k=idle:{}", "k=idle:{2:1}", "k=idle:{0:1:log}", "k=idle:{60}"),
    ],
)
def test_ranges_that_cannot_be(text: str) -> None:
    with pytest.raises(OptionError, match=r"^--vary k"):
        parse_range(text)


def test_shares_of_the_way() -> None:
    assert [parse_range("k=2:4").at(s) for s in (0, 0.32, 0.34, 0.67, 1)] == [2, 2, 3, 4, 4]
    assert [parse_range("k=a,b").at(s) for s in (0, 0.49, 0.5, 1)] == ["a", "a", "b", "b"]
    assert parse_range("k=1:100:log").at(0.5) == pytest.approx(10)
    assert parse_range("k=0:0.1").at(1.0) == 0.1
    halves = [
        parse_range(f"k={text}").at(0.5) for text in ("idle:{1:4}m", "x{0:1.0}", "x{1:9:log}")
    ]
    assert halves == ["idle:3m", "x0.5", "x3"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("idle:{60,600}", ["idle:60", "idle:600"]),
        ("never,idle:{60,10m}", ["never", "idle:60", "idle:10m"]),
        ("idle:{60:180:60}", ["idle:60", "idle:120", "idle:180"]),
        ("keep:8:{0:1:0.5}", ["keep:8:0", "keep:8:0.5", "keep:8:1"]),
        ("{fcfs,sjf}+easy", ["fcfs+easy", "sjf+easy"]),
        ("'hours:4x8,2x16:{60,90}'", ["hours:4x8,2x16:60", "hours:4x8,2x16:90"]),
        ("[{rate=1}],{rate=2}", [[{"rate": 1}], {"rate": 2}]),
    ],
)
def test_numbers_in_texts(text: str, values: list[object]) -> None:
    assert parse_axis(f"k={text}") == ("k", values)


@pytest.mark.parametrize("text", ["idle:{60..90}", "idle:{60:90}", "idle:{60,}", "idle:{1:0:1}"])
def test_braces_that_say_nothing(text: str) -> None:
    with pytest.raises(OptionError, match=rf"^--set k={re.escape(text)}: "):
        parse_axis(f"k={text}")


def test_latin_hypercube_has_one_value_in_each_part() -> None:
    ranges = [parse_range("a=0:1e1"), parse_range("b=1:1e4:log")]
    grid = latin_hypercube(ranges, 20, seed=3)
    a, b = np.array(grid.points).T
    assert sorted(np.floor(a / 10 * 20)) == list(range(20))
    assert sorted(np.floor(np.log10(b) / 4 * 20)) == list(range(20))
    assert latin_hypercube(ranges, 20, seed=3) == grid != latin_hypercube(ranges, 20, seed=4)


def test_sobol_is_a_sequence_and_balanced() -> None:
    ranges = [parse_range("a=0:1.0"), parse_range("b=0:1.0")]
    grid = sobol(ranges, 64, seed=1)
    a, b = np.array(grid.points).T
    cells = set(zip(np.floor(a * 8), np.floor(b * 8), strict=True))
    assert len(cells) == 64
    assert sobol(ranges, 50, seed=1).points == grid.points[:50]
    assert len(sobol(ranges, 1)) == 1


def test_points_drawn_twice_count_once() -> None:
    assert len(latin_hypercube([parse_range("a=x,y")], 50)) == 2
