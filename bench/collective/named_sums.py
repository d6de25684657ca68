"""Sums by name from Python: the same program alternately with tony.collective and with Horovod."""

import functools
import socket
import statistics
import subprocess

import peers

PROGRAM = f"{peers.ROOT}/bench/collective/by_name.py"
# For each row: its name for people, the least ratio of Horovod's time to tony's, and the aim.
ROWS = {"small": ("4 KB", 10, "< 60 us"), "step": ("160 tensors, 94 MB", 3.5, "5 times")}
IDLE = 0.001  # of a processor, for an idle rank; Python's own clock takes less


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _said(commands, environment=None):
    """The median of each row's values."""
    return {what: statistics.median(map(float, values)) for what, *values in peers.lines_of(commands, environment)}


def _ours(python, package, ranks, batches):
    port = _free_port()

    def environment(rank):
        # the variables that torchrun sets
        return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PYTHONPATH": package}
    return _said([[python, PROGRAM, "tony.collective.torch", str(batches)]] * ranks, environment)


def _theirs(python, ranks, batches):
    return _said([[python, f"{peers.ROOT}/bench/collective/start_horovod.py", str(ranks), python, PROGRAM,
                   "horovod.torch", str(batches)]])


@functools.lru_cache(maxsize=None)
def horovod_python():
    """The interpreter of the environment with Horovod; None if it is not built."""
    found = subprocess.run([f"{peers.ROOT}/scripts/build-horovod", "--find"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def compare(package, ranks, rounds, batches, near):
    """Prints the rows for `ranks` ranks; returns the missed gates. `package`: the folder of tony's package. `near`:
    Processors."""
    python = horovod_python()
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(near.measure(lambda: _ours(python or peers.SYSTEM_PYTHON, package, ranks, batches)))
        if python:
            theirs.append(near.measure(lambda: _theirs(python, ranks, batches)))
    print(f"\n{ranks} ranks, by name from Python" + ("" if python else "; Horovod is left out, since it is not built: "
                                                     "run scripts/setup --for peers and scripts/build-horovod"))
    missed = []
    for what, (title, least, aim) in ROWS.items():
        line = f"{title:>20} {statistics.median(one[what] for one in ours) * 1e6:>10.0f} us"
        if theirs:
            ratio = statistics.median(their[what] / our[what] for our, their in zip(ours, theirs))
            line += (f"   Horovod {statistics.median(one[what] for one in theirs) * 1e6:.0f} us, {ratio:.1f} times "
                     f"(gate {least}{'' if ratio >= least else ', MISSED'})")
            if ratio < least:
                missed.append(f"{ranks} ranks, by name, {title}: {ratio:.1f} times Horovod's speed")
        print(f"{line}   aim {aim}", flush=True)
    idle = statistics.median(one["idle"] for one in ours)
    line = f"{'idle, of a processor':>20} {idle:>10.5f}   "
    line += f"Horovod {statistics.median(one['idle'] for one in theirs):.5f} " if theirs else ""
    print(f"{line}(gate {IDLE}{'' if idle <= IDLE else ', MISSED'})", flush=True)
    if idle > IDLE:
        missed.append(f"{ranks} ranks, idle: {idle:.5f} of a processor")
    return missed
