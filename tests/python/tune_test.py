"""Tables of switch points: how they are found, what a real tuning between hosts writes, and what a bad one leads to."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

# pylint: disable=wrong-import-position
import network_hosts  # noqa: E402
import rank_processes  # noqa: E402
import rendezvous_driver  # noqa: E402

try:
    import numpy  # noqa: F401  pylint: disable=unused-import
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

from tony.collective import tune  # noqa: E402

SECONDS = 300  # for a tuning, on a busy machine
SUM = """
import numpy
import tony.collective as hvd
try:
    hvd.init()
    print(hvd.allreduce(numpy.ones(1000), op=hvd.Sum, name="sum").sum())
except hvd.HorovodInternalError as error:
    print(error)
"""


class FindingTest(unittest.TestCase):
    """Times in, switch points out."""

    def test_crossover(self):
        sizes = [1, 2, 4, 8]
        for first, second, found in (([1, 2, 4, 8], [3, 3, 3, 3], 2), ([5, 5, 5, 5], [3, 3, 3, 3], 0),
                                     ([1, 1, 1, 1], [3, 3, 3, 3], 8), ([1, 1, 1, 1], [0.98, 1, 0.5, 3], 2)):
            self.assertEqual(tune.crossover(sizes, first, second), found, (first, second))

    def test_best(self):
        self.assertEqual(tune.best({1: 5.0, 2: 4.0, 4: 3.0}, 2), 4)
        self.assertEqual(tune.best({1: 3.95, 2: 4.0, 4: 5.0}, 2), 2, "as good")
        self.assertEqual(tune.best({1: 5.0, 2: 4.0, 4: 4.5}, 2), 2)

    def test_steps(self):
        """With times that are made up: each step keeps what was found, and asks for what the job has."""
        class Fake:
            def __init__(self):
                self.points, self.small, self.asked = {}, [1024, 2048, 4096], []

            def measure(self, trials, _call, sizes):
                self.asked.append((dict(self.points), [set(trial) for trial in trials]))
                first = [float(size) for size in sizes]
                return [first, [3000.0] * len(sizes), [9e9] * len(sizes)][:len(trials)]

        few, many = Fake(), Fake()
        self.assertEqual(len(list(tune.tune(few, 2, 1))), 3)
        self.assertEqual(few.points, {"whole_bytes": 2048, "piece_bytes": 128 << 10, "streams": 2})
        self.assertEqual(len(list(tune.tune(many, 4, 2))), 5)
        self.assertEqual(many.points, {"whole_bytes": 3 * 2048, "scatter_bytes": 2049, "rails_bytes": 2049,
                                       "piece_bytes": 128 << 10, "streams": 2})
        self.assertEqual([names for _, names in many.asked], [
            [{"whole_bytes"}] * 2, [{"scatter_bytes"}] * 2, [{"rails_bytes"}] * 2, [{"piece_bytes"}] * 3,
            [{"streams"}] * 3])
        self.assertEqual(many.asked[1][0], {"whole_bytes": 3 * 2048})


class TableTest(unittest.TestCase):
    """Real ranks of this host."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.table = f"{folder.name}/table"

    def said(self, command):
        """The output of two ranks, of which only the first one knows of a table."""
        with rank_processes.Ranks(command, 2, lambda rank: {tune.VARIABLE: None if rank else self.table}) as ranks:
            return ranks.wait()

    def test_all_hear_of_a_bad_table(self):
        pathlib.Path(self.table).write_text("# of a test\nstreams no\n", encoding="ascii")
        for code, output in self.said(["-c", SUM]).values():
            self.assertEqual(code, 0, output)
            self.assertIn(f"{self.table}, line 2: 'streams no' is none: write streams and a number from 1 to 16",
                          output)

    def test_a_good_one_is_taken(self):
        pathlib.Path(self.table).write_text("streams 3\n", encoding="ascii")
        for code, output in self.said(["-c", SUM]).values():
            self.assertEqual((code, output.strip()), (0, "2000.0"))

    def test_one_host_has_nothing_to_tune(self):
        pathlib.Path(self.table).write_text("", encoding="ascii")
        for code, output in self.said(["-m", "tony.collective.tune", "--out", self.table]).values():
            self.assertEqual(code, 1, output)
            self.assertIn("all ranks are of one host, where there is nothing to tune", output)


