"""Pictures of two streams."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from sojourn.errors import OptionError
from sojourn.report.figures.adequacy import stream_differences, stream_pair

REAL = {
    "submit": np.array([0.0, 1.0, 2.0, 3.0]),
    "start": np.array([0.0, 10.0, 2.0, np.nan]),
    "end": np.array([10.0, 15.0, 9.0, np.nan]),
    "procs": np.array([3, 4, 1, 1]),
}
MODEL = {
    **REAL,
    "start": np.array([0.0, 8.0, 15.0, np.nan]),
    "end": np.array([8.0, 15, 22, np.nan]),
}


def test_boxes_have_the_colour_of_their_difference():
    figure = stream_pair({"real": REAL, "model": MODEL}, 4, moments={"real": 2.0})
    upper, lower = figure.axes
    for ax in (upper, lower):
        colors = [to_hex(color) for color in ax.collections[0].get_facecolors()]
        assert sorted(set(colors)) == ["#0072b2", "#c6cad0", "#d55e00"]
        assert ax.get_ylim() == (0.0, 4.0)
    assert [text.get_text() for text in lower.get_legend().get_texts()] == [
        "same wait: 1 jobs",
        "waits longer in the model: 1",
        "waits less in the model: 1",
    ]
    assert len(upper.lines) == 1
    assert len(lower.lines) == 0
    assert upper.get_xlim() == lower.get_xlim() == (0.0, 22.0)


def test_more_servers_than_told():
    figure = stream_pair({"real": REAL, "model": REAL}, 1)
    assert figure.axes[0].get_ylim() == (0.0, 4.0)


def test_differences():
    gap = [0.0, 3.0, -4.0, 0.0]
    figure = stream_differences([0, 1, 2, 3], gap, limit=2.0)
    over, run, spread = figure.axes
    assert over.collections[0].get_offsets()[:, 1].tolist() == gap
    assert run.lines[0].get_ydata().tolist() == pytest.approx(
        [0.0, np.sqrt(4.5), np.sqrt(25 / 3), 2.5]
    )
    assert run.lines[1].get_ydata()[0] == 2.0
    x, y = spread.lines[0].get_data()
    assert x.tolist()[1:-1] == [3.0, 4.0]
    assert y.tolist() == [0.5, 0.75, 1.0, 1.0]


def test_no_differences_and_many():
    stream_differences([0, 1], [0, 0]).canvas.draw()
    gap = np.zeros(20_000)
    gap[7777] = 1e5
    figure = stream_differences(np.arange(20_000), gap)
    shown = figure.axes[0].collections[0].get_offsets()
    assert shown[:, 1].max() == 1e5
    assert len(shown) <= 4000


def test_what_cannot_be_drawn():
    with pytest.raises(OptionError, match="give two"):
        stream_pair({"real": REAL}, 4)
    with pytest.raises(OptionError, match="different length"):
        stream_pair({"a": REAL, "b": {k: v[:2] for k, v in REAL.items()}}, 4)
    never = {**REAL, "start": np.full(4, np.nan)}
    with pytest.raises(OptionError, match="nothing to draw"):
        stream_pair({"a": never, "b": REAL}, 4)
    with pytest.raises(OptionError, match="at least one"):
        stream_differences([], [])
