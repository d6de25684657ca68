"""A pytest plugin: each test runs in several ranks at once, as if horovodrun had started them.

    pytest -p ranks_plugin --ranks 3 --limit 120 --report FILE …

A rank is a process that is forked for one test, after the test's file has been imported, so that PyTorch is loaded
once. Ranks that hang or die are a failure of this test, with a reason, and harm no other. FILE gets a line of JSON for
each test: "test", "outcome" (passed, failed, skipped), "why", "seconds".
"""

import faulthandler
import functools
import json
import os
import pathlib
import resource
import selectors
import signal
import sys
import tempfile
import threading
import time
import traceback
import unittest

from _pytest.reports import TestReport
from _pytest.runner import runtestprotocol

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import rendezvous_driver  # noqa: E402  pylint: disable=wrong-import-position

# How long the others may go on when one rank has failed: most of them then wait for it in vain.
GRACE_SECONDS = 15
# How long a rank may take to end when its test has.
END_SECONDS = 30


def pytest_addoption(parser):  # pylint: disable=missing-function-docstring
    group = parser.getgroup("ranks")
    group.addoption("--ranks", type=int, default=2, help="how many ranks run each test")
    group.addoption("--limit", type=float, default=120, help="seconds that a test may take")
    group.addoption("--report", default=os.devnull, help="file for a line of JSON for each test")