class HostsTest(unittest.TestCase):
    """A real tuning, on hosts that are network namespaces."""

    def test_a_table_is_written_and_taken(self):
        """And without a key nobody meets."""
        reason = network_hosts.refusal()
        if reason:
            self.skipTest(reason)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(network_hosts.inside([sys.executable, "-B", __file__, "on-hosts", folder]),
                                  capture_output=True, text=True, check=False, timeout=2 * SECONDS)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            tuned, summed, keyless = json.loads(done.stdout.splitlines()[-1])
            table = pathlib.Path(f"{folder}/table").read_text(encoding="ascii")
        for code, output in tuned + summed + keyless:
            self.assertEqual(code, 0, output)
        self.assertEqual([output.strip() for _, output in keyless], [
            "rank 1 is on another host than rank 0, and there is no key: give all ranks the same "
            "TONY_COLLECTIVE_KEY"] * 2)
        self.assertIn("written to", tuned[0][1])
        self.assertEqual([output.strip() for _, output in summed], ["2000.0"] * 2)
        self.assertRegex(table, r"^# Measured on 2 hosts by .*\nwhole_bytes \d+\npiece_bytes \d+\nstreams [124]\n$")

    def test_nothing_is_left_of_hosts_however_their_program_ends(self):
        reason = network_hosts.refusal()
        if reason:
            self.skipTest(reason)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            # A remaining process keeps the pipe open, whose end the test waits for.
            program = subprocess.Popen([sys.executable, "-B", __file__, "stay"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                self.assertEqual(program.stdout.readline(), b"here\n")
                program.send_signal(number)
                program.wait(SECONDS)
                ready, _, _ = select.select([program.stdout], [], [], SECONDS)
                self.assertTrue(ready, f"after {number!r} something is left")
                self.assertEqual(program.stdout.read(), b"")
            finally:
                program.kill()
                program.wait()
                program.stdout.close()


def stay():
    """A program with two hosts, on each of which something runs for ever."""
    network_hosts.go_inside("tune_test")
    network = network_hosts.Hosts(2)
    for host in range(2):
        subprocess.Popen(network.on(host, "sleep", "infinity"))  # pylint: disable=consider-using-with
    print("here", flush=True)
    signal.pause()


def on_hosts(folder):
    """Inside: tunes and sums on two hosts, and prints what their ranks have said, as JSON."""
    network = network_hosts.Hosts(2)
    table = f"{folder}/table"
    server = rendezvous_driver.Server((network.own, 0), type("Store", (rendezvous_driver.Store,), {
        "values": {}, "changed": threading.Lock()}))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def run(epoch, *command, key="a key"):
        processes = []
        for rank in range(2):
            processes.append(subprocess.Popen(network.on(rank, sys.executable, "-B", *command), text=True, env={
                **os.environ, "HOROVOD_RANK": str(rank), "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": "0",
                "HOROVOD_LOCAL_SIZE": "1", "HOROVOD_CROSS_RANK": str(rank), "HOROVOD_CROSS_SIZE": "2",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR": network.own, "TONY_EPOCH": str(epoch), "TONY_COLLECTIVE_KEY": key,
                "HOROVOD_GLOO_RENDEZVOUS_PORT": str(server.server_address[1]), tune.VARIABLE: "" if rank else table},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        said = [process.communicate(timeout=SECONDS)[0] for process in processes]
        return [(process.returncode, output) for process, output in zip(processes, said)]

    tuned = run(0, "-m", "tony.collective.tune", "--quick", "--out", table)
    print(json.dumps([tuned, run(1, "-c", SUM), run(2, "-c", SUM, key="")]))
    sys.stdout.flush()
    os._exit(0)  # the server's threads are not waited for


if __name__ == "__main__":
    if sys.argv[1:2] == ["on-hosts"]:
        on_hosts(sys.argv[2])
    if sys.argv[1:2] == ["stay"]:
        stay()
    unittest.main()
