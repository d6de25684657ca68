#!/usr/bin/env python3
"""A user's own driver of a Horovod job, as docs/horovod.md describes it: ranks, and a server.

    rendezvous_driver.py [GATE]

With GATE, a named pipe, it says who has which rank when there is a line to read.
"""

import http.server
import json
import os
import pathlib
import sys
import threading


class Store(http.server.BaseHTTPRequestHandler):
    """Horovod's key-value store; values of a path until they are removed."""

    values = {}
    changed = threading.Lock()

    def do_GET(self):  # pylint: disable=invalid-name
        with self.changed:
            value = self.values.get(self.path)
        self.answer(404 if value is None else 200, value or b"")

    def do_PUT(self):  # pylint: disable=invalid-name
        value = self.rfile.read(int(self.headers["Content-Length"]))
        with self.changed:
            self.values[self.path] = value
        self.answer(200)

    def do_DELETE(self):  # pylint: disable=invalid-name
        """Others may still read it: it stays until its scope ends, here with the job."""
        self.answer(200)

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Not a line for each request."""


class Server(http.server.ThreadingHTTPServer):
    """With room for the connections of all ranks."""

    request_queue_size = 128


def plan_of(hosts):
    """Places for all processes of "node1:2,node2:1", by rank."""
    counts = [(name, int(count)) for name, count in (host.split(":") for host in hosts.split(","))]
    return [
        {
            "hostname": host,
            "rank": sum(before for _, before in counts[:place]) + local_rank,
            "size": sum(other for _, other in counts),
            "localRank": local_rank,
            "localSize": count,
            "crossRank": sum(before > local_rank for _, before in counts[:place]),
            "crossSize": sum(other > local_rank for _, other in counts),
        }
        for place, (host, count) in enumerate(counts)
        for local_rank in range(count)
    ]


def variables(rank, size, port):
    """The variables that a launcher sets for one rank of several on this host."""
    return {"HOROVOD_RANK": str(rank), "HOROVOD_SIZE": str(size), "HOROVOD_LOCAL_RANK": str(rank),
            "HOROVOD_LOCAL_SIZE": str(size), "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1",
            "HOROVOD_HOSTNAME": "localhost", "HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo",
            "HOROVOD_GLOO_IFACE": "lo", "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
            "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port)}


def main():
    """Listens, publishes the plan of ranks, and serves until the job ends."""
    server = Server(("", 0), Store)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "rb", buffering=0) as gate:
            gate.readline()
    name = f"{server.server_port}____HOROVOD_RENDEZVOUS_SERVER____"
    plan = json.dumps(plan_of(os.environ["CLUSTER_WORKER_LIST"]))
    (pathlib.Path(os.environ["DRIVER_OUTPUT_PATH"]) / name).write_text(plan, encoding="utf-8")
    server.serve_forever()


if __name__ == "__main__":
    main()
