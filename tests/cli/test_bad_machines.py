"""Machines and requests with something wrong: one line, exit code 2, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

NODE = '[[node]]\nname = "n[1-4]"\ncores = 4\ngpu = 2\nmemory = 32\n'
PARTITION = f'{NODE}[[partition]]\nname = "a"\nnodes = "all"\n'
QUEUE = f'{PARTITION}[[queue]]\nname = "q"\n'
POOL = f'{NODE}[[pool]]\nname = "matlab"\n'
MACHINE = f"{PARTITION}[[pool]]\nname = 'matlab'\ncount = 2\n"
COLUMNS = ("job", "submit", "runtime", "procs", "estimate", "partition", "nodes")
JOB = {"job": "1", "submit": "0", "runtime": "10", "procs": "1", "estimate": "10"} | {
    "partition": "a",
    "nodes": "1",
}


def _table(**asked: str) -> str:
    """Two jobs, the first of which asks for something."""
    names = [*COLUMNS, *(name for name in asked if name not in COLUMNS)]
    rows = [{**JOB, **asked}, {**JOB, "job": "2"}]
    lines = [",".join(f'"{row.get(name, "")}"' for name in names) for row in rows]
    return "\n".join([",".join(names), *lines]) + "\n"


@pytest.fixture
def refuses(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run a log on a machine in an empty folder; return the line, and see that nothing is left."""
    monkeypatch.chdir(tmp_path)

    def call(cluster: str, log: str = _table(), *options: str, **files: str) -> str:
        Path("log.csv").write_text(log, encoding="utf-8")
        for name, text in files.items():
            Path(name.replace("_", ".")).write_text(text, encoding="utf-8")
        before = sorted(tmp_path.iterdir())
        line = refused(
            "simulate", "log.csv", "--cluster", cluster, "--out", tmp_path / "run", *options
        )
        assert sorted(tmp_path.iterdir()) == before
        return line

    return call


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "c.toml: describes no node"),
        ("[[node]\n", "c.toml, line 1: is not TOML"),
        ("x = 1", "c.toml: unknown key 'x'"),
        ("node = 3", "field 'node': nodes are tables"),
        ("[[node]]\n", "field 'node 1: cores': is missing"),
        (NODE.replace("= 4", "= 0"), "field 'node 1: cores': 0 is not above 0"),
        (NODE.replace("= 4", "= 1.5"), "field 'node 1: cores': 1.5 is not a whole number"),
        (NODE.replace("= 4", "= true"), "field 'node 1: cores': True is not a number"),
        (NODE.replace("[1-4]", "[4-1]"), "field 'node 1: name': 'n[4-1]' is no list of nodes"),
        (NODE.replace("[1-4]", "[1-"), "field 'node 1: name': 'n[1-' is no list of nodes"),
        (NODE.replace("[1-4]", "[1-9999999999]"), "is no list of nodes"),
        (f"{NODE}count = 99999999999", "field 'node 1"),
        (NODE + NODE, "field 'node 2: name': two nodes are called 'n1'"),
        (NODE.replace("= 32", '= "4Q"'), "field 'node 1: memory': '4Q' is not a number"),
        (NODE.replace("= 32", "= nan"), "field 'node 1: memory': nan is not a number"),
        (NODE.replace("= 2", "= -1"), "field 'node 1: gpu': -1 of gpu; give a whole number"),
        (NODE.replace("= 2", '= "x"'), "field 'node 1: gpu': 'x' is not a number"),
        (NODE.replace("= 2", f"= {10**20}"), "give a whole number, at most"),
        (f"{NODE}resources = 3", "field 'node 1: resources': is no table"),
        (f"{NODE}resources = {{ nvme = 'y' }}", "field 'node 1: resources': 'y' is not a number"),
        (f"{NODE}features = [1]", "field 'node 1: features': [1] is no list of words"),
        (f"{NODE}features = 3", "field 'node 1: features': 3 is no list of words"),
        (f"{NODE}chips = 'x'", "field 'node 1: chips': 'x' is not a number"),
        (f"{NODE}ops = -1\nwatts = 3", "field 'node 1: ops': -1 is not above 0"),
        (f"{NODE}ops = 5\nwatts = 'x'", "field 'node 1: watts': 'x' is not a number"),
        (f"{NODE}ops = 5\nwatts = [1, 2]", "field 'node 1: watts': 2 values; give 1"),
        (f"{NODE}idle_watts = 4", "field 'node 1: watts': is missing"),
        (f"{NODE}server = 4", "field 'node 1: server': 4 is not text"),
        (f"{NODE}server = 'zz'", "field 'node 1: server': no server is called 'zz'"),
        (f"{NODE}model = '=1'", "field 'node 1: model': '=1' begins with '='"),
        (f"{NODE}count = 'x'", "field 'node 1: count': 'x' is not a number"),
        (f"{NODE}count = 3", "field 'node 1: count': 3, but 'n[1-4]' are 4"),
        (NODE.replace('"n[1-4]"', "3"), "field 'node 1: name': 3 is not text"),
        (NODE.replace("[1-4]", "[1,1]"), "field 'node 1: name': two nodes are called 'n1'"),
        (f"{NODE}gpus = 1", "field 'node 1: gpus': 'gpu' is given twice"),
        (f"{NODE}resources = {{ cores = 1 }}", "'cores' is no further resource"),
        (f"{NODE}resources = {{ nvme = 1.5 }}", "1.5 of nvme; give a whole number"),
        (f"{NODE}cores = 5", "c.toml: is not TOML"),
        (f"processor = 'x'\n{NODE}", "processor 'x': choose core, chip, node"),
        (f"reference_ops = 'x'\n{NODE}", "field 'reference_ops': 'x' is not a number"),
        (f"servers = 3\n{NODE}", "field 'servers': give the name of a file"),
        (f"servers = 'none.csv'\n{NODE}", "none.csv: no such file"),
        (f"{NODE}colour = 'red'", "field 'node 1': unknown key 'colour'"),
        (f"{NODE}[[partition]]\n", "field 'partition 1: name': is missing"),
        (f"{NODE}[[partition]]\nname = 3", "field 'partition 1: name': 3 is not text"),
        (f"{NODE}[[partition]]\nname = 'a'", "field 'partition 1: nodes': is missing"),
        (PARTITION.replace('"all"', '"zz"'), "field 'partition 1: nodes': no node is called 'zz'"),
        (PARTITION.replace('"all"', "3"), "field 'partition 1: nodes': '3' is no list of names"),
        (PARTITION.replace('"a"', '"a,b"'), "several with commas between"),
        (f"{PARTITION}max_time = 'soon'", "field 'partition 1: max_time': 'soon' is no time"),
        (f"{PARTITION}max_time = -1", "field 'partition 1: max_time': '-1' is no time"),
        (f"{PARTITION}max_nodes = 0", "field 'partition 1: max_nodes': 0 is not above 0"),
        (f"{PARTITION}max_nodes = 1\nmin_nodes = 2", "at most 1 nodes, but at least 2"),
        (f"{PARTITION}min_nodes = 'x'", "field 'partition 1: min_nodes': 'x' is not a number"),
        (f"{PARTITION}min_nodes = 9", "min_nodes': 9, but the partition has 4 nodes"),
        (f"{PARTITION}max_time = [1]", "field 'partition 1: max_time': [1] is not a number"),
        (f"{PARTITION}tier = 1.5", "field 'partition 1: tier': 1.5; give a whole number"),
        (PARTITION.replace('"all"', "[]"), "field 'partition 1: nodes': is missing"),
        (
            f"{PARTITION}default = true\n[[partition]]\nname = 'b'\nnodes = 'all'\ndefault = true",
            "field 'partition 2: default': 'a' is the default already",
        ),
        (f"{PARTITION}whole_node = 3", "field 'partition 1: whole_node': '3' is neither true"),
        (f"{PARTITION}tier = 'x'", "field 'partition 1: tier': 'x' is not a number"),
        (f"{PARTITION}max_cpus_per_node = 0", "max_cpus_per_node': 0 is not above 0"),
        (f"{PARTITION}default = 1", "field 'partition 1: default': '1' is neither true"),
        (f"{PARTITION}maxtime = 3", "unknown key 'maxtime'; did you mean 'max_time'?"),
        (PARTITION + PARTITION.removeprefix(NODE), "field 'partition 2: name': 'a' is there"),
        (f"partition = 3\n{NODE}", "field 'partition': partitions are tables"),
        (f"{PARTITION}[[queue]]\n", "field 'queue 1: name': is missing"),
        (f"{QUEUE}partitions = 'zz'", "field 'queue 1: partitions': no partition is called 'zz'"),
        (f"{QUEUE}order = 3", "field 'queue 1: order': 3 is not text"),
        (f"{QUEUE}order = 'zz'", "queue 'q': unknown order 'zz'"),
        (f"{QUEUE}priority = 'x'", "field 'queue 1: priority': 'x' is not a number"),
        (f"{QUEUE}weight = 0", "field 'queue 1: weight': 0 is not above 0"),
        (f"{QUEUE}partitions = []", "field 'queue 1: partitions': names none; name some"),
        (f"{QUEUE}max_time = 'x'", "field 'queue 1: max_time': 'x' is no time"),
        (f"{QUEUE}max_procs = 0", "field 'queue 1: max_procs': 0 is not above 0"),
        (f"{QUEUE}max_running = -1", "field 'queue 1: max_running': -1 is not above 0"),
        (f"{QUEUE}max_used = 'a'", "field 'queue 1: max_used': 'a' is not a number"),
        (f"{QUEUE}default = 'x'", "field 'queue 1: default': 'x' is neither true nor false"),
        (f"{QUEUE}size = 1", "field 'queue 1': unknown key 'size'"),
        (f"{QUEUE}partitions = 3", "field 'queue 1: partitions': '3' is no list of names"),
        (
            f"{QUEUE}default = true\n[[queue]]\nname = 'r'\ndefault = true",
            "field 'queue 2: default': 'q' is the default already",
        ),
        (f"{QUEUE}[[queue]]\nname = 'q'", "field 'queue 2: name': 'q' is there already"),
        (f"between = 'x'\n{QUEUE}", "field 'between': 'x': choose priority"),
        (f"queue = 'a'\n{NODE}", "field 'queue': queues are tables"),
        (f"{NODE}[[pool]]\n", "field 'pool 1: name': is missing"),
        (POOL, "field 'pool 1: count': is missing"),
        (f"{POOL}count = 'x'", "field 'pool 1: count': 'x' is not a number"),
        (f"{POOL}count = true", "field 'pool 1: count': True is not a number"),
        (POOL.replace("matlab", "a,b") + "count = 1", "'a,b' has a comma or colon in it"),
        (POOL.replace("matlab", "a:2") + "count = 1", "'a:2' has a comma or colon in it"),
        (POOL.replace('"matlab"', "3") + "count = 1", "field 'pool 1: name': 3 is not text"),
        (f"{POOL}count = -1", "field 'pool 1: count': -1; give a whole number, 0 or more"),
        (f"{POOL}count = 1.5", "field 'pool 1: count': 1.5; give a whole number"),
        (f"{POOL}count = {10**20}", "field 'pool 1: count': 1e+20 is too many"),
        (f"{POOL}count = 1\nunit = 'x'", "field 'pool 1': unknown key 'unit'"),
        (f"{POOL}count = 1\n{POOL.removeprefix(NODE)}count = 1", "two pools are called 'matlab'"),
        (POOL.replace("matlab", "gpu") + "count = 1", "nodes have a resource called 'gpu'"),
        (f"pool = 3\n{NODE}", "field 'pool': pools are tables"),
    ],
)
def test_descriptions(refuses: Callable[..., str], text: str, said: str) -> None:
    assert said in refuses("c.toml", c_toml=text)


