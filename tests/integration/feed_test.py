"""Jobs that are fed with data of another program: over a Unix socket and over TLS, and with each
process of the job killed in turn.
"""

import json
import os
import pathlib
import signal
import time

import integration_case
import feed_peer
import machine
import second_user
import tony_cli
from feed_peer import ACK, AWAY, ERROR, SKIP, STOP, Producer

PEER = pathlib.Path(feed_peer.__file__)
FED = ("--conf", "tony.feed.enabled=true", "--conf", "tony.feed.buffer=1m")
KNOCK = """
    import socket, sys
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(sys.argv[1])
        print(connection.recv(100) or "closed")
    except (PermissionError, FileNotFoundError):
        print("no way")
"""


class FeedTest(integration_case.JobTest):
    """A real job each; the consumers are feed_peer.py."""

    def start(self, *arguments, workers=2, how="", retries=0):
        """Starts a job whose workers consume the feed "train"; returns it when all can be fed."""
        told = self.site.folder / "told"
        told.mkdir()
        self.told = {(index, attempt): self.pipe(f"told/{index}.{attempt}")
                     for index in range(workers) for attempt in range(1, retries + 2)}
        self.seen = {key: [] for key in self.told}
        command = f"python3 -B {PEER} train {told}/$TASK_INDEX.$((TONY_EPOCH + 1)) {how}"
        job = self.submit(command, *FED, *integration_case.conf(
            am__retry_count=retries, am__retry_backoff_ms=1), *arguments, workers=workers)
        job.wait_until_running(*(f"worker:{index}" for index in range(workers)))
        return job

    def feeds(self, job, *arguments, tasks=None):
        """What `tony feed` says, once as many tasks can be fed."""
        end = time.monotonic() + tony_cli.DEADLINE_SECONDS
        while True:
            feeds = self.site.verb("feed", job.id, *arguments)
            if tasks is None or len(feeds["tasks"]) == tasks:
                return feeds
            self.assertLess(time.monotonic(), end, feeds)

    def connect(self, job, feeds, index, over="unix"):
        """A connection to the endpoint of one worker."""
        (task,) = (one for one in feeds["tasks"] if one["task"] == f"worker:{index}")
        if over == "unix":
            connection = feed_peer.unix(task["unix"])
        else:
            connection = feed_peer.tls("127.0.0.1", task["port"], feeds["authority"],
                                       f"tony://{job.id}/executor/{task['container']}")
        self.addCleanup(connection.close)
        return connection

    def producer(self, job, feeds, index, partition=0, over="unix", **more):
        """A producer of one partition."""
        return Producer(self.connect(job, feeds, index, over), feeds["token"], partition, **more)

    def await_told(self, index, key, attempt=1, count=1):
        """Waits until a worker's program has told of `key` so often; returns what it told."""
        seen = self.seen[index, attempt]
        while len(found := [line[key] for line in seen if key in line]) < count:
            seen.append(json.loads(self.told[index, attempt].read()))
        return found

    def feed_and_end(self, over):
        job = self.start()
        feeds = self.feeds(job, tasks=2)
        for index in range(2):
            producer = self.producer(job, feeds, index, partition=index, over=over,
                                     schema={"x": "utf8"})
            batches = [f"{over} {index} {batch}" for batch in range(100)]
            for batch in batches:
                self.assertIsNone(producer.send(3, batch.encode()))
            self.assertEqual(producer.end(), (ACK, ""))
            self.assertEqual(producer.slot_bytes, 65536)
            self.assertEqual(self.await_told(index, "data", count=100), batches)
        # A retried attempt, even at another worker, sends nothing.
        self.assertEqual(self.producer(job, feeds, 1, over=over).await_end(), (SKIP, ""))
        (feed,) = self.feeds(job)["feeds"]
        self.assertEqual(feed, {"feed": "train", "state": "open", "acknowledged": 2, "rows": 600,
                                "leased": 0, "waiting": 0})
        (feed,) = self.feeds(job, "--end", "train")["feeds"]
        self.assertEqual(feed["state"], "ended")
        self.assert_succeeds(job)
        for index in range(2):
            self.await_told(index, "ended")
            self.assertEqual(self.await_told(index, "open"),
                             [{"epoch": 0, "partition": index, "attempt": 0, "results": False,
                               "schema": {"x": "utf8"}}])

    def test_over_a_unix_socket(self):
        self.feed_and_end("unix")

    def test_over_tls(self):
        self.feed_and_end("tls")

    def test_one_program_terminates_for_all(self):
        job = self.start("--conf", "tony.application.fail-on-worker-failure-enabled=false",
                         how="terminate")
        feeds = self.feeds(job, tasks=2)
        one, other = (self.producer(job, feeds, index, index) for index in range(2))
        # The other one's worker is idle; it is stopped by what the first one's program does.
        while other.credits == 0:
            other.take()
        one.send(1, b"enough")
        self.assertEqual(one.await_end(), (STOP, ""))
        self.assertEqual(other.await_end(), (STOP, ""))
        self.assert_succeeds(job)

    def test_results(self):
        job = self.start(workers=1, how="results")
        feeds = self.feeds(job, tasks=1)
        producer = self.producer(job, feeds, 0, results=True)
        for _ in range(50):
            producer.send(4, b"data")
        self.assertEqual(producer.end(), (ACK, ""))
        self.assertEqual(sum(count for count, _ in producer.results), 200)
        self.feeds(job, "--end", "train")
        self.assert_succeeds(job)

    def test_too_few_results(self):
        job = self.start(workers=1, how="few")
        producer = self.producer(job, self.feeds(job, tasks=1), 0, results=True)
        producer.send(4, b"data")
        kind, text = producer.end()
        self.assertEqual(kind, ERROR)
        self.assertIn("3 results for 4 rows of partition 0", text)
        self.assertIn(text, self.await_told(0, "error")[0])
        job.wait()

    def test_a_killed_program(self):
        job = self.start(how="hold", retries=1)
        feeds = self.feeds(job, tasks=2)
        producer = self.producer(job, feeds, 0)
        producer.send(1, b"lost")
        self.await_told(0, "data")
        (pid, *_) = job.wait_until_running("worker:0")
        os.kill(pid, signal.SIGKILL)
        kind, text = producer.await_end()  # within its deadline, which is far below feed_timeout
        self.assertEqual(kind, AWAY)
        self.assertIn("worker:0", text)
        # The next attempt of both gets the partition whole.
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        retry = self.producer(job, self.feeds(job, tasks=2), 0, attempt=1)
        retry.send(1, b"again")
        self.assertEqual(self.await_told(0, "data", attempt=2), ["again"])
        self.site.verb("kill", job.id)
        job.wait()

    def test_a_killed_executor(self):
        job = self.start(how="hold", retries=1)
        feeds = self.feeds(job, tasks=2)
        producer = self.producer(job, feeds, 0, over="tls")
        producer.send(1, b"lost")
        self.await_told(0, "data")
        os.kill(self.executor_of(job, "worker:0"), signal.SIGKILL)
        with self.assertRaises((EOFError, OSError)):
            producer.await_end()
        # Its lease is free for the retry, at the worker that takes its place.
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        retry = self.producer(job, self.feeds(job, tasks=2), 0, attempt=1)
        self.assertIsNone(retry.send(1, b"again"))
        self.assertEqual(self.await_told(0, "data", attempt=2), ["again"])
        self.site.verb("kill", job.id)
        job.wait()

    def test_a_killed_application_master(self):
        job = self.start()
        feeds = self.feeds(job, tasks=2)
        done = self.producer(job, feeds, 0, partition=0)
        done.send(1, b"done")
        self.assertEqual(done.end(), (ACK, ""))
        held = self.producer(job, feeds, 1, partition=1)
        held.send(1, b"first")
        os.kill(machine.master_of(job.id), signal.SIGKILL)
        # Data flows on meanwhile; the acknowledgement waits for the next ApplicationMaster.
        held.send(1, b"second")
        self.assertEqual(held.end(), (ACK, ""))
        feeds = self.feeds(job, tasks=2)
        self.assertEqual(self.producer(job, feeds, 1, partition=0).await_end(), (SKIP, ""))
        self.assertEqual(self.producer(job, feeds, 0, partition=1).await_end(), (SKIP, ""))
        self.assertEqual(self.await_told(1, "data", count=2), ["first", "second"])
        self.feeds(job, "--end", "train")
        self.assert_succeeds(job)

    def test_two_attempts_of_one_partition(self):
        job = self.start()
        feeds = self.feeds(job, tasks=2)
        first = self.producer(job, feeds, 0)
        first.send(1, b"first")
        speculative = self.producer(job, feeds, 1, attempt=1)
        end = time.monotonic() + tony_cli.DEADLINE_SECONDS
        while self.feeds(job)["feeds"][0]["waiting"] != 1:
            self.assertLess(time.monotonic(), end)
        self.assertEqual(first.end(), (ACK, ""))
        self.assertEqual(speculative.await_end(), (SKIP, ""))
        self.feeds(job, "--end", "train")
        self.assert_succeeds(job)
        self.await_told(1, "ended")
        self.assertNotIn("data", {key for line in self.seen[1, 1] for key in line})

    def test_strangers(self):
        job = self.start(workers=1)
        feeds = self.feeds(job, tasks=1)
        stranger = Producer(self.connect(job, feeds, 0, "tls"), "0" * 64)
        kind, text = stranger.await_end()
        self.assertEqual(kind, ERROR)
        self.assertIn("the token is not this job's", text)
        result = self.site.run("tony", "feed", job.id)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(feeds["token"], result.stdout)
        self.assertIn("worker:0", result.stdout)
        for path in job.all_logs():
            self.assertNotIn(feeds["token"].encode(), path.read_bytes(), path)
        self.feeds(job, "--end", "train")
        self.assert_succeeds(job)

    def test_another_user_gets_nothing(self):
        second_user.require(self)
        job = self.start(workers=1)
        feeds = self.feeds(job, tasks=1)
        self.assertEqual(second_user.run_python(KNOCK, feeds["tasks"][0]["unix"]), "no way\n")
        self.feeds(job, "--end", "train")
        self.assert_succeeds(job)

    def test_a_job_that_is_not_fed(self):
        gate = self.pipe("gate")
        job = self.submit(f"echo socket=$TONY_FEED_SOCKET; read < {gate.path}")
        job.wait_until_running("worker:0")
        result = self.site.run("tony", "feed", job.id)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("tony.feed.enabled", result.stderr)
        gate.write()
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0"), b"socket=\n")


if __name__ == "__main__":
    integration_case.main()
