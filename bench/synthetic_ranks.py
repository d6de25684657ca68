"""The part of bench/rendezvous that plays hundreds of ranks without starting Python: what they cost a real tony-driver.

A program (rendezvous_ranks.cc) sends what the ranks of a job send in hvd.init(), byte for byte and each from a thread of
its own, to a tony-driver with the flags that its executor gives it.

* Directly: all ranks against the driver, as if they were on its machine. All put and remove their addresses, in all six
  groups; one rank of each host asks for all the others', since with 512 all of them would make 1.3 million requests and
  copy 72 GB, which takes two cores many minutes.
* With replicas: all but the first host's ranks against a replica in the program, one for each host, which is the
  executor's, on a connection to the driver's port in place of the tunnel. Here, too, one rank of each host asks for all
  the others' addresses, and no rank goes on to the next group before: so each replica has got what there is, as with
  Horovod. The answers are the replicas' work, which share a thread here.

Memory is the driver's peak, VmHWM, over what the ranks' addresses in the largest group take together, which the driver has
to store at the same time.

Processor time for each answer is that of a run in which some ask, less that of one in which nobody does (putting costs
more, and is rarer the more ranks there are), through the number of answers. An answer to one of 512 ranks has 32 times the
bytes of one to 16, and the kernel copies them; so the 16 ranks it is compared with fill their addresses up until an answer
has as many bytes as the mean one of the large run, and do it again and again until there is something to measure.
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

SLOTS = 8  # ranks of each host
HOSTS = (32, 64)
FEW = 2  # hosts that are compared with
FEW_ROUNDS = 60
MEMORY_ABOVE = 15e6  # bytes that the driver may have besides what it stores
MOST_CPU = 1.5  # for an answer, over that of few ranks
TIMEOUT = 600


@contextlib.contextmanager
def running_driver(programs, workers, ranks):
    """A tony-driver for these workers: its process, and the ports for ranks and for replicas."""
    tasks = ",".join(f"worker:{rank}" for rank in range(ranks))
    with tempfile.TemporaryDirectory(prefix="tony-bench-") as folder, socket.socket() as reserved:
        # As the executor does it: bound, never listening, so that nobody else gets it.
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
    """What the driver's plan is called by, once it is there."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        for name in os.listdir(folder):
            found = re.fullmatch(r"(\d+)____HOROVOD_RENDEZVOUS_SERVER____", name)
            if found:
                return int(found[1])
        time.sleep(0.01)
    sys.exit(f"tony-driver does not begin: {pathlib.Path(folder, 'errors').read_text(errors='replace')}")


def play(programs, hosts, replicas=False, **flags):
    """What rendezvous_ranks.cc has measured, of a driver of its own; `flags` are that program's."""
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
    """Of the driver's processor time, from a run in which ranks ask, and one in which nobody does."""
    return (asked["driver_cpu_seconds"] - silent["driver_cpu_seconds"]) / asked["gets"] * 1e6


def memory_row(bench, name, measured):
    """The driver's peak over what it has to store."""
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
