"""Reports in a real browser: charts drawn, zoom, legends, colours, print; no error, no network."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.report.page import write_report
from sojourn.report.page.collect import points_of_study
from sojourn.report.page.difference import write_difference
from sojourn.report.page.folder import read_folder
from sojourn.study.difference import Difference

from ..conftest import EVIL, made_jobs, study_rows, write_simulated, write_study
from ..test_numbers import searched
from .chromium import Browser

_LENGTHS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
FOLDERS = ("run_folder", "comparison_folder", "study_folder")


@pytest.fixture(scope="session")
def pages(request, tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("pages")
    return {
        name: write_report(request.getfixturevalue(name), place / f"{name}.html")
        for name in FOLDERS
    }


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> Path:
    """A report on 500,000 jobs."""
    folder = tmp_path_factory.mktemp("large") / "large"
    jobs = made_jobs(500_000, 1024, load=0.85, users=300)
    write_simulated(folder, jobs, 1024, "easy")
    return write_report(folder, folder.parent / "large.html")


def picture(browser: Browser, name: str) -> None:
    """Keep a picture to look at, where SOJOURN_PICTURES names a folder."""
    folder = os.environ.get("SOJOURN_PICTURES")
    if folder:
        browser.screenshot(Path(folder) / f"{name}.png")


def middle(browser: Browser, selector: str, index: int = 0) -> tuple[float, float]:
    """Scroll to an element and return the middle of it in the window."""
    x, y = browser.evaluate(
        f"(() => {{ const node = document.querySelectorAll({selector!r})[{index}];"
        "node.scrollIntoView({block: 'center'});"
        "const box = node.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    return x, y


def panel(browser: Browser) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of the chart of servers in the window."""
    browser.evaluate("document.getElementById('timeline').scrollIntoView({block: 'center'})")
    left, right, top, bottom = browser.evaluate(
        "(() => { const node = document.getElementById('timeline');"
        "const box = node.getBoundingClientRect(); const a = node._fullLayout;"
        "return [box.x + a.xaxis._offset, box.x + a.xaxis._offset + a.xaxis._length,"
        "box.y + a.yaxis._offset, box.y + a.yaxis._offset + a.yaxis._length]; })()"
    )
    return left, right, top, bottom


def live(browser: Browser) -> str:
    return browser.evaluate(
        "document.getElementById('timeline').parentElement.querySelector('.live').textContent"
    )


def check_drawn(browser: Browser) -> None:
    """Every trace of every chart has left marks, and no chart is wider than its place."""
    charts = browser.evaluate(
        "[...document.querySelectorAll('.chart')].map(node => ({id: node.id,"
        "drawn: node.dataset.drawn,"
        "traces: node._fullData.filter(trace => trace.visible === true).length,"
        "groups: node.querySelectorAll('.cartesianlayer .trace, .cartesianlayer .hm').length,"
        "marks: [...node.querySelectorAll('.cartesianlayer .trace path')]"
        ".filter(path => path.getAttribute('d')?.length > 20).length,"
        "width: node.querySelector('.main-svg').getBoundingClientRect().width,"
        "room: node.getBoundingClientRect().width}))"
    )
    assert charts
    for chart in charts:
        assert chart["drawn"] == "yes", chart
        assert chart["groups"] >= chart["traces"] >= 1, chart
        assert chart["marks"] >= 1, chart
        assert chart["width"] <= chart["room"] + 1, chart


