"""The programs that sum vectors, tony's and its peers', and their output."""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's packages are installed for it
TIMEOUT = 240  # seconds for one program with all sizes
# The compiler and libraries that a peer needs, and its name.
COMPILED = {
    "openmpi": ("openmpi_ranks", "mpicxx", "Open MPI", []),
    "limit": ("limit_ranks", "g++", "the limit", ["-march=native"]),
    "gloo": ("gloo_ranks", "g++", "Gloo", ["-lgloo", "-lpthread"]),
    "round_trip": ("round_trip", "g++", "a look at how near processors are", ["-lpthread"]),
}


def commands_missing(*names):
    """The commands among `names` that this machine does not have."""
    return [name for name in names if not shutil.which(name)]


class Peers:
    """Paths of the peers' programs, compiled if needed; None if a peer is missing. Not thread safe."""

    def __init__(self, folder, wanted):
        """`wanted`: some of openmpi, limit, gloo, torch and round_trip."""
        self.folder = folder
        self.missing = {}  # the reason for each peer that is left out
        self.openmpi, self.limit, self.gloo, self.round_trip = (
            self._compile(name) if name in wanted else None for name in COMPILED)
        self.torch = "torch" in wanted and self._has_torch()

    def say_missing(self):
        """Prints why peers are left out."""
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
    """Prints the last line, which also says what was not measured. Ends the program with 1 if gates are missed."""
    if missed:
        sys.exit(f"{program}: missed: {'; '.join(missed)}")
    if left_out:
        print(f"{program}: every gate that was measured holds; left out: {', '.join(left_out)}")
    else:
        print(f"{program}: every gate holds")


def lines_of(commands, environment=None, tries=1):
    """The output of the first of these commands, as lines of words, when all have ended.

    A command that fails, or takes too long `tries` times, ends the program with its output. `environment`: by the
    command's number, additional variables.
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
    """The output of the first command; None if a command takes too long. A command that fails ends the program."""
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
    """Medians of seconds, by bytes, for a program whose ranks these commands start, in at most `tries` tries."""
    return {int(size): statistics.median(map(float, seconds)) for size, *seconds in lines_of(commands, tries=tries)}


def crowded(ranks):
    """Whether there are fewer processors than ranks."""
    return ranks > len(os.sched_getaffinity(0))


def bus_bandwidth(seconds, size, ranks):
    """The bytes that each rank sends per second, as NCCL's tests define it."""
    return size / seconds * 2 * (ranks - 1) / ranks


def shown(seconds, size, ranks):
    """Microseconds for short vectors, bus bandwidth for long ones."""
    if size < 64 << 10:
        return f"{seconds * 1e6:.2f} us"
    return f"{bus_bandwidth(seconds, size, ranks) / 1e9:.2f} GB/s"
