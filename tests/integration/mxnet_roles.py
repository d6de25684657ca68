"""Plays a role of MXNet's parameter server (ps-lite) in a job: for tests, as MXNet is no longer developed.

As there, servers and workers find each other by the scheduler, which listens where DMLC_PS_ROOT_URI and
DMLC_PS_ROOT_PORT say. Each tells the scheduler its role and the port where it listens itself, and gets all addresses
once DMLC_NUM_SERVER and DMLC_NUM_WORKER of them have come. Then each worker asks every server for a number.
"""

import json
import os
import socket
import time

DEADLINE_SECONDS = 60


def listen(host, port):
    """A socket as ZeroMQ's, which ps-lite uses: with SO_REUSEADDR."""
    listener = socket.socket()
    listener.settimeout(DEADLINE_SECONDS)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(64)
    return listener


def schedule(host, port, servers, workers):
    """Introduces servers and workers to each other."""
    listener = listen(host, port)
    nodes = []
    while len(nodes) < servers + workers:
        stream = listener.accept()[0].makefile("rw")
        nodes.append((json.loads(stream.readline()), stream))
    known = [node for node, _ in nodes]
    for _, stream in nodes:
        stream.write(json.dumps(known) + "\n")
        stream.flush()
    roles = [node["role"] for node in known]
    assert (roles.count("server"), roles.count("worker")) == (servers, workers), roles
    print(f"met {servers} servers and {workers} workers at its own port")


def reach(address):
    """A connection to the scheduler, which may not listen yet: as ZeroMQ does, it is tried again."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            return socket.create_connection(address, DEADLINE_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)  # ZeroMQ's reconnect interval


def join(root, role, port):
    """Returns all servers and workers, as the scheduler knows them."""
    with reach(root) as connection, connection.makefile("rw") as stream:
        stream.write(json.dumps({"role": role, "host": os.environ["DMLC_NODE_HOST"], "port": port}) + "\n")
        stream.flush()
        return json.loads(stream.readline())


def main():
    """Plays the role of this task."""
    role = os.environ["DMLC_ROLE"]
    root = (os.environ["DMLC_PS_ROOT_URI"], int(os.environ["DMLC_PS_ROOT_PORT"]))
    servers, workers = int(os.environ["DMLC_NUM_SERVER"]), int(os.environ["DMLC_NUM_WORKER"])
    assert os.environ["DMLC_LOCAL"] == "0"
    if role == "scheduler":
        schedule(*root, servers, workers)
        return
    listener = listen(os.environ["DMLC_NODE_HOST"], 0)
    nodes = join(root, role, listener.getsockname()[1])
    if role == "server":
        for _ in range(workers):
            with listener.accept()[0] as connection:
                connection.sendall(b"1.0\n")
        return
    total = 0.0
    for node in nodes:
        if node["role"] == "server":
            with socket.create_connection((node["host"], node["port"]), DEADLINE_SECONDS) as connection:
                total += float(connection.makefile().readline())
    print(f"sum of {servers} servers: {total}")


if __name__ == "__main__":
    main()
