"""The picture of what failures cost."""

import pytest

from sojourn import report
from sojourn.errors import OptionError

COSTS = {
    "none": {"lost_core_hours": 30.0, "goodput": 0.7},
    "daly": {
        "lost_core_hours": 4.0,
        "dump_core_hours": 5.0,
        "restore_core_hours": 1.0,
        "goodput": 0.9,
    },
}


def test_bars_are_stacked_and_say_the_goodput():
    (ax,) = report.failure_costs(COSTS).axes
    bars = [[(bar.get_x(), bar.get_width()) for bar in group] for group in ax.containers]
    assert bars == [[(0, 30), (0, 4)], [(30, 0), (4, 5)], [(30, 0), (9, 1)]]
    assert [text.get_text() for text in ax.texts] == ["goodput 70.0 %", "goodput 90.0 %"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["none", "daly"]
    assert [entry.get_text() for entry in ax.get_legend().get_texts()] == [
        "lost",
        "dumps",
        "restores",
    ]


def test_nothing_to_draw_is_an_error():
    with pytest.raises(OptionError, match="no runs are given"):
        report.failure_costs({})
