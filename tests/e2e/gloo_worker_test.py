#!/usr/bin/env python3
"""The light ranks of other tests ask for what ranks of real Horovod ask for, byte for byte.

    gloo_worker_test.py [unittest's arguments]

Exits with 77 where Horovod is not built.
"""

import os
import pathlib
import socketserver
import subprocess
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import elastic_gloo_worker
import gloo_worker
import tony_cli
import yarn_cluster

DEADLINE_SECONDS = 120
WORKER = (sys.executable, ROOT / "tests/support/gloo_worker.py")
# The rest of a blob is what lay on the stack of Horovod's process: of an IPv4 address 16 bytes are
# used, and the sequence number at the end.
USED = (slice(0, 2), slice(4, 16), slice(128, gloo_worker.ADDRESS_BYTES))


class RecordingHandler(socketserver.StreamRequestHandler):
    """One request to the store, whose bytes are kept."""

    def handle(self):
        head = []
        while line := self.rfile.readline().rstrip(b"\r\n"):
            head.append(line)
        method, path, _ = head[0].split(b" ")
        (size,) = (int(line.split()[1]) for line in head if line.startswith(b"Content-Length: "))
        body = self.rfile.read(size)
        with self.server.values_lock:
            if method == b"PUT":
                self.server.values[path] = body
            value = self.server.values.get(path) if method == b"GET" else b""
        # How often somebody asks too early is chance.
        if value is not None or b"rank_" in path:
            self.server.seen.append((b"\r\n".join(head), self.without_chance(path, body)))
        status = b"404 Not Found" if value is None else b"200 OK"
        value = value or b""
        length = b"Content-Length: %d" % len(value)
        self.wfile.write(b"HTTP/1.1 " + status + b"\r\n" + length + b"\r\n\r\n" + value)

    @staticmethod
    def without_chance(path, body):
        """The body without ports, and without what nobody has set."""
        if b"rank_" in path:
            return body
        starts = range(0, len(body), gloo_worker.ADDRESS_BYTES)
        blobs = [body[start:start + gloo_worker.ADDRESS_BYTES] for start in starts]
        return [[blob[part] for part in USED] for blob in blobs]


class Server(socketserver.ThreadingTCPServer):
    """One rank's way to the store of all."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, values, values_lock):
        super().__init__(("127.0.0.1", 0), RecordingHandler)
        self.values, self.values_lock = values, values_lock
        self.seen = []


class GlooWorkerTest(unittest.TestCase):
    """All ranks on one host."""

    def requests_of(self, ranks, command):
        """The requests of each rank of a job, in their order."""
        values, values_lock = {}, threading.Lock()
        servers = [Server(values, values_lock) for _ in range(ranks)]
        for server in servers:
            threading.Thread(target=server.serve_forever).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        processes = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, env={
                **os.environ, "HOROVOD_HOSTNAME": "node", "HOROVOD_GLOO_IFACE": "lo",
                "HOROVOD_RANK": str(rank), "HOROVOD_SIZE": str(ranks),
                "HOROVOD_LOCAL_RANK": str(rank), "HOROVOD_LOCAL_SIZE": str(ranks),
                "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1",
                "HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
                "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
                "HOROVOD_GLOO_RENDEZVOUS_PORT": str(server.server_address[1]),
            })
            for rank, server in enumerate(servers)
        ]
        for process in processes:
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        self.assertEqual([process.wait(DEADLINE_SECONDS) for process in processes], [0] * ranks)
        return [server.seen for server in servers]

    def test_requests(self):
        horovod = (tony_cli.horovod_python(), "-c", "import horovod.torch as hvd; hvd.init()")
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                wanted = self.requests_of(ranks, horovod)
                self.assertEqual(self.requests_of(ranks, WORKER), wanted)
                # Each of the six contexts at least publishes the rank's addresses.
                self.assertTrue(all(len(seen) >= 18 for seen in wanted))


class ElasticMessagesTest(unittest.TestCase):
    """The messages of elastic ranks to their driver."""

    SECRET = bytes(range(elastic_gloo_worker.SECRET_BYTES))

    def assert_horovod_says(self, expression, expected):
        """As its Python computes it."""
        program = ("import sys, cloudpickle\n"
                   "from horovod.runner.common.util import codec, network\n"
                   f"sys.stdout.buffer.write({expression})")
        said = subprocess.run([tony_cli.horovod_python(), "-c", program], stdout=subprocess.PIPE,
                              check=True, timeout=DEADLINE_SECONDS).stdout
        self.assertEqual(said, expected)

    def test_address(self):
        value = elastic_gloo_worker.address_value("lo", ("127.0.0.1", 4242), self.SECRET)
        self.assert_horovod_says(
            "codec.dumps_base64(({'lo': [('127.0.0.1', 4242)]}, %r), to_ascii=False)" % self.SECRET,
            value)

    def test_answer(self):
        self.assert_horovod_says("cloudpickle.dumps(network.AckResponse(), protocol=5)",
                                 elastic_gloo_worker.pickled_ack())


if __name__ == "__main__":
    if tony_cli.horovod_python() is None:
        print("skipped: Horovod is not built; scripts/build-horovod does it")
        sys.exit(yarn_cluster.SKIPPED)
    unittest.main()