ONE = "NodeName=n1 CPUs=4\n"
PART = "PartitionName=a Nodes=n1\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s.conf: has no NodeName line"),
        (ONE, "s.conf: has no PartitionName line"),
        (f"NodeName= CPUs=4\n{PART}", "s.conf, line 1, field 'NodeName'"),
        (f"NodeName=n[1- CPUs=4\n{PART}", "s.conf, line 1, field 'NodeName': 'n[1-'"),
        (f"NodeName=n[1-99999999999] CPUs=4\n{PART}", "s.conf, line 1, field 'NodeName'"),
        (f"{ONE}{ONE}{PART}", "s.conf, line 2, field 'NodeName': 'n1' is there already"),
        (f"NodeName=n1 CPUs=x\n{PART}", "s.conf, line 1, field 'CPUs': 'x' is no value"),
        (f"NodeName=n1 CPUs=0\n{PART}", "s.conf, line 1, field 'CPUs': '0' is no value"),
        (f"NodeName=n1 CPUs\n{PART}", "s.conf, line 1: 'CPUs' is not Name=value"),
        (f"NodeName=n1 RealMemory=-3\n{PART}", "line 1, field 'RealMemory': '-3'"),
        (f"NodeName=n1 Gres=gpu:x:y\n{PART}", "s.conf, line 1, field 'Gres': 'gpu:x:y'"),
        (f"NodeName=n1 Gres=gpu:-1\n{PART}", "s.conf, line 1, field 'Gres': 'gpu:-1'"),
        (f"NodeName=n1 Gres=:2\n{PART}", "s.conf, line 1, field 'Gres': ':2'"),
        (f"NodeName=n1 State=DOWN\n{PART}", "s.conf: has no node that is up"),
        (f"NodeName=n1 CPUs=4 State=FOO\n{PART}", "s.conf, line 1, field 'State': 'FOO'"),
        (f"NodeName=n1 CPUs=4 Weight=x\n{PART}", "s.conf, line 1, field 'Weight': 'x'"),
        (f"NodeName=n1 CPUs=4 CoreSpecCount=4\n{PART}", "'CoreSpecCount': '4' leaves no processor"),
        (f"{ONE}{PART}DownNodes=zz\n", "line 3, field 'DownNodes': no NodeName line has 'zz'"),
        (f"{ONE}{PART}DownNodes=ALL\n", "s.conf: has no node that is up"),
        (f"{ONE}{PART}{PART}", "line 3, field 'PartitionName': 'a' is there already"),
        (f"{ONE}PartitionName= Nodes=n1\n", "s.conf, line 2, field 'PartitionName': 'Nodes=n1'"),
        (f"{ONE}{PART[:-1]} State=FOO\n", "s.conf, line 2, field 'State': 'FOO'"),
        (f"{ONE}{PART[:-1]} OverSubscribe=FOO\n", "s.conf, line 2, field 'OverSubscribe': 'FOO'"),
        (f"{ONE}PartitionName=a Nodes=zz\n", "line 2, field 'Nodes': no NodeName line has 'zz'"),
        (f"{ONE}PartitionName=a\n", "s.conf: has no partition that is up and has nodes"),
        (f"{ONE}NodeSet=s Nodes=zz\nPartitionName=a Nodes=s\n", "line 3, field 'Nodes'"),
        (f"{ONE}{PART[:-1]} MaxTime=foo\n", "s.conf, line 2, field 'MaxTime': 'foo' is no time"),
        (f"{ONE}{PART[:-1]} MaxTime=0\n", "max_time: 0.0; give seconds above 0"),
        (f"{ONE}{PART[:-1]} MaxNodes=x\n", "s.conf, line 2, field 'MaxNodes': 'x'"),
        (f"{ONE}{PART[:-1]} MaxNodes=1 MinNodes=3\n", "s.conf, line 2: partition 'a': at most 1"),
        (f"{ONE}{PART[:-1]} MaxCPUsPerNode=x\n", "s.conf, line 2, field 'MaxCPUsPerNode'"),
        (f"{ONE}{PART[:-1]} PriorityTier=x\n", "s.conf, line 2, field 'PriorityTier'"),
        (f"{ONE}{PART[:-1]} Default=MAYBE\n", "s.conf, line 2, field 'Default': 'MAYBE'"),
        (f"{ONE}{PART}Licenses=a:x\n", "field 'Licenses': 'a:x' is no licence"),
        (f"{ONE}{PART}Licenses=:3\n", "field 'Licenses': ':3' is no licence"),
        (f"Include none.conf\n{ONE}{PART}", "none.conf: cannot be read"),
        (f"Include s.conf\n{ONE}{PART}", "files include each other"),
    ],
)
def test_slurm_conf(refuses: Callable[..., str], text: str, said: str) -> None:
    assert said in refuses("s.conf", s_conf=text)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gres_conf", "NodeName=n1 Name=gpu Count=x\n", "gres.conf, line 1, field 'Count': 'x'"),
        ("gres_conf", "NodeName=n[ Name=gpu\n", "gres.conf, line 1, field 'NodeName': 'n['"),
        (
            "gres_conf",
            "NodeName=n1 Name=gpu Count=-1\n",
            "line 1, field 'Count': '-1' is no number",
        ),
        ("gres_conf", "NodeName=n1 Count=1\n", "gres.conf, line 1, field 'Name': is missing"),
        ("gres_conf", "gpu\n", "gres.conf, line 1: 'gpu' is not Name=value"),
        ("topology_conf", "SwitchName=s Nodes=n[\n", "topology.conf, line 1, field 'Nodes': 'n['"),
        ("topology_conf", "s\n", "topology.conf, line 1: 's' is not Name=value"),
        ("topology_conf", "SwitchName=\n", "line 1, field 'SwitchName': is missing; give each"),
        (
            "topology_conf",
            "SwitchName=s Nodes=n1\nSwitchName=s Nodes=n1\n",
            "line 2, field 'SwitchName': switch 's' has a line already; give each a name",
        ),
        ("topology_conf", "SwitchName=s Switches=t\n", "line 1, field 'Switches': 't' is no value"),
        (
            "topology_conf",
            "SwitchName=s Switches=t\nSwitchName=t Switches=s\n",
            "line 1, field 'Switches': switch 's' is below itself; correct one of the lines",
        ),
    ],
)
def test_files_beside_slurm_conf(
    refuses: Callable[..., str], name: str, text: str, said: str
) -> None:
    conf = f"TopologyPlugin=topology/tree\nNodeName=n1 CPUs=4 Gres=gpu:2\n{PART}"
    assert said in refuses("s.conf", s_conf=conf, **{name: text})


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ("0 x (16 cores)", "0 nodes; give 1 to 1,000,000"),
        ("9999999 x (16 cores)", "nodes; give 1 to 1,000,000 in all"),
        ("", "--cluster '': give a file, or counts"),
        ("many nodes", "many nodes: no such file"),
        ("4 x (x cores)", "no server is called 'x cores'; choose from"),
        ("4 x (16 cores) and", "'and' after a parenthesis"),
        ("4 x (16 cores, 32G, 16G)", "'memory' is given twice"),
        ("4 x ()", "'' is nothing a node has"),
        ("4 x (16)", "'16' is nothing a node has"),
        ("4 x (0 cores)", "cores = 0; give a number above 0"),
        ("4 x (1.5 cores)", "'1.5 cores' is nothing a node has"),
        ("4 x (99999999999999999999 cores)", "is too many; give fewer"),
        ("4 x (32G)", "says no cores"),
        ("4 x (16 cores, 32Q)", "'32Q' is nothing a node has"),
        ("4 x (16 cores, 32QiB)", "'32QiB' is nothing a node has"),
        ("4 x (16 cores, 1e400G)", "'1e400G' is nothing a node has"),
        ("4 x (16 cores, 2 gpu, 3 gpu)", "'gpu' is given twice"),
        ("4 x (16 cores, 2 two words)", "'2 two words' is nothing a node has"),
        ("4 x (16 cores", "a parenthesis is not closed"),
        ("4 x 16 cores)", "a parenthesis too many at character 13"),
    ],
)
def test_counts(refuses: Callable[..., str], counts: str, said: str) -> None:
    line = refuses(counts)
    assert said in line
    assert counts in line