def check_quiet(browser: Browser) -> None:
    """Nothing went wrong, nothing was fetched, and no button would send anything."""
    assert browser.errors == []
    outside = [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert outside == []
    buttons = browser.evaluate(
        "[...document.querySelectorAll('.modebar-btn')].map(node => node.dataset.title)"
    )
    assert "Download plot as a PNG" in buttons
    assert not [title for title in buttons if re.search("share|cloud|edit", title, re.I)]


@pytest.mark.parametrize("name", FOLDERS)
def test_every_chart_is_drawn_dark_light_narrow_and_on_paper(browser, pages, name):
    browser.look(1200, 900, dark=True)
    browser.open(pages[name])
    check_scheme(browser, dark=True)
    picture(browser, f"{name}-dark")
    browser.look(1200, 900)
    browser.wait("document.querySelector('.chart')._fullLayout.font.color === '#222222'")
    check_scheme(browser, dark=False)
    picture(browser, f"{name}-light")
    browser.look(390, 800)
    browser.wait("document.querySelector('.chart')._fullLayout.width < 390")
    check_drawn(browser)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    picture(browser, f"{name}-narrow")
    browser.look(1200, 900, dark=True)
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    assert 20_000 < len(printed) < 6_000_000
    folder = os.environ.get("SOJOURN_PICTURES")
    if folder:
        (Path(folder) / f"{name}.pdf").write_bytes(printed)
    check_quiet(browser)


def check_scheme(browser: Browser, *, dark: bool) -> None:
    """Page and charts have the colours of the scheme."""
    check_drawn(browser)
    paper = browser.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")
    inks = browser.evaluate(
        "[...document.querySelectorAll('.chart')].map(node => node._fullLayout.font.color)"
    )
    assert set(inks) == {"#E8E8E8" if dark else "#222222"}


def test_zoom_shows_single_jobs_and_comes_back(browser, pages):
    browser.look(1200, 900)
    browser.open(pages["run_folder"])
    assert "cells of" in live(browser)
    kinds = "document.getElementById('timeline')._fullData.map(t => t.type)"
    assert "heatmap" in browser.evaluate(kinds)
    left, right, top, bottom = panel(browser)
    centre = (left + right) / 2
    browser.drag((centre, top + 40), (centre + 0.04 * (right - left), bottom - 20))
    browser.wait(f"{kinds}.includes('bar')")
    assert "one by one" in live(browser)
    shown = browser.evaluate(
        "(() => { const node = document.getElementById('timeline');"
        "const bars = node._fullData.find(t => t.type === 'bar');"
        "return {bars: bars.x.length, drawn: node.querySelectorAll('.barlayer .point path').length,"
        "range: node.layout.xaxis.range.map(v => typeof v === 'string' ? Date.parse(v + 'Z') : v),"
        "steps: node._fullData.find(t => t.uid === 'path-0-0').x.length}; })()"
    )
    assert 0 < shown["bars"] <= 1200
    assert shown["drawn"] >= 0.5 * shown["bars"]
    picture(browser, "zoomed")
    browser.click(*middle(browser, "#timeline .modebar-btn[data-title='Reset axes']"))
    browser.wait(f"{kinds}.includes('heatmap')")
    assert "cells of" in live(browser)
    check_quiet(browser)


def test_what_is_shown_is_what_the_run_did(browser, pages, run_folder):
    """Cells and curves have the utilisation of the run; boxes are its jobs, where and when."""
    import pyarrow.parquet as pq

    browser.look(1200, 900)
    browser.open(pages["run_folder"])
    summary = json.loads((run_folder / "summary.json").read_text())
    idle, path = browser.evaluate(
        "(() => { const traces = document.getElementById('timeline')._fullData;"
        "const z = traces.find(t => t.uid === 'idle').z.flatMap(row => [...row]);"
        "const y = [...traces.find(t => t.uid === 'path-0-0').y].slice(0, -1);"
        "const mean = (list) => list.reduce((a, b) => a + b) / list.length;"
        "return [mean(z), mean(y)]; })()"
    )
    assert 1 - idle == pytest.approx(summary["utilisation"], abs=0.01)
    assert path / summary["procs"] == pytest.approx(summary["utilisation"], abs=0.01)
    assert "busy processors" in browser.evaluate("document.getElementById('timeline').textContent")
    jobs = pq.read_table(run_folder / "jobs.parquet").to_pandas()
    low, high = (float(v) for v in np.quantile(jobs["start"], [0.5, 0.52]))
    offset = 1e9
    browser.evaluate(
        f"Plotly.relayout('timeline', {{'xaxis.range': [{1000 * (offset + low)},"
        f"{1000 * (offset + high)}]}}).then(() => true)"
    )
    browser.wait("document.getElementById('timeline')._fullData.some(t => t.type === 'bar')")
    shown = browser.evaluate(
        "(() => { const t = document.getElementById('timeline')._fullData"
        ".find(t => t.type === 'bar'); return t.customdata.map((text, i) => ("
        "{job: Number(text.match(/job (\\d+)/)[1]), told: text, start: t.base[i],"
        "length: t.x[i], bottom: t.y[i] - t.width[i] / 2, procs: t.width[i]})); })()"
    )
    inside = jobs[(jobs["start"] <= high) & (jobs["end"] >= low)].set_index("job")
    assert {box["job"] for box in shown} == set(inside.index)
    held = dict.fromkeys(inside.index, 0)
    for box in shown:
        job = inside.loc[box["job"]]
        held[box["job"]] += box["procs"]
        assert box["start"] / 1000 - offset == pytest.approx(job["start"], abs=1e-2)
        assert box["length"] / 1000 == pytest.approx(job["end"] - job["start"], abs=1e-2)
        assert 0 <= box["bottom"] <= box["bottom"] + box["procs"] <= 64
        told = re.search(r"waited ([\d.,]+) (\w+)<br>ran ([\d.,]+) (\w+)$", box["told"])
        for name, value, unit in (("wait", *told.groups()[:2]), ("service", *told.groups()[2:])):
            seconds = float(value.replace(",", "")) * _LENGTHS[unit]
            assert seconds == pytest.approx(job[name], rel=6e-3)
    assert held == inside["procs"].to_dict()
    check_quiet(browser)


def test_points_lie_where_the_study_found_them(browser, pages, study_folder):
    browser.look(1200, 900)
    browser.open(pages["study_folder"])
    traces = browser.evaluate(
        "document.getElementById('tradeoff')._fullData.filter(t => t.error_x?.visible)"
        ".map(t => ({name: t.name, x: [...t.x], y: [...t.y], plus: [...t.error_y.array],"
        "minus: [...t.error_x.arrayminus]}))"
    )
    points = points_of_study(read_folder(study_folder))
    assert [trace["name"] for trace in traces] == ["fcfs", "sjf"]
    for trace, order in zip(traces, ("fcfs", "sjf"), strict=True):
        rows = [i for i in range(8) if points.keys["policy.order"][i] == order]
        wait, energy = ([points.intervals[name][i] for i in rows]
                        for name in ("wait_mean", "energy_kwh"))  # fmt: skip
        assert trace["x"] == pytest.approx([each.estimate / 3600 for each in wait], rel=1e-5)
        assert trace["y"] == pytest.approx([each.estimate / 1000 for each in energy], rel=1e-5)
        assert trace["minus"] == pytest.approx([e.half_width / 3600 for e in wait], rel=1e-3)
        assert trace["plus"] == pytest.approx([e.half_width / 1000 for e in energy], rel=1e-3)
    titles = browser.evaluate(
        "['xaxis', 'yaxis'].map(a => document.getElementById('tradeoff')._fullLayout[a].title.text)"
    )
    assert titles == ["mean wait (h)", "energy (MWh)"]
    check_quiet(browser)


def test_a_front_stands_out(browser, tmp_path):
    folder, _ = searched(tmp_path)
    browser.look(1200, 900)
    browser.open(write_report(folder, tmp_path / "search.html"))
    check_drawn(browser)
    picture(browser, "front")
    traces = browser.evaluate(
        "document.getElementById('tradeoff')._fullData.map(t => ({name: t.name, n: t.x.length,"
        "symbol: t.marker?.symbol, bars: t.error_x?.visible === true}))"
    )
    told = {trace["name"]: trace for trace in traces}
    assert told["sjf, front"] == {"name": "sjf, front", "n": 4, "symbol": "diamond", "bars": True}
    # Points that only the search has seen would look better than they are.
    assert not any(name.startswith("fcfs") for name in told)
    assert told["not beaten in both"]["n"] == 4
    check_quiet(browser)


@pytest.mark.parametrize(("name", "chart"), [("comparison_folder", "waits"),
                                             ("study_folder", "curves")])  # fmt: skip
def test_a_click_on_the_legend_hides_and_shows(browser, pages, name, chart):
    browser.look(1200, 900)
    browser.open(pages[name])
    entry = f"#{chart} .legendtoggle"
    visible = f"document.getElementById('{chart}')._fullData[0].visible"
    assert browser.evaluate(visible) is True
    for wanted in ("'legendonly'", "true"):
        browser.click(*middle(browser, entry))
        browser.wait(f"{visible} === {wanted}")
    check_quiet(browser)


def test_axes_of_a_study_can_be_chosen(browser, pages):
    browser.look(1200, 900)
    browser.open(pages["study_folder"])
    title = "document.getElementById('tradeoff')._fullLayout.yaxis.title.text"
    assert browser.evaluate(title) == "energy (MWh)"
    browser.evaluate(
        "(() => { const list = document.querySelectorAll('#tradeoff')[0].parentElement"
        ".querySelectorAll('select')[1]; list.value = 'bounded_slowdown_mean';"
        "list.dispatchEvent(new Event('change')); })()"
    )
    browser.wait(f"{title} === 'mean bounded slowdown'")
    bars = browser.evaluate("document.querySelectorAll('#tradeoff .errorbar').length")
    assert bars == 8
    check_quiet(browser)


def test_the_servers_of_another_run(browser, pages):
    browser.look(1200, 900)
    browser.open(pages["comparison_folder"])
    first = live(browser)
    browser.evaluate(
        "(() => { const list = document.getElementById('timeline').parentElement"
        ".querySelector('select'); list.value = '2'; list.dispatchEvent(new Event('change')); })()"
    )
    assert "cells of" in first
    names = browser.evaluate(
        "document.getElementById('timeline')._fullData.filter(t => t.showlegend).map(t => t.name)"
    )
    assert names == ["fcfs", "easy", "conservative"]
    check_drawn(browser)
    check_quiet(browser)


def test_half_a_million_jobs(browser, large):
    assert large.stat().st_size < 8e6
    browser.look(1200, 900)
    browser.open(large)
    check_drawn(browser)
    picture(browser, "large")
    assert "of the processor time, can be seen one by one" in live(browser)
    seconds = browser.evaluate(
        "(async () => { const node = document.getElementById('timeline');"
        "const [a, b] = node.layout.xaxis.range.map(v => typeof v === 'string' ? "
        "Date.parse(v.replace(' ', 'T') + 'Z') : v); const times = [];"
        "for (let k = 1; k <= 8; k++) { const half = (b - a) / 2 ** (k + 1);"
        "const begun = performance.now(); await Plotly.relayout(node, "
        "{'xaxis.range': [(a + b) / 2 - half, (a + b) / 2 + half]});"
        "await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
        "times.push((performance.now() - begun) / 1000); } return times; })()"
    )
    print("seconds per zoom:", [round(each, 2) for each in seconds])
    browser.wait("document.getElementById('timeline')._fullData.some(t => t.type === 'bar')")
    marks = browser.evaluate("document.querySelectorAll('#timeline *').length")
    assert marks < 12_000
    picture(browser, "large-zoomed")
    check_quiet(browser)


def test_words_of_others_do_nothing(browser, tmp_path):
    rows = study_rows(orders=(EVIL, "sjf"))
    folder = write_study(tmp_path / "study", rows, question=EVIL)
    browser.look(1200, 900)
    browser.open(write_report(folder, tmp_path / "study.html"))
    check_drawn(browser)
    picture(browser, "evil")
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    check_quiet(browser)


@pytest.fixture(scope="session")
def difference(tmp_path_factory) -> tuple[Difference, Path]:
    jobs = made_jobs(2000, 64, load=0.9, users=6)
    found = sojourn.diff(
        sojourn.Cluster.homogeneous(64), sojourn.Cluster.homogeneous(72), jobs, draws=4
    )
    page = tmp_path_factory.mktemp("difference") / "diff.html"
    return found, write_difference(found, page)


def test_a_difference_is_drawn_dark_and_light(browser, difference):
    _, page = difference
    for dark in (True, False):
        browser.look(1200, 900, dark=dark)
        browser.open(page)
        check_scheme(browser, dark=dark)
        picture(browser, f"difference-{'dark' if dark else 'light'}")
    order = browser.evaluate("[...document.querySelectorAll('section')].map(node => node.id)")
    assert order[:3] == ["part-adequacy", "part-lines", "part-measures"]
    assert set(order[3:]) >= {"part-by-user", "part-by-width", "part-distributions", "part-time"}
    check_quiet(browser)


def test_who_gains_and_who_loses_stand_where_they_should(browser, difference):
    found, page = difference
    browser.look(1200, 900)
    browser.open(page)
    drawn = browser.evaluate(
        "document.getElementById('changes-user')._fullData.map(trace => ({verdict: trace.uid,"
        "color: trace.marker.color, x: [...trace.x], y: [...trace.y],"
        "more: [...trace.error_x.array], less: [...trace.error_x.arrayminus]}))"
    )
    color = {"better": "#0072B2", "worse": "#D55E00", "no sure difference": "#6E6E6E"}
    rows = {row.name: row.wait for row in found.classes["user"]}
    seen = []
    for trace in drawn:
        assert trace["color"] == color[trace["verdict"]]
        for name, x, more, less in zip(
            *(trace[k] for k in ("y", "x", "more", "less")), strict=True
        ):
            change = rows[name].difference
            assert rows[name].verdict == trace["verdict"]
            ends = (change.low, change.estimate, change.high)
            assert 60 * np.sinh([x - less, x, x + more]) == pytest.approx(ends, rel=1e-4, abs=0.1)
            seen.append(name)
    assert sorted(seen) == sorted(rows)
    shown = browser.evaluate(
        "document.getElementById('changes-user')._fullLayout.yaxis._categories"
    )
    by_change = sorted(rows, key=lambda name: -rows[name].difference.estimate)
    assert shown == by_change  # from below: who gains most is on top
