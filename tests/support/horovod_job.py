"""Jobs of ranks that do what Horovod's do (gloo_worker.py), for tests on any backend."""

import http.client
import pathlib
import re
import sys

import machine
import tony_cli

SUPPORT = pathlib.Path(__file__).resolve().parent
# Nothing but the standard library: an interpreter that starts quickly.
PYTHON = f"{sys.executable} -I -S -B"
WORKER = f"exec {PYTHON} {SUPPORT}/gloo_worker.py"
ELASTIC_WORKER = f"exec {PYTHON} {SUPPORT}/elastic_gloo_worker.py"
OWN_DRIVER = f"exec {PYTHON} {SUPPORT}/rendezvous_driver.py"
CONF = ("--conf", "tony.application.framework=horovod")
# The job may not start over.
TWO_ARE_ENOUGH = ("--conf", "tony.worker.min-instances=2", "--conf", "tony.am.retry-count=0",
                  "--conf", "tony.am.infrastructure-retry-count=0")


def ranks(*faults, always=""):
    """The command of all ranks: "1:--never" gives an option to rank 1, "1.0:--never" to rank 1 in
    epoch 0 alone."""
    cases = " ".join(f'{who if "." in who else who + ".*"}) set -- {options};;'
                     for who, options in (fault.split(":", 1) for fault in faults))
    return f"set --; case $HOROVOD_RANK.$TONY_EPOCH in {cases} esac; {WORKER} {always} \"$@\""


def port_of(pid):
    """Where the rank with this process id meets the others."""
    return int(machine.variable_of(pid, "HOROVOD_GLOO_RENDEZVOUS_PORT",
                                   tony_cli.DEADLINE_SECONDS))


def wait_until_put(port, path):
    """Until the value is there: the rendezvous server holds a request for addresses."""
    def found():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        finally:
            connection.close()

    if not machine.wait_until(found, tony_cli.DEADLINE_SECONDS):
        raise AssertionError(f"nobody puts {path}")


def expected_lines(*local_sizes):
    """The output of all ranks, in their order, where `local_sizes` are the numbers of ranks on each host."""
    size = sum(local_sizes)
    places = [(local, count) for count in local_sizes for local in range(count)]
    total = size * (size + 1) // 2
    return [f"rank {rank} of {size}, local {local} of {count}: sum {total}"
            for rank, (local, count) in enumerate(places)]


class ElasticRounds:
    """The rounds of a job of light elastic ranks, as these tell of them. Not thread safe."""

    def __init__(self, test, folder, worker=ELASTIC_WORKER):
        self._told = tony_cli.Line(test, folder / "told")
        self._end = folder / "end"
        self.command = f"{worker} --tell {self._told.path} --end {self._end}"

    def wait_for(self, size):
        """Until all of a round of `size` have committed a step of it, which no later round may have
        begun before. Returns the workers in the order of their ranks, and where it began."""
        workers, begins = {}, set()
        while len(workers) < size:
            line = self._told.read()
            worker, rank, count, begin = re.fullmatch(
                r"(worker:\d+) is (\d+) of (\d+) from (\d+) on", line).groups()
            if int(count) != size:
                raise AssertionError(f"a round of {size} was to begin, but {line}")
            workers[int(rank)] = worker
            begins.add(int(begin))
        (begin,) = begins
        return [workers[rank] for rank in range(size)], begin

    def end(self):
        """The processes end after their next step."""
        self._end.touch()
