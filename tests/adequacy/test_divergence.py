"""The first decision that differs, worked out by hand."""

from __future__ import annotations

from sojourn.adequacy import JobStream, first_divergence, match_streams

# Four nodes: a (3 nodes) runs to 10; b (4 nodes) heads the queue; c and d (1 node) behind it.
COLUMNS = {
    "submit": [0, 1, 2, 3],
    "nodes": [3, 4, 1, 1],
    "label": ["a", "b", "c", "d"],
}


def stream(start, end):
    return JobStream.of(start=start, end=end, **COLUMNS)


BACKFILLED = stream([0, 10, 2, 15], [10, 15, 9, 20])
IN_ORDER = stream([0, 10, 15, 15], [10, 15, 22, 20])


def test_another_job():
    """At 2 the first stream backfills c past b; the other starts b next, at 10."""
    found = first_divergence(match_streams(BACKFILLED, IN_ORDER))
    assert (found.kind, found.decision, found.capacity) == ("order", 2, 4)
    real, model = found.real, found.model
    assert (real.time, real.job, real.width, real.other_start) == (2.0, "c", 1, 10.0)
    assert (model.time, model.job, model.width, model.other_start) == (10.0, "b", 4, 15.0)
    assert real.queue == (("b", 4), ("c", 1))
    assert (real.running, real.busy, real.free) == (1, 3, 1)
    assert model.queue == (("b", 4), ("c", 1), ("d", 1))
    assert (model.running, model.busy, model.free) == (0, 0, 4)
    assert real.started == ("c",)


def test_the_same_job_later():
    late = stream([0, 12, 2, 17], [10, 17, 9, 22])
    found = first_divergence(match_streams(BACKFILLED, late), nodes=6)
    assert (found.kind, found.decision) == ("delay", 3)
    assert (found.real.job, found.model.job) == ("b", "b")
    assert (found.real.time, found.model.time) == (10.0, 12.0)
    assert found.model.free == 6
    assert first_divergence(match_streams(BACKFILLED, late), within=2.0) is None


def test_jobs_started_together_are_in_no_order():
    """c and d start at 15 in one stream, d a little before c in the other."""
    apart = stream([0, 10, 15.4, 15], [10, 15, 22.4, 20])
    found = first_divergence(match_streams(IN_ORDER, apart))
    assert (found.kind, found.real.job) == ("delay", "c")
    assert first_divergence(match_streams(IN_ORDER, apart), within=0.5) is None


def test_plain_values():
    told = first_divergence(match_streams(BACKFILLED, IN_ORDER)).as_dict()
    assert told["real"]["queue"][0] == {"job": "b", "width": 4}
    assert told["model"]["started"] == ["b"]
    assert first_divergence(match_streams(IN_ORDER, IN_ORDER)) is None
