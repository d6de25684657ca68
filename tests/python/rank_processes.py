"""Ranks as a launcher starts them: real processes of this machine, and a store in which they meet."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import rendezvous_driver  # noqa: E402  pylint: disable=wrong-import-position

DEADLINE_SECONDS = 300  # of a machine that is busy
# A separate user table: a rank with another table than others counts as another host, on the same network.
ANOTHER_HOST = ("unshare", "--user", "--map-root-user")


class Ranks:
    """Some processes that run the same command. A context, at whose end none of them is left."""

    def __init__(self, command, size, environment=None, started=None, python=sys.executable, pass_fds=(), apart=(),
                 store=None):
        """``command``: after the interpreter, ``python``. ``environment``: a function of the rank; besides what
        horovodrun sets. ``started``: which ranks there really are; all, if None. ``pass_fds``: descriptors that they
        keep. ``apart``: ranks that are each a host of its own (refusal_of_hosts()). ``store``: a class of requests, if
        it is not to be a store as any other."""
        self._server = rendezvous_driver.Server(("127.0.0.1", 0), store or _store())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.processes = {}
        # Hosts speak TCP, for which ranks need a key.
        key = {"TONY_COLLECTIVE_KEY": "of these ranks"} if apart else {}
        for rank in range(size) if started is None else started:
            variables = {**clean_environment(), **self._variables(rank, size), **key,
                         **(environment(rank) if environment else {})}
            self.processes[rank] = subprocess.Popen(
                [*(ANOTHER_HOST if rank in apart else ()), str(python), "-B", *map(str, command)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=pass_fds,
                env={name: value for name, value in variables.items() if value is not None})

    def _variables(self, rank, size):
        return {"HOROVOD_RANK": str(rank), "HOROVOD_SIZE": str(size), "HOROVOD_LOCAL_RANK": str(rank),
                "HOROVOD_LOCAL_SIZE": str(size), "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
                "HOROVOD_GLOO_RENDEZVOUS_PORT": str(self._server.server_address[1])}

    def wait(self, seconds=DEADLINE_SECONDS):
        """(exit status, output) by rank; a status of None: it did not end in time."""
        deadline = time.monotonic() + seconds
        ended = {}
        for rank, process in self.processes.items():
            try:
                output, _ = process.communicate(timeout=max(deadline - time.monotonic(), 0.1))
                ended[rank] = (process.returncode, output)
            except subprocess.TimeoutExpired:
                process.kill()
                ended[rank] = (None, process.communicate()[0])
        return ended

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.communicate()
        self._server.shutdown()
        self._server.server_close()


def _store():
    """A store of its own for each server."""
    return type("Store", (rendezvous_driver.Store,), {"values": {}, "changed": threading.Lock()})


def clean_environment():
    """This process's, without what would make ranks of its children."""
    prefixes = ("HOROVOD_", "TONY_", "TORCHELASTIC_")
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes) and name not in names}
    # Ranks that share processors: none of them takes all.
    return {**kept, "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}


def refusal_of_hosts():
    """None, or a sentence why no rank can be ``apart`` here."""
    try:
        tried = subprocess.run([*ANOTHER_HOST, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "ranks become hosts by unshare(1), which is not installed (Debian: util-linux)"
    return f"ranks cannot become hosts: {tried.stderr.strip() or tried.returncode}" if tried.returncode else None


def failed_checks(module, size, environment=None, seconds=DEADLINE_SECONDS, **options):
    """Runs all checks of ``module`` in ``size`` ranks. ``options``: of Ranks. Returns texts, one for each rank's check
    that has failed."""
    failed = []
    with Ranks([HERE / "run_checks.py", module], size, environment, **options) as ranks:
        for rank, (status, output) in ranks.wait(seconds).items():
            reports = [json.loads(line) for line in output.splitlines() if line.startswith('{"check"')]
            failed += [f"rank {rank} of {size}, {report['check']}: {report['error']}"
                       for report in reports if report["error"]]
            if status != 0 and not any(report["error"] for report in reports):
                failed.append(f"rank {rank} of {size} ended with {status} after {len(reports)} checks:\n{output}")
    return failed
