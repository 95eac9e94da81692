"""What accounting tells of the requests of jobs: nodes, GPUs, memory, features, licences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.jobs import read_log
from sojourn.jobs.formats._pbs_requests import Chunk, chunks_of, request_of
from sojourn.jobs.formats.jobcomp import read_jobcomp
from sojourn.jobs.formats.pbs import read_pbs
from sojourn.jobs.formats.sacct import read_sacct

GB = 1024**2  # KB
NAMES = (
    *("JobID", "Submit", "Eligible", "Start", "End", "State", "ReqCPUS", "NNodes", "ReqMem"),
    *("ReqTRES", "AllocTRES", "Constraints", "Licenses", "Partition"),
)
ROW = {
    "JobID": "7",
    "Submit": "2024-03-01T12:00:00",
    "Eligible": "2024-03-01T12:00:00",
    "Start": "2024-03-01T12:30:00",
    "End": "2024-03-01T13:00:00",
    "State": "COMPLETED",
    "ReqCPUS": "8",
    "NNodes": "2",
}


@pytest.fixture
def sacct(tmp_path):
    def make(*rows, names=NAMES, delimiter="|", head=True):
        lines = [delimiter.join({**ROW, **row}.get(name, "") for name in names) for row in rows]
        path = tmp_path / "sacct.out"
        path.write_text("\n".join([*([delimiter.join(names)] if head else []), *lines]) + "\n")
        return path

    return make


@pytest.mark.parametrize(
    ("told", "memory", "per_node"),
    [
        ({"ReqMem": "4Gn"}, GB, 4 * GB),
        ({"ReqMem": "2000Mc"}, 2000 * 1024, -1),
        ({"ReqMem": "16G"}, 2 * GB, 8 * GB),
        ({"ReqMem": "16G", "ReqCPUS": "7"}, 16 * GB / 7, -1),
        ({"ReqMem": "0n"}, -1, -1),
        ({"ReqTRES": "cpu=8,mem=16G,node=2"}, 2 * GB, 8 * GB),
        ({"ReqMem": "4Gn", "ReqTRES": "cpu=8,mem=1G"}, GB, 4 * GB),
        ({}, -1, -1),
    ],
)
def test_memory(sacct, told, memory, per_node):
    jobs = read_sacct(sacct(told))
    assert jobs.memory.tolist() == [memory]
    assert jobs["memory_per_node"].tolist() == [per_node]
    assert ("memory_per_node" in jobs.names) == (per_node > 0)


def test_typed_gpus_and_other_resources(sacct):
    jobs = read_sacct(
        sacct(
            {"JobID": "1", "ReqTRES": "cpu=8,gres/gpu=4,gres/gpu:a100=4,gres/mic=2"},
            {"JobID": "2", "ReqTRES": "cpu=8,gres/gpu:a100=4"},
            {"JobID": "3", "ReqTRES": "cpu=8,gres/gpu=2", "AllocTRES": "gres/gpu:t4=2"},
            {"JobID": "4", "AllocTRES": "cpu=8,gres/gpu=2,gres/gpu:t4=2"},
            {"JobID": "5", "ReqTRES": "cpu=8,gres/gpu:a100=1,gres/gpu:t4=2"},
            {"JobID": "6"},
        )
    )
    assert jobs.gpus.tolist() == [4, 4, 2, 2, 3, -1]
    assert jobs.labels("gpu_type").tolist() == ["a100", "a100", "", "t4", "", ""]
    assert jobs["mic"].tolist() == [2, 0, 0, 0, 0, -1]
    assert jobs.further == ("mic",)
    assert jobs.report.count("mixed-gpus") == 1


def test_features_and_licences(sacct):
    jobs = read_sacct(
        sacct(
            {"JobID": "1", "Constraints": "cpu-a|cpu-b", "Licenses": "matlab:2,ansys"},
            {"JobID": "2", "Constraints": "(null)", "ReqTRES": "cpu=8,license/matlab=2"},
            {"JobID": "3", "Constraints": "[rack1|rack2]&!old", "Partition": "short,long"},
        )
    )
    assert jobs.labels("features").tolist() == ["cpu-a|cpu-b", "", "[rack1|rack2]&!old"]
    assert jobs.labels("licences").tolist() == ["matlab:2,ansys", "matlab:2", ""]
    assert jobs.labels("partition").tolist() == ["", "", "short,long"]


def test_without_names_and_with_another_delimiter(sacct):
    rows = [{"JobID": str(k), "ReqTRES": "cpu=8,gres/gpu:a100=4", "ReqMem": "4Gn"} for k in (1, 2)]
    path = sacct(*rows, delimiter=";", head=False)
    jobs = read_log(path, format="sacct", columns=NAMES, delimiter=";")
    assert jobs.labels("gpu_type").tolist() == ["a100", "a100"]
    assert jobs["memory_per_node"].tolist() == [4 * GB] * 2


def test_a_job_begins_when_it_became_eligible_if_that_was_later(sacct):
    path = sacct(
        {"JobID": "1", "Eligible": "2024-03-01T12:10:00"},
        {"JobID": "2"},
        {"JobID": "3", "Eligible": "Unknown"},
        {"JobID": "4", "Eligible": "2024-03-01T12:40:00"},  # after its start: it cannot be
    )
    assert read_sacct(path).begin.tolist() == [600, -1, -1, -1]
    assert "begin" not in read_sacct(path, wait_from="eligible").names


def test_a_bad_amount_is_one_line(sacct):
    path = sacct({"JobID": "1"}, {"JobID": "2", "ReqTRES": "cpu=8,gres/mic=many"})
    assert read_sacct(path).job.tolist() == [1]
    with pytest.raises(Exception, match="line 3, field 'reqtres': 'cpu=8,gres/mic=many' is no"):
        read_sacct(path, strict=True)


def test_jobcomp_tells_types_too(tmp_path):
    path = tmp_path / "jobcomp"
    path.write_text(
        "JobId=7 UserId=ann(5) GroupId=u(5) Name=x JobState=COMPLETED Partition=p TimeLimit=30 "
        "StartTime=2024-03-01T12:01:00 EndTime=2024-03-01T12:11:00 NodeList=n1 NodeCnt=1 ProcCnt=4 "
        "SubmitTime=2024-03-01T12:00:00 EligibleTime=2024-03-01T12:00:30 "
        "Tres=cpu=4,gres/gpu:v100=2,license/ansys=1,gres/nic=1\n"
    )
    jobs = read_jobcomp(path)
    assert (jobs.gpus.tolist(), jobs.labels("gpu_type").tolist()) == ([2], ["v100"])
    assert jobs.labels("licences").tolist() == ["ansys:1"]
    assert jobs["nic"].tolist() == [1]
    assert jobs.begin.tolist() == [30]


T = 1709294400  # 2024-03-01 12:00:00 UTC


@pytest.fixture
def pbs(tmp_path):
    def make(*requests):
        path = tmp_path / "20240301"
        path.write_text(
            "".join(
                f"03/01/2024 12:10:00;E;{k}.srv;user=ann queue=q ctime={T} qtime={T} etime={T}"
                f" start={T + 60} end={T + 600} Exit_status=0 {request}\n"
                for k, request in enumerate(requests, 1)
            )
        )
        return path

    return make


def test_equal_chunks_are_nodes(pbs):
    select = "Resource_List.select=2:ncpus=16:mpiprocs=16:ngpus=2:mem=32gb:nmics=1:bigmem=true"
    jobs = read_pbs(pbs(f"{select}:gpu_model=k20 Resource_List.place=scatter:excl"))
    assert jobs.procs.tolist() == [32]
    assert jobs.nodes.tolist() == [2]
    assert jobs.cores_per_node.tolist() == [16]
    assert jobs.gpus.tolist() == [4]
    assert jobs.labels("gpu_type").tolist() == ["k20"]
    assert jobs["memory_per_node"].tolist() == [32 * GB]
    assert jobs.memory.tolist() == [2 * GB]
    assert jobs["mics"].tolist() == [2]
    assert jobs.labels("features").tolist() == ["bigmem"]
    assert jobs.whole_node.tolist() == [1]


def test_different_chunks_are_totals_and_counted(pbs):
    path = pbs(
        "Resource_List.select=2:ncpus=16:ngpus=2:mem=32gb+1:ncpus=4:mem=4gb",
        "Resource_List.select=1:ncpus=4+1:ncpus=4 Resource_List.place=free",
    )
    jobs = read_pbs(path)
    assert jobs.procs.tolist() == [36, 8]
    assert jobs.nodes.tolist() == [3, 2]
    assert jobs.gpus.tolist() == [4, 0]
    assert jobs.cores_per_node.tolist() == [-1, 4]
    assert jobs.memory.tolist() == [68 * GB / 36, -1]
    assert "memory_per_node" not in jobs.names
    assert jobs.whole_node.tolist() == [-1, 0]
    (said,) = [each for each in jobs.report.findings if each.rule == "different-chunks"]
    assert (said.count, said.first) == (1, (1,))


def test_chunks_that_shared_a_node_are_not_nodes(pbs):
    jobs = read_pbs(pbs("exec_host=n1/0*8 Resource_List.select=2:ncpus=4:mem=1gb"))
    assert jobs.nodes.tolist() == [1]
    assert jobs.procs.tolist() == [8]
    assert "cores_per_node" not in jobs.names
    assert jobs.memory.tolist() == [GB / 4]
    assert jobs.report.count("packed-chunks") == 1


def test_torque(pbs):
    path = pbs(
        "Resource_List.nodes=2:ppn=8:gpus=1:fat Resource_List.naccesspolicy=singlejob",
        "Resource_List.nodes=n12:ppn=4 depend=afterok:1.srv",
        "Resource_List.ncpus=4 Resource_List.matlab=2",
    )
    jobs = read_pbs(path)
    assert jobs.cores_per_node.tolist() == [8, 4, -1]
    assert jobs.gpus.tolist() == [2, 0, -1]
    assert jobs.labels("features").tolist() == ["fat", "", ""]
    assert jobs.whole_node.tolist() == [1, -1, -1]
    assert jobs.labels("after").tolist() == ["", "afterok:1.srv", ""]
    assert jobs["matlab"].tolist() == [0, 0, 2]
    assert jobs.report.count("named-request") == 1


CHUNKS = st.lists(
    st.tuples(
        st.integers(1, 9),
        st.integers(1, 64),
        st.integers(0, 8),
        st.sampled_from([-1.0, 1.0 * GB, 32.0 * GB]),
        st.sampled_from([(), (("mics", 2),)]),
    ).map(lambda drawn: Chunk(*drawn[:4], resources=drawn[4])),
    min_size=1,
    max_size=4,
)


def as_text(chunk: Chunk) -> str:
    parts = [str(chunk.times), f"ncpus={chunk.cores}"]
    parts += [f"ngpus={chunk.gpus}"] if chunk.gpus else []
    parts += [f"mem={int(chunk.memory / GB)}gb"] if chunk.memory > 0 else []
    parts += [f"nmics={amount}" for _, amount in chunk.resources]
    return ":".join(parts)


@settings(max_examples=200, deadline=None)
@given(CHUNKS)
def test_any_chunks_keep_their_totals(chunks):
    text = "+".join(map(as_text, chunks))
    assert chunks_of(text) == tuple(chunks)
    request = request_of({"Resource_List.select": text})
    assert request.chunks == sum(chunk.times for chunk in chunks)
    same = len({chunk._replace(times=1) for chunk in chunks}) == 1
    assert request.differs is not same
    assert request.cores_per_node == (chunks[0].cores if same else -1)
    mics = sum(chunk.times * 2 for chunk in chunks if chunk.resources)
    assert request.resources == (f"mics={mics}" if mics else "")


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789:+=#ncpusmegbt /", max_size=30))
def test_no_text_of_a_request_stops_the_reader(text):
    request = request_of({"Resource_List.select": text, "Resource_List.place": text})
    assert request.whole_node in (-1, 0, 1)
    assert request.memory >= -1
