#!/usr/bin/env python3
"""How ranks are seen at work: stalls, timelines, counters; in real processes of this machine."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from rank_processes import DEADLINE_SECONDS, Ranks
import machine  # which rank_processes has made known
from process_output import ProcessOutput
from tony.collective import timeline

# Each rank's program; `say` is heard by the test at once.
BEGIN = """
import array, json, os, signal, sys, threading, time
import tony.collective as hvd
def say(*words):
    print(*words, flush=True)
"""

# The start of a program: `wait_a_while(seconds)` is a barrier to which rank 1 comes when rank 0 has
# counted that long a wait for it.
WAIT_A_WHILE = """
def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
def wait_a_while(seconds):
    counted = sys.argv[0] + ".counted"
    if hvd.rank() == 1:
        until(lambda: os.path.exists(counted))
    meeting = threading.Thread(target=hvd.barrier)
    meeting.start()
    if hvd.rank() == 0:
        until(lambda: hvd.counters()["straggler_seconds"][1] > seconds)
        open(counted, "w").close()
    meeting.join()
"""


class Output(ProcessOutput):
    """The output of a rank, for tests."""

    def wait_for(self, part, seconds=DEADLINE_SECONDS):
        """All output, once it has ``part``. AssertionError: it never has."""
        if not super().wait_for(part, seconds):
            raise AssertionError(f"'{part}' does not come:\n{self.text()}")
        return self.text()


class WatchTest(unittest.TestCase):
    """Programs are files, so that stacks have their lines."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tony-watch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, body, size, **variables):
        """(Ranks, Output by rank) of a program."""
        program = self.folder / "train.py"
        program.write_text(BEGIN + body, encoding="utf-8")
        ranks = Ranks([program], size, environment=lambda rank: {"PYTHONUNBUFFERED": "1", **variables})
        self.addCleanup(ranks.__exit__)
        return ranks, {rank: Output(process) for rank, process in ranks.processes.items()}

    def assert_ends(self, ranks, outputs, expected=None):
        """All ranks end. ``expected``: statuses by rank, if not 0."""
        for rank, process in ranks.processes.items():
            try:
                status = process.wait(DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                status = None
            self.assertEqual(status, (expected or {}).get(rank, 0), f"rank {rank}:\n{outputs[rank].text()}")


def line_of(body, part):
    """The number of the line of a program that has ``part``."""
    return 1 + next(number for number, line in enumerate((BEGIN + body).split("\n")) if part in line)


class StallTest(WatchTest):
    """Rank 0 says where a rank stands that is waited for."""

    def test_the_line_at_which_a_rank_stands(self):
        body = """
import threading
def load_batch():
    sys.stdin.readline()  # here
def train():
    if hvd.rank() == 1:
        load_batch()
    hvd.barrier()
def read_ahead():
    os.read(os.pipe()[0], 1)  # a reader
hvd.init()
threading.Thread(target=read_ahead, name="reader", daemon=True).start()
threading.Thread(target=threading.Event().wait, name="idler", daemon=True).start()
train()
"""
        program = self.folder / "train.py"
        program.write_text(BEGIN + body, encoding="utf-8")
        gate, opened = os.pipe()
        with Ranks(["-c", f"import os, runpy; os.dup2({gate}, 0); runpy.run_path({str(program)!r})"], 3,
                   environment=lambda _: {"HOROVOD_STALL_CHECK_TIME_SECONDS": "3"}, pass_fds=(gate,)) as ranks:
            outputs = {rank: Output(process) for rank, process in ranks.processes.items()}
            report = outputs[0].wait_for("reader: ")
            os.write(opened, b"go on\n")
            self.assert_ends(ranks, outputs)
        os.close(gate)
        os.close(opened)
        here = line_of(body, "# here")
        self.assertIn(f"for rank 1, which stands at train.py:{here} in load_batch\n", report)
        self.assertIn("tensor 'barrier.noname.0': ranks 0, 2 wait since ", report)
        self.assertIn(f"train.py:{line_of(body, 'if hvd.rank') + 1} in train, train.py:{here} in load_batch\n", report)
        self.assertIn(f"train.py:{line_of(body, '# a reader')} in read_ahead\n", report)
        self.assertNotIn("idler", report)
        self.assertNotIn("tony.collective:", report.replace("tony.collective: tensors wait", ""))

    def test_ranks_that_wait_for_each_other(self):
        body = """
hvd.init()
values = hvd.allreduce(array.array("f", [1]), name=f"of rank {hvd.rank()}")
"""
        ranks, outputs = self.start(body, 2, HOROVOD_STALL_CHECK_TIME_SECONDS="0.3")
        self.assert_ends(ranks, outputs, expected={0: 1, 1: 1})
        where = f"train.py:{line_of(body, 'values =')} in <module>, and waits in tony.collective's "
        for rank in (0, 1):
            report = outputs[0].wait_for(f"for rank {rank}, which stands at {where}")
            self.assertIn(f"'allreduce.of rank {1 - rank}': rank {1 - rank} waits since", report)
            self.assertIn("ranks wait for each other in different operations, so that none can go on: rank ",
                          outputs[rank].text())
            self.assertIn(f", both at train.py:{line_of(body, 'values =')}\n", outputs[rank].text())
        self.assertIn("InvalidArgumentError", outputs[0].text())
        self.assertIn("HorovodInternalError", outputs[1].text())

    def test_nobody_waits_longer_than_said(self):
        ranks, outputs = self.start(WAIT_A_WHILE + """
hvd.init()
if hvd.rank() == 1:
    time.sleep(600)
hvd.barrier()
""", 2, HOROVOD_STALL_CHECK_TIME_SECONDS="0.3", HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="1")
        outputs[0].wait_for("nobody waits longer than HOROVOD_STALL_SHUTDOWN_TIME_SECONDS says")
        ranks.processes[1].kill()

    def test_a_rank_that_is_stopped(self):
        ranks, outputs = self.start("""
hvd.init()
hvd.barrier()
say("ready")
if hvd.rank() == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
hvd.barrier()
""", 2, HOROVOD_STALL_CHECK_TIME_SECONDS="0.3")
        outputs[0].wait_for("which does not answer: its process is stopped")
        ranks.processes[1].send_signal(signal.SIGCONT)
        self.assert_ends(ranks, outputs)

    def test_a_rank_that_holds_pythons_lock(self):
        ranks, outputs = self.start("""
import ctypes
hvd.init()
if hvd.rank() == 1:
    ready, go_on = os.pipe()
    os.set_inheritable(go_on, True)
    child = os.fork()
    if child == 0:  # ends the wait below when rank 0 has said that there is one
        os.execvp("sh", ["sh", "-c", f"until test -e {sys.argv[0]}.go; do sleep 0.1; done; echo >&{go_on}"])
    ctypes.PyDLL(None).read(ready, ctypes.create_string_buffer(1), 1)
hvd.barrier()
""", 2, HOROVOD_STALL_CHECK_TIME_SECONDS="0.3")
        outputs[0].wait_for("which does not answer: it is in code that holds Python's lock")
        (self.folder / "train.py.go").touch()
        self.assert_ends(ranks, outputs)

    def test_it_can_be_switched_off(self):
        ranks, outputs = self.start(WAIT_A_WHILE + """
hvd.init()
wait_a_while(1)  # a hundred times as long as a report would take
""", 2, HOROVOD_STALL_CHECK_TIME_SECONDS="0.01", HOROVOD_STALL_CHECK_DISABLE="1")
        self.assert_ends(ranks, outputs)
        self.assertNotIn("wait", outputs[0].text())

    def test_a_time_that_is_none(self):
        ranks, outputs = self.start("hvd.init()", 1, HOROVOD_STALL_CHECK_TIME_SECONDS="soon")
        self.assert_ends(ranks, outputs, expected={0: 1})
        self.assertIn("HOROVOD_STALL_CHECK_TIME_SECONDS is 'soon' instead of a number of seconds", outputs[0].text())


def slices(events):
    """(process, thread) -> [(name, begin, end, arguments)] of what begins and ends. AssertionError: something ends that
    has not begun, or inside of something else, or before it begins."""
    opened, closed = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        line = (event["pid"], event.get("tid"))
        if event["ph"] == "B":
            opened[line].append(event)
        elif event["ph"] == "E":
            assert opened[line], f"nothing is open: {event}"
            begin = opened[line].pop()
            assert begin["ts"] <= event["ts"], (begin, event)
            closed[line].append((begin["name"], begin["ts"], event["ts"], begin.get("args", {})))
    return closed


def check_format(events):
    """The requirements of the Trace Event Format on each event. AssertionError: one does not meet them."""
    for event in events:
        assert event["ph"] in "BEiM" and isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        assert event["ph"] == "E" or isinstance(event["name"], str), event
        assert event["ph"] == "M" or isinstance(event["ts"], (int, float)), event
        assert event["ph"] != "M" or event["args"], event
        assert event["ph"] != "i" or event["s"] in ("g", "p", "t"), event


TRAIN = """
hvd.init()
for step in range(5):
    handles = [hvd.allreduce_async(array.array("f", [1] * 100), name=f"gradient.{i}") for i in range(6)]
    for handle in handles:
        hvd.synchronize(handle)
"""


class TimelineTest(WatchTest):
    """A file of each rank, and one of all."""

    def files(self, ranks=3):
        """By rank."""
        return [self.folder / ("trace.json" if rank == 0 else f"trace.rank{rank}.json") for rank in range(ranks)]

    def test_what_was_done_is_in_the_merged_one(self):
        ranks, outputs = self.start(TRAIN + """
hvd.allgather(array.array("f", [1] * 10), name="lengths")
hvd.barrier()
say(json.dumps(hvd.counters()))
""", 3, HOROVOD_TIMELINE=str(self.folder / "trace.json"), HOROVOD_TIMELINE_MARK_CYCLES="1")
        self.assert_ends(ranks, outputs)
        for file in self.files():
            self.assertIsInstance(json.loads(file.read_text(encoding="utf-8")), list)
        merged = self.folder / "all.json"
        subprocess.run([sys.executable, "-B", "-m", "tony.collective.timeline", "merge", merged, *self.files()],
                       check=True, stdout=subprocess.PIPE)
        events = json.loads(merged.read_text(encoding="utf-8"))
        check_format(events)
        names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
                 if event.get("name") == "thread_name"}
        by_decision = collections.defaultdict(list)
        for line, done in slices(events).items():
            for negotiate, wait, operation in zip(done[::3], done[1::3], done[2::3]):
                self.assertEqual((negotiate[0], wait[0]), (f"NEGOTIATE_{operation[0]}", "WAIT"))
                self.assertEqual((negotiate[2], wait[2]), (wait[1], operation[1]), "one follows the other")
                self.assertEqual(negotiate[3]["tensor"], names[line])
                by_decision[operation[3]["decision"]].append((line[0], names[line], operation))
        counted = json.loads(outputs[0].text())
        self.assertEqual(len(by_decision), counted["operations"])
        tensors = collections.Counter(operation[0] for done in by_decision.values() for _, _, operation in done)
        self.assertEqual(tensors, {"ALLREDUCE": 3 * 30, "ALLGATHER": 3, "BARRIER": 3})
        clocks = [event["args"] for event in events if event.get("name") == "CLOCK"]
        self.assertEqual([clock["clock"] for clock in clocks], ["rank 0's"] * 3)
        self.assertTrue(all(0 <= clock["error_microseconds"] < 1e6 for clock in clocks), clocks)
        apart = 2000 + 2 * max(clock["error_microseconds"] for clock in clocks)
        for done in by_decision.values():
            self.assertEqual({rank for rank, _, _ in done}, {0, 1, 2}, "all ranks do it")
            fused = {name for _, name, _ in done}
            for _, name, operation in done:
                self.assertEqual(set(operation[3]["fused_with"]) | {name}, fused)
                self.assertEqual(operation[3]["fused"], len(fused))
                self.assertEqual(operation[3]["bytes"], {"ALLREDUCE": 400, "ALLGATHER": 40}.get(operation[0], 0))
            # No rank is done before all have begun: the clocks are one, within what they say.
            begun = max(operation[1] for _, _, operation in done)
            self.assertTrue(all(operation[2] > begun - apart for _, _, operation in done), done)
        arrivals = collections.Counter(event["name"] for event in events if event["ph"] == "i")
        self.assertEqual({arrivals[f"rank {rank}"] for rank in range(3)}, {32})

    def test_a_process_that_is_killed_in_the_middle(self):
        ranks, outputs = self.start("""
hvd.init()
step = 0
while True:
    hvd.allreduce(array.array("f", [1] * 100), name="gradient")
    step += 1
    if step == 100:
        say("running")
""", 2, HOROVOD_TIMELINE=str(self.folder / "trace.json"))
        outputs[1].wait_for("running")
        self.assertTrue(machine.wait_until(
            lambda: min(file.read_bytes().count(b'"ALLREDUCE"') for file in self.files(2)) >= 20, DEADLINE_SECONDS, 0.01))
        # None of them sees another's end, and ends in order.
        for process in ranks.processes.values():
            process.send_signal(signal.SIGSTOP)
        for process in ranks.processes.values():
            process.kill()
            process.wait()
        for file in self.files(2):
            events = timeline.read(file)
            check_format(events)
            done = [name for line in slices(events).values() for name, _, _, _ in line]
            self.assertGreater(done.count("ALLREDUCE"), 10)
            self.assertFalse(file.read_text(encoding="utf-8").rstrip().endswith("]"))
        self.assertEqual(timeline.main(["merge", str(self.folder / "all.json"), *map(str, self.files(2))]), 0)
        json.loads((self.folder / "all.json").read_text(encoding="utf-8"))

    def test_from_the_program(self):
        ranks, outputs = self.start("""
hvd.init()
path = os.environ["TRACE"]
hvd.barrier()
hvd.start_timeline(path, mark_cycles=True)
try:
    hvd.start_timeline(path)
except hvd.HorovodInternalError as error:
    assert "already" in str(error)
hvd.allreduce(array.array("f", [1]), name="seen")
hvd.stop_timeline()
hvd.barrier()
hvd.allreduce(array.array("f", [1]), name="unseen")
for function in (hvd.stop_timeline, lambda: hvd.start_timeline("/nowhere/trace.json")):
    try:
        function()
    except hvd.HorovodInternalError as error:
        say(error)
hvd.barrier()
""", 2, TRACE=str(self.folder / "trace.json"), HOROVOD_TIMELINE="DYNAMIC")
        self.assert_ends(ranks, outputs)
        for rank, file in enumerate(self.files(2)):
            text = file.read_text(encoding="utf-8")
            self.assertIn("allreduce.seen", text)
            self.assertNotIn("unseen", text)
            self.assertEqual("CYCLE_START" in text, rank == 0)
            self.assertIn("there is no timeline", outputs[rank].text())
            self.assertIn("/nowhere/trace", outputs[rank].text())

    def test_a_file_that_cannot_be_written(self):
        ranks, outputs = self.start("hvd.init()", 1, HOROVOD_TIMELINE="/nowhere/trace.json")
        self.assert_ends(ranks, outputs, expected={0: 1})
        self.assertIn("cannot write the timeline /nowhere/trace.json: No such file or directory", outputs[0].text())

    def test_what_is_no_timeline(self):
        none, out = self.folder / "none.json", str(self.folder / "out.json")
        for text in ("{}", "[\n{\"ph\":\"i\"\n{}", "[\n7\n"):
            none.write_text(text, encoding="utf-8")
            with self.assertRaises(ValueError) as raised:
                timeline.read(none)
            self.assertIn(str(none), str(raised.exception))
        for file in (str(none), str(self.folder / "missing.json")):
            ended = subprocess.run([sys.executable, "-B", "-m", "tony.collective.timeline", "merge", out, file],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(file, ended.stderr)
            self.assertNotIn("Traceback", ended.stderr)


class CountersTest(WatchTest):
    """The counters of ranks."""

    def test_counters(self):
        counters = self.folder / "counters"
        ranks, outputs = self.start(WAIT_A_WHILE + TRAIN + """
wait_a_while(0.2)
say(json.dumps(hvd.counters()))
hvd.shutdown()
hvd.init()
hvd.barrier()
try:
    hvd.shutdown()
    hvd.counters()
except hvd.NotInitializedError:
    pass
""", 2, TONY_COLLECTIVE_COUNTERS=str(counters))
        self.assert_ends(ranks, outputs)
        counted = [json.loads(outputs[rank].text()) for rank in range(2)]
        for rank, each in enumerate(counted):
            self.assertEqual((each["tensors"]["allreduce"], each["tensors"]["barrier"]), (30, 1))
            self.assertEqual(each["bytes"]["allreduce"], 30 * 400)
            self.assertAlmostEqual(each["fusion"], 31 / each["operations"])
            self.assertEqual((each["by_number"], each["by_request"], each["failed"]), (18, 13, 0))
            self.assertEqual(each["straggler_seconds"] is None, rank == 1)
        self.assertGreater(counted[0]["straggler_seconds"][1], 0.2)
        self.assertGreater(counted[0]["negotiation_seconds"], 0.2)
        self.assertEqual(counters.stat().st_mode & 0o777, 0o700)
        files = sorted(counters.iterdir())
        self.assertEqual([file.name for file in files], sorted(
            f"{process.pid}.{life}" for process in ranks.processes.values() for life in (0, 1)))
        texts = [file.read_text(encoding="utf-8") for file in files]
        self.assertEqual(sorted(text.split("\n")[0] for text in texts), ["tensors 1"] * 2 + ["tensors 31"] * 2)


if __name__ == "__main__":
    unittest.main()
