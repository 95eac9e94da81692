"""What virtual nodes need on this machine, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass

from .clock import compiler
from .cluster import AUTHENTICATIONS, find_program

_PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmstepd": "slurmd",
    "sbatch": "slurm-client",
    "sinfo": "slurm-client",
}
_TRIED = "22.05"


@dataclass(frozen=True)
class Need:
    """A program that virtual nodes use.

    Parameters
    ----------
    name : of the program.
    purpose : what it is for.
    path : where it is; None if it is missing.
    package : Debian's package that has it.
    modes : the modes of time that cannot do without it; none if it is an extra.
    """

    name: str
    purpose: str
    path: str | None
    package: str
    modes: tuple[str, ...] = ()


def check() -> list[Need]:
    """Return what is needed and whether it is there; nothing is started or installed."""
    both = ("real", "model")
    purposes = {
        "slurmctld": "the controller",
        "slurmd": "one daemon per virtual node",
        "slurmstepd": "one per running job",
        "sbatch": "submits the jobs",
        "sinfo": "shows when the nodes are idle",
    }
    needs = [
        Need(name, purpose, find_program(name), _PACKAGES[name], both)
        for name, purpose in purposes.items()
    ]
    needs.append(
        Need("cc", "builds the clock of model time", compiler(), "gcc libc6-dev", both[1:])
    )
    needs.append(Need("munged", "for --auth munge", find_program("munged"), "munge"))
    return needs


def missing_for(mode: str, auth: str = AUTHENTICATIONS[0]) -> list[Need]:
    """Return what is missing for a mode of time and a kind of authentication."""
    return [
        need
        for need in check()
        if need.path is None and (mode in need.modes or (need.name == "munged" and auth == "munge"))
    ]


def advice(needs: list[Need]) -> str:
    """Return the command that installs what is missing, for people to run."""
    packages = sorted({package for need in needs for package in need.package.split()})
    line = "apt-get install --no-install-recommends " + " ".join(packages)
    if shutil.which("apt-get"):
        return f"run as root: {line}"
    return f"on Debian or Ubuntu: {line}; elsewhere install the packages that have the programs"


def slurm_version() -> str | None:
    """Return the version of Slurm, such as ``22.05.8``; None where there is none."""
    program = find_program("slurmctld")
    if program is None:
        return None
    said = subprocess.run(
        [program, "-V"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    ).stdout.split()
    return said[-1] if said else None


def remarks() -> list[str]:
    """Return what else should be known before a run on this machine."""
    lines = []
    version = slurm_version()
    if sys.platform != "linux":
        lines.append(f"virtual nodes need Linux; this is {platform.system()}")
    if version is not None and not version.startswith(_TRIED):
        lines.append(f"Slurm {version} is untried; {_TRIED} is what this was tried with")
    lines.append(exposure())
    return lines


def exposure() -> str:
    """Return who else can use a cluster without authentication."""
    whom = "root, who you are" if os.geteuid() == 0 else "you"
    return (
        "without --auth munge any local user can submit jobs while a cluster lasts, and they run "
        f"as {whom}"
    )