@pytest.mark.parametrize("text", ["4 x (8 cores, 2gpu, 3 q)", "4 x (8 cores, 1 e5)"])
def test_names_of_resources_that_are_no_units(text: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(_table())
    assert run("simulate", tmp_path / "log.csv", "--cluster", text).code == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"features": "("}, "job 1, field 'features': '(': cannot be read"),
        ({"features": "ib&"}, "field 'features': 'ib&': cannot be read"),
        ({"features": "a b"}, "field 'features': 'a b': cannot be read"),
        ({"features": "a|"}, "field 'features': 'a|': cannot be read"),
        ({"features": "(a"}, "field 'features': '(a': cannot be read"),
        ({"features": "(" * 5000 + "a" + ")" * 5000}, "job 1, field 'features'"),
        ({"features": "!" * 20000 + "a"}, "job 1, field 'features'"),
        ({"licences": "matlab:x"}, "job 1, field 'licences': 'matlab:x' cannot be read"),
        ({"licences": ":3"}, "field 'licences': ':3' cannot be read"),
        ({"licences": "matlab:-1"}, "field 'licences': 'matlab:-1' cannot be read"),
        ({"licences": "matlab,,ansys"}, "field 'licences': 'matlab,,ansys' cannot be read"),
        ({"licences": f"matlab:{10**20}"}, "job 1, field 'licences'"),
        ({"memory_per_node": "much"}, "log.csv, line 2, field 'memory_per_node': 'much'"),
    ],
)
def test_requests(refuses: Callable[..., str], asked: dict[str, str], said: str) -> None:
    line = refuses("c.toml", _table(**asked), c_toml=MACHINE)
    assert said in line
    assert len(line) < 300


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"licences": "ansys"}, "licence"),
        ({"licences": "matlab:3"}, "licence"),
        ({"licences": "matlab:2"}, ""),
        ({"features": "ib"}, "feature"),
        ({"features": "!ib"}, ""),
        ({"partition": "zz"}, "partition"),
        ({"partition": "zz,a"}, ""),
        ({"memory_per_node": "1e300"}, "memory"),
        ({"memory_per_node": "33G"}, "memory"),
        ({"gpus": "3"}, "resource"),
        ({"gpus": str(2**63 - 1)}, "resource"),
        ({"nodes": str(2**63 - 1)}, "processors"),
    ],
)
def test_what_no_machine_has_is_said_of_the_job(
    run: Run, tmp_path: Path, asked: dict[str, str], reason: str
) -> None:
    import pandas as pd

    (tmp_path / "c.toml").write_text(MACHINE)
    (tmp_path / "log.csv").write_text(_table(**asked))
    command = ("simulate", tmp_path / "log.csv", "--cluster", tmp_path / "c.toml")
    assert run(*command, "--out", tmp_path / "run").code == 0
    table = pd.read_parquet(tmp_path / "run" / "jobs.parquet")
    assert table["reason"].astype(str).tolist() == [reason, ""]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--by", "colour"), "class 'colour': choose from user"),
        (("--by", ""), "--by names no class"),
        (("--by", "qos"), "class 'qos': the log does not say it of any job"),
        (("--partition-column", "zz"), "no column 'zz' (for 'partition')"),
        (("--partition-column", ""), "no column '' (for 'partition')"),
        (("--partition-column", "submit"), "'submit': that is the submit of jobs"),
    ],
)
def test_options(refuses: Callable[..., str], options: tuple[str, ...], said: str) -> None:
    assert said in refuses("c.toml", _table(), *options, c_toml=MACHINE)