def pytest_runtest_protocol(item):
    """Instead of pytest's own, which runs a test in this process."""
    started = time.time()
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with tempfile.TemporaryDirectory() as folder:
        outcome, why = _Test(item, pathlib.Path(folder)).run()
    seconds = time.time() - started
    with open(item.config.getoption("report"), "a", encoding="utf-8") as report:
        line = {"test": item.nodeid, "outcome": outcome, "why": why, "seconds": round(seconds, 1)}
        report.write(json.dumps(line) + "\n")
    where = why if outcome == "failed" else (str(item.path), 0, f"Skipped: {why}") if outcome == "skipped" else None
    item.ihook.pytest_runtest_logreport(report=TestReport(
        item.nodeid, item.location, {}, outcome, where, "call", duration=seconds))
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class _Rank:
    """One forked rank, as its parent sees it."""

    def __init__(self, pid, done, go, folder):
        self.pid, self.done, self.go, self.folder = pid, done, go, folder
        self.result = None  # (outcome, why) once it has one
        self.failed = False  # already, in a test that goes on to tear down

    def ended(self, why):
        """What comes of it once it is ended, with a look at where it was: after os.kill()."""
        self.reap(END_SECONDS)
        # A paragraph for each thread: the test's, which got the signal, comes first.
        threads = sorted(self._text("stack").split("\n\n"), key=lambda text: "Current thread" not in text)
        where = [line.strip() for text in threads for line in text.splitlines() if "File" in line]
        self.result = ("failed", "; ".join([*([self._text("failure")] if self.failed else []), why, *where[:6]]))

    def reap(self, seconds):
        """Its exit status; it is killed when it does not end in time."""
        killer = threading.Timer(seconds, os.kill, (self.pid, signal.SIGKILL))
        killer.start()
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        finally:
            killer.cancel()

    def read_result(self):
        """After it has said something, or has closed its pipe."""
        said = os.read(self.done, 1)
        if said == b"f":
            self.failed = True
            return
        if said:
            self.result = tuple(json.loads(self._text("result")))
            self.failed = self.result[0] == "failed"
            return
        self.failed = True
        status = self.reap(END_SECONDS)
        self.pid = None
        self.result = ("failed", f"ended with {status} in the test; its last output: {self._text('output')[-400:]}")

    def _text(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


class _Test:
    """One test in all ranks."""

    def __init__(self, item, folder):
        self._item, self._folder = item, folder
        self._size = item.config.getoption("ranks")
        self._limit = item.config.getoption("limit")

    def run(self):
        """(outcome, why) of all ranks together."""
        store = type("Store", (rendezvous_driver.Store,), {"values": {}, "changed": threading.Lock()})
        server = rendezvous_driver.Server(("127.0.0.1", 0), store)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        ranks = [self._fork(rank, server) for rank in range(self._size)]
        thread.start()
        try:
            self._collect(ranks)
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
        results = [rank.result for rank in ranks]
        for outcome in ("failed", "passed", "skipped"):
            reasons = [f"rank {rank}: {why}" for rank, (each, why) in enumerate(results) if each == outcome]
            if reasons:
                return outcome, results[0][1] if outcome == "skipped" else "\n".join(reasons) * (outcome == "failed")
        raise AssertionError(results)

    def _collect(self, ranks):
        """Waits until each has a result, and lets them end: none goes before all are done."""
        deadline = time.monotonic() + self._limit
        failed = None
        with selectors.DefaultSelector() as selector:
            for rank in ranks:
                selector.register(rank.done, selectors.EVENT_READ, rank)
            while selector.get_map() and time.monotonic() < deadline:
                for key, _ in selector.select(max(deadline - time.monotonic(), 0)):
                    key.data.read_result()
                    if key.data.result is not None:
                        selector.unregister(key.fd)
                    if key.data.failed and failed is None:
                        failed = ranks.index(key.data)
                        deadline = min(deadline, time.monotonic() + GRACE_SECONDS)
        hanging = [rank for rank in ranks if rank.result is None]
        for rank in hanging:
            # All of them first: one's end would let the others go on.
            os.kill(rank.pid, signal.SIGABRT)
        for rank in hanging:
            rank.ended(f"still waited {GRACE_SECONDS} s after rank {failed} had failed" if failed is not None else
                       f"hung: no result within {self._limit:g} s")
            rank.pid = None
        living = [rank for rank in ranks if rank.pid is not None]
        for rank in living:
            os.write(rank.go, b"g")
        for rank in living:
            if rank.reap(END_SECONDS) and rank.result[0] != "failed":
                rank.result = ("failed", "did not end well after its test")
        for rank in ranks:
            os.close(rank.done)
            os.close(rank.go)

    def _fork(self, rank, server):
        folder = self._folder / str(rank)
        folder.mkdir()
        done_read, done_write = os.pipe()
        go_read, go_write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid > 0:
            os.close(done_write)
            os.close(go_read)
            return _Rank(pid, done_read, go_write, folder)
        os.close(done_read)
        os.close(go_write)
        try:
            self._be_rank(rank, server, folder, done_write, go_read)
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            os._exit(1)  # the parent's way out of pytest is not this process's

    def _be_rank(self, rank, server, folder, done, go):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        # SIGABRT writes it.
        faulthandler.enable(file=open(folder / "stack", "w", encoding="utf-8"))  # pylint: disable=consider-using-with
        os.environ.update(rendezvous_driver.variables(rank, self._size, server.server_port))
        if hasattr(self._item, "_addexcinfo"):  # of a unittest.TestCase, before it is torn down
            self._item._addexcinfo = functools.partial(self._note_failure, self._item._addexcinfo, folder, done)
        result = _result(runtestprotocol(self._item, nextitem=None, log=False))
        (folder / "result").write_text(json.dumps(result), encoding="utf-8")
        os.write(done, b"d")
        os.read(go, 1)
        for name in ("tony.collective", "horovod.torch", "horovod.tensorflow"):
            if name in sys.modules:
                sys.modules[name].shutdown()
        os._exit(0)


    @staticmethod
    def _note_failure(then, folder, done, info):
        """A failure is told at once: tear down may wait for ranks that wait for this one."""
        text = "".join(traceback.format_exception_only(info[0], info[1])).strip()
        if not isinstance(info[1], unittest.SkipTest):
            (folder / "failure").write_text(text, encoding="utf-8")
            os.write(done, b"f")
        then(info)


def _result(reports):
    """(outcome, why) of one rank's reports: of set up, of the test, of tear down."""
    for report in reports:
        if report.outcome == "failed":
            crash = getattr(report.longrepr, "reprcrash", None)
            if crash is None:
                return "failed", f"{report.when}: {report.longrepr}"
            at = "" if report.when == "call" else f"{report.when}: "
            return "failed", f"{at}{crash.message} ({os.path.basename(crash.path)}:{crash.lineno})"
    for report in reports:
        if report.outcome == "skipped":
            return "skipped", str(report.longrepr[2]).removeprefix("Skipped: ")
    return "passed", ""
