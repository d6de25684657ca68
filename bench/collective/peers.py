"""The programs that sum vectors, tony's and its peers', and what they say."""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"  # whose packages are Debian's
TIMEOUT = 240  # seconds for one program with all sizes
# Which compiler and libraries a peer needs, and what it is called.
COMPILED = {
    "openmpi": ("openmpi_ranks", "mpicxx", "Open MPI", []),
    "limit": ("limit_ranks", "g++", "the limit", ["-march=native"]),
    "gloo": ("gloo_ranks", "g++", "Gloo", ["-lgloo", "-lpthread"]),
    "round_trip": ("round_trip", "g++", "a look at how near processors are", ["-lpthread"]),
}


def commands_missing(*names):
    """Those of these commands that this machine does not have."""
    return [name for name in names if not shutil.which(name)]


class Peers:
    """Paths of the peers' programs, compiled where that is needed; None where one is not there. Not thread safe."""

    def __init__(self, folder, wanted):
        """`wanted`: of openmpi, limit, gloo, torch and round_trip."""
        self.folder = folder
        self.missing = {}  # why it is left out, of each that is
        self.openmpi, self.limit, self.gloo, self.round_trip = (
            self._compile(name) if name in wanted else None for name in COMPILED)
        self.torch = "torch" in wanted and self._has_torch()

    def say_missing(self):
        """Prints why something is left out."""
        for title, why in self.missing.items():
            print(f"left out: {title}, {why}")

    def _compile(self, name):
        source, compiler, title, options = COMPILED[name]
        if not shutil.which(compiler):
            self.missing[title] = f"since there is no {compiler}: run scripts/setup --for bench"
            return None
        program = f"{self.folder}/{source}"
        done = subprocess.run([compiler, "-std=c++20", "-O3", f"-I{ROOT}", f"{ROOT}/bench/collective/{source}.cc", "-o",
                               program, *options], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return program
        reason = done.stderr.strip().splitlines()[0]
        self.missing[title] = f"which does not compile ({reason}): run scripts/setup --for bench"
        return None

    def _has_torch(self):
        found = subprocess.run([SYSTEM_PYTHON, "-c", "import torch.distributed"], capture_output=True, check=False)
        if found.returncode:
            self.missing["torch.distributed"] = f"which {SYSTEM_PYTHON} does not have: run scripts/setup --for demo"
        return found.returncode == 0


def conclude(program, missed, left_out):
    """The last line, which says what was not measured, too. Ends the program with 1 when gates are missed."""
    if missed:
        sys.exit(f"{program}: missed: {'; '.join(missed)}")
    if left_out:
        print(f"{program}: every gate that was measured holds; left out: {', '.join(left_out)}")
    else:
        print(f"{program}: every gate holds")


def lines_of(commands, environment=None, tries=1):
    """What the first of these commands prints, in lines of words, when all have ended.

    One that fails, or takes too long so many times, ends the program with what it says. `environment`: for each command's
    number, its variables besides those that are there.
    """
    name = f"bench: {' '.join(commands[0][:6])} …"
    for left in reversed(range(tries)):
        said = _said(name, commands, environment)
        if said is not None:
            return [line.split() for line in said.splitlines()]
        again = ", and is started again" if left else ""
        print(f"{name} takes more than {TIMEOUT} s{again}", file=sys.stderr, flush=True)
    sys.exit(1)


def _said(name, commands, environment):
    """What the first command prints; None when one of them takes too long. One that fails ends the program."""
    processes = []
    for number, command in enumerate(commands):
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **(environment(number) if environment else {})}
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          env=variables))
    said = []
    try:
        for process in processes:
            said.append(process.communicate(timeout=TIMEOUT))
    except subprocess.TimeoutExpired:
        return None
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, said):
        if process.returncode:
            sys.exit(f"{name} failed with {process.returncode}: {errors[-2000:]}")
    return said[0][0]


def run(commands, tries=1):
    """Medians of seconds by bytes, of a program whose ranks these commands start, at most so many times."""
    return {int(size): statistics.median(map(float, seconds)) for size, *seconds in lines_of(commands, tries=tries)}


def crowded(ranks):
    """Whether there are fewer processors than so many ranks."""
    return ranks > len(os.sched_getaffinity(0))


def bus_bandwidth(seconds, size, ranks):
    """Bytes that each rank sends in a second, as NCCL's tests define it."""
    return size / seconds * 2 * (ranks - 1) / ranks


def shown(seconds, size, ranks):
    """Microseconds for short vectors, bus bandwidth for long ones."""
    if size < 64 << 10:
        return f"{seconds * 1e6:.2f} us"
    return f"{bus_bandwidth(seconds, size, ranks) / 1e9:.2f} GB/s"
