"""The part of bench/rendezvous that simulates hundreds of ranks without starting Python, to measure their cost for a
real tony-driver.

A program (rendezvous_ranks.cc) sends what the ranks of a job send in hvd.init(), byte for byte and each from its own
thread, to a tony-driver with the flags that its executor gives it.

* Directly: all ranks use the driver, as if they were on its machine. All put and remove their addresses, in all six
  groups. Only one rank of each host asks for the others' addresses. With 512 ranks, all of them would make 1.3 million
  requests and copy 72 GB, which takes two cores many minutes.
* With replicas: the ranks of all hosts except the first use a replica in the program, one for each host. It is the
  executor's replica, with a connection to the driver's port in place of the tunnel. Here, too, one rank of each host
  asks for the others' addresses, and no rank enters the next group before that. So each replica has received all
  addresses, as with Horovod. The replicas, which share a thread here, compute the answers.

Memory is the driver's peak, VmHWM, above the size of the ranks' addresses in the largest group, which the driver has to
store at the same time.

Processor time per answer is the difference between a run in which some ranks ask and one in which none does, divided by
the number of answers. Putting an address costs more than an answer, and is rarer the more ranks there are. An answer to
one of 512 ranks has 32 times the bytes of one to 16, and the kernel copies them. So the 16 ranks of the comparison fill
their addresses up until an answer has the mean size of the large run, and repeat that until there is enough to measure.
"""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

SLOTS = 8  # ranks per host
HOSTS = (32, 64)
FEW = 2  # hosts of the comparison
FEW_ROUNDS = 60
MEMORY_ABOVE = 15e6  # the driver's bytes above what it stores
MOST_CPU = 1.5  # processor time per answer, over that for few ranks
TIMEOUT = 600


@contextlib.contextmanager
def running_driver(programs, workers, ranks):
    """Starts a tony-driver for these workers: its process, and the ports for ranks and for replicas."""
    tasks = ",".join(f"worker:{rank}" for rank in range(ranks))
    with tempfile.TemporaryDirectory(prefix="tony-bench-") as folder, socket.socket() as reserved:
        # As in the executor: the port is bound and never listens, so that nobody else gets it.
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        replica_port = reserved.getsockname()[1]
        with open(f"{folder}/errors", "wb") as errors:
            process = subprocess.Popen(
                [f"{programs}/tony-driver", f"--workers={workers}", f"--tasks={tasks}", f"--output={folder}",
                 f"--replica-port={replica_port}", f"--rendezvous-timeout-ms={TIMEOUT * 1000}"], stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
            try:
                yield process, port_in(folder, process), replica_port
            finally:
                process.kill()
                process.wait()


def port_in(folder, process):
    """The port in the name of the driver's plan, once the file exists."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        for name in os.listdir(folder):
            found = re.fullmatch(r"(\d+)____HOROVOD_RENDEZVOUS_SERVER____", name)
            if found:
                return int(found[1])
        time.sleep(0.01)
    sys.exit(f"tony-driver does not begin: {pathlib.Path(folder, 'errors').read_text(errors='replace')}")


def play(programs, hosts, replicas=False, **flags):
    """The measurements of rendezvous_ranks.cc with its own driver; `flags`: for that program."""
    workers = ",".join(f"host-{host}:{SLOTS}" for host in range(hosts))
    with running_driver(programs, workers, hosts * SLOTS) as (process, port, replica_port):
        command = [f"{programs}/rendezvous-ranks", f"--workers={workers}", f"--port={port}", f"--driver={process.pid}"]
        command += [f"--replica-port={replica_port}"] if replicas else []
        command += [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                              check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {done.stderr}")
    measured = json.loads(done.stdout)
    if measured["failed"] > 0:
        sys.exit(f"{measured['failed']} requests of {hosts * SLOTS} ranks failed")
    return measured


def answer_microseconds(asked, silent):
    """The driver's processor time per answer, from a run in which ranks ask, and one in which none does."""
    return (asked["driver_cpu_seconds"] - silent["driver_cpu_seconds"]) / asked["gets"] * 1e6


def memory_row(bench, name, measured):
    """Adds a row for the driver's peak above what it has to store."""
    peak, stored = measured["driver_peak_bytes"], measured["stored_bytes"]
    shown = f"{peak / 1e6:.1f} MB, of which {stored / 1e6:.1f} MB are stored"
    bench.row(name, shown, f"< stored + {MEMORY_ABOVE / 1e6:.0f} MB", peak < stored + MEMORY_ABOVE)


def run(bench, programs):
    """Adds the rows of all sizes to the bench."""
    for hosts in HOSTS:
        ranks = hosts * SLOTS
        asked = play(programs, hosts, readers="one-per-host")
        silent = play(programs, hosts, readers="none")
        few = {"least_bytes": int(asked["answer_bytes"]), "rounds": FEW_ROUNDS}
        few_asked = play(programs, FEW, **few)
        few_silent = play(programs, FEW, readers="none", **few)
        many_cpu, few_cpu = answer_microseconds(asked, silent), answer_microseconds(few_asked, few_silent)
        shown = (f"{many_cpu:.1f} us / {few_cpu:.1f} us of {FEW * SLOTS} ranks, {asked['answer_bytes'] / 1000:.0f} kB each "
                 f"= {many_cpu / few_cpu:.2f}")
        bench.row(f"{ranks} synthetic ranks, CPU an answer", shown, f"<= {MOST_CPU}", many_cpu <= MOST_CPU * few_cpu)
        print(f"  {'':<36} {asked['gets']} answers in {asked['seconds']:.1f} s", flush=True)
        memory_row(bench, f"{ranks} synthetic ranks, memory", asked)
        through = play(programs, hosts, replicas=True, readers="one-per-host")
        memory_row(bench, f"{ranks}, with {hosts - 1} replicas, memory", through)
        print(f"  {'':<36} {through['driver_cpu_seconds']:.1f} s of the driver's processor time in "
              f"{through['seconds']:.1f} s", flush=True)
