"""What a page holds of half a million jobs: nothing is lost but detail."""

from __future__ import annotations

import base64
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.report.figures.binning import Path as StepPath
from sojourn.report.figures.binning import distribution_curve
from sojourn.report.figures.boxes import assign_servers
from sojourn.report.page.aggregate import (
    Blocks,
    aggregate_blocks,
    aggregate_path,
    jain_index,
)
from sojourn.report.page.pack import Packer


def unpacked(block: bytes, reference: dict[str, object]) -> np.ndarray:
    """Undo the packing as its description says, byte by byte."""
    at, n, size = reference["at"], reference["n"], int(reference["kind"][1])
    planes = [block[at + place * n : at + (place + 1) * n] for place in range(size)]
    data = b"".join(bytes(plane[i] for plane in planes) for i in range(n))
    values = np.frombuffer(data, dtype=f"<{reference['kind']}")
    return np.cumsum(values, dtype=values.dtype) if reference["delta"] else values


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40),
    st.lists(st.floats(width=32, allow_nan=False), max_size=40),
    st.lists(st.integers(0, 65535), max_size=40),
)
def test_packed_arrays_come_back(whole, real, small):
    packer = Packer()
    kinds = [(whole, "i4", True), (real, "f4", False), (small, "u2", False), (whole, "f8", False)]
    references = [packer.add(values, kind, delta=delta) for values, kind, delta in kinds]
    block = gzip.decompress(base64.b64decode(packer.block()))
    for (values, kind, _), reference in zip(kinds, references, strict=True):
        np.testing.assert_array_equal(unpacked(block, reference), np.array(values, dtype=kind))


def test_packing_depends_on_nothing_but_the_arrays():
    blocks = []
    for _ in range(2):
        packer = Packer()
        packer.add(np.arange(1000), "i4", delta=True)
        blocks.append(packer.block())
    assert blocks[0] == blocks[1]


def made_blocks(count, servers=16, seed=2):
    rng = np.random.default_rng(seed)
    start = np.sort(rng.uniform(0, 1000, count))
    procs = rng.integers(1, 3, count)
    length = np.minimum(rng.exponential(15.0, count), 60.0)
    # Jobs that would not fit are left out, so that no two share a server.
    kept, running = [], []
    for i in range(count):
        running = [(end, width) for end, width in running if end > start[i]]
        if sum(width for _, width in running) + procs[i] <= servers:
            running.append((start[i] + length[i], procs[i]))
            kept.append(i)
    start, length, procs = start[kept], length[kept], procs[kept]
    pieces = assign_servers(start, start + length, procs, servers)
    rows = pieces.job
    wait = rng.exponential(100.0, start.size)[rows]
    return Blocks(start[rows], (start + length)[rows], pieces.first, pieces.procs, rows + 1, wait)


def test_cells_are_exact_averages():
    blocks = made_blocks(400)
    span = (0.0, 1100.0)
    cells, kept, held = aggregate_blocks(blocks, span, 16, 50)
    assert cells.share.shape == (16, 256)
    rng = np.random.default_rng(0)
    for row, column in rng.integers((0, 0), cells.share.shape, (60, 2)):
        low, high = cells.columns[column], cells.columns[column + 1]
        covered = np.zeros(blocks.start.size)
        inside = (blocks.first <= row) & (row < blocks.first + blocks.procs)
        overlap = np.minimum(blocks.end, high) - np.maximum(blocks.start, low)
        covered[inside] = np.maximum(overlap[inside], 0.0)
        assert cells.share[row, column] == pytest.approx(covered.sum() / (high - low), abs=1e-9)
        if covered.sum() > 1e-6 * (high - low):
            mean = np.dot(covered, blocks.wait) / covered.sum()
            assert cells.wait[row, column] == pytest.approx(mean, rel=1e-6)
    area = (blocks.end - blocks.start) * blocks.procs
    cell = (span[1] - span[0]) / 256
    assert cells.share.sum() * cell == pytest.approx(area.sum())
    # Those kept are the largest; what is left is what the others cover.
    assert kept.start.size == 50
    assert (np.diff(kept.start) >= 0).all()
    largest = np.sort(area)[::-1][:50]
    np.testing.assert_allclose(np.sort((kept.end - kept.start) * kept.procs)[::-1], largest)
    assert held == pytest.approx(largest.sum() / area.sum())
    assert cells.rest_share.sum() * cell == pytest.approx(area.sum() - largest.sum())


def test_all_blocks_are_kept_if_there_is_room():
    blocks = made_blocks(100)
    cells, kept, held = aggregate_blocks(blocks, (0.0, 1100.0), 16, 10_000)
    assert kept.start.size == blocks.start.size
    assert held == 1.0
    assert cells.rest_share.max() < 1e-9


def test_a_path_keeps_its_area_and_extremes():
    rng = np.random.default_rng(4)
    time = np.sort(rng.uniform(0.0, 1e4, 50_000))
    path = StepPath.of(time, rng.integers(0, 100, time.size))
    bins = aggregate_path(path, (time[0], time[-1]))
    assert bins.mean.size == 16384
    whole = np.dot(np.diff(time), path.value[:-1])
    assert np.dot(np.diff(bins.edges), bins.mean) == pytest.approx(whole)
    assert bins.high.max() == path.value[:-1].max()
    assert bins.low.min() == path.value[:-1].min()
    assert aggregate_path(path, (time[0], time[-1]), charts=8).mean.size == 2048


def test_a_distribution_has_values_of_the_sample_with_their_shares():
    rng = np.random.default_rng(5)
    values = np.concatenate([np.zeros(3000), rng.lognormal(3.0, 2.0, 7000), [np.nan, np.inf]])
    curve = distribution_curve(values, 1e-3)
    known = values[np.isfinite(values)]
    assert curve.value.size <= 401
    assert curve.share[0] == pytest.approx(np.mean(known <= 1e-3))
    for value, share in zip(curve.value, curve.share, strict=True):
        assert share == pytest.approx(np.mean(known <= value))
    assert set(curve.value[1:]) <= set(known)
    assert curve.value[-1] == known.max()


def test_a_short_sample_is_shown_whole():
    curve = distribution_curve(np.array([3.0, 1.0, 2.0, 2.0]), 0.5)
    assert curve.value.tolist() == [0.5, 1.0, 2.0, 3.0]
    assert curve.share.tolist() == [0.0, 0.25, 0.75, 1.0]


def test_jain_index():
    assert jain_index(np.array([2.0, 2.0, 2.0])) == pytest.approx(1.0)
    assert jain_index(np.array([5.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain_index(np.array([1.0, 3.0, np.nan])) == pytest.approx(16 / 20)
    assert np.isnan(jain_index(np.zeros(3)))