@pytest.mark.parametrize(
    ("used", "said"),
    [
        ("n1:4", "job 1, field 'used': 'n1:4' is not node:cores:gpu:memory"),
        ("n1:4:x:1", "'n1:4:x:1' is not node:cores:gpu:memory; write whole numbers"),
        ("n9:4:0:1", "the cluster has no node 'n9'"),
        ("n1:4:0:1 n2", "'n2' is not node:cores:gpu:memory"),
    ],
)
def test_what_jobs_held_on_nodes(
    refused: Callable[..., str], tmp_path: Path, used: str, said: str
) -> None:
    (tmp_path / "c.toml").write_text(MACHINE)
    (tmp_path / "log.csv").write_text(_table(used=used, wait="0"))
    assert said in refused("inspect", tmp_path / "log.csv", "--cluster", tmp_path / "c.toml")


def test_inspect_takes_a_cluster_or_processors(
    refused: Callable[..., str], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(MACHINE)
    (tmp_path / "log.csv").write_text(_table(used="n1:20:0:1", wait="0"))
    command = ("inspect", tmp_path / "log.csv", "--cluster", tmp_path / "c.toml")
    assert "--cluster says how many processors" in refused(*command, "--procs", 4)
    out = run(*command).out
    assert (
        "exceeds cores of 1 node: 20 cores on node n1 of 4, from second 0 on (job 1), 10 s" in out
    )


SACCT = "1|anna|a|2025-03-04T10:00:00|2025-03-04T10:01:00|2025-03-04T11:00:00|4\n"
NAMES = "JobID,User,Partition,Submit,Start,End,ReqCPUS"


@pytest.mark.parametrize(
    ("log", "options", "said"),
    [
        ("log.csv", ("--by", "colour"), "class 'colour': choose from user"),
        ("log.csv", ("--by", ""), "--by names no class"),
        ("log.csv", ("--by", "qos"), "class 'qos': the log does not say it of any job"),
        ("log.csv", ("--partition-column", "zz"), "the table has no column 'zz' (for 'partition')"),
        ("log.csv", ("--partition-column", "runtime"), "'runtime': that is the runtime of jobs"),
        ("log.csv", ("--columns", "user=zz"), "the table has no column 'zz' (for 'user')"),
        ("log.csv", ("--columns", "user"), "--columns 'user': write NAME=COLUMN"),
        ("log.csv", ("--columns", "procs="), "--columns 'procs=': write NAME=COLUMN"),
        ("log.csv", ("--columns", "user=job,user=nodes"), "user is given twice; leave one out"),
        ("log.csv", ("--columns", "procs=partition"), "line 2, field 'procs': 'a' is not a whole"),
        ("sacct.txt", (), "has no line of column names with JobID in it"),
        ("sacct.txt", ("--columns", "JobID,User"), "give one name for each field"),
        ("sacct.txt", ("--columns", f"{NAMES},QOS"), "give one name for each field"),
        ("sacct.txt", ("--columns", NAMES.replace("Partition", "User")), "'User' is given twice"),
        ("sacct.txt", ("--columns", NAMES.replace("Partition", "")), "one has no name"),
        ("sacct.txt", ("--columns", NAMES, "--delimiter", ""), "give at least one character"),
        ("sacct.txt", ("--columns", NAMES, "--delimiter", ";"), "give one name for each field"),
    ],
)
def test_columns_and_classes(
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    log: str,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(_table())
    Path("sacct.txt").write_text(SACCT + SACCT.replace("1|", "2|", 1))
    line = refused("simulate", log, "--procs", "8", "--out", tmp_path / "run", *options)
    assert said in line
    assert not (tmp_path / "run").exists()
