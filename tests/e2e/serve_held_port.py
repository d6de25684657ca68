"""A task that serves on the port that tony holds for it: serve_held_port.py SERVER.

First a plain socket is refused there, since somebody has the port; then the server, which is one of
those that people use, binds it all the same and is connected to. Prints "SERVER served PORT".
"""

import errno
import json
import os
import select
import socket
import subprocess
import sys
import time

DEADLINE_SECONDS = 60


def assert_held(port):
    """Nobody listens there, and yet the port is taken."""
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
    with socket.socket() as server:
        try:
            server.bind(("", port))
        except OSError as error:
            assert error.errno == errno.EADDRINUSE, error
        else:
            sys.exit(f"port {port} is not held")


def assert_connects(port):
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS):
        pass


def serve_tensorflow():
    # pylint: disable=import-outside-toplevel
    import tensorflow as tf

    config = json.loads(os.environ["TF_CONFIG"])
    (address,) = config["cluster"]["worker"]
    port = int(address.rpartition(":")[2])
    assert_held(port)
    server = tf.distribute.Server(
        tf.train.ClusterSpec(config["cluster"]), job_name="worker", task_index=0
    )
    assert server.target == f"grpc://{address}", server.target
    assert_connects(port)
    return port


def serve_tcp_store():
    # pylint: disable=import-outside-toplevel
    from torch.distributed import TCPStore

    port = int(os.environ["MASTER_PORT"])
    assert_held(port)
    store = TCPStore(os.environ["MASTER_ADDR"], port, 1, is_master=True)
    store.set("key", "value")
    assert store.get("key") == b"value"
    assert_connects(port)
    return port


def serve_tensorboard():
    port = int(os.environ["TB_PORT"])
    assert_held(port)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", ".", "--host", "127.0.0.1"]
    with subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE) as child:
        # It says so when it listens.
        said = b""
        end = time.monotonic() + DEADLINE_SECONDS
        while f":{port}/".encode() not in said:
            ready, _, _ = select.select([child.stderr], [], [], max(0, end - time.monotonic()))
            chunk = os.read(child.stderr.fileno(), 4096) if ready else b""
            assert chunk, said.decode()
            said += chunk
        assert_connects(port)
        # Not terminate(): TensorBoard exits by an exception from its handler of SIGTERM, which is
        # lost where Python ignores exceptions, and right after its start that happens.
        child.kill()
    return port


SERVERS = {
    "tensorflow": serve_tensorflow,
    "tcp_store": serve_tcp_store,
    "tensorboard": serve_tensorboard,
}

if __name__ == "__main__":
    print(sys.argv[1], "served", SERVERS[sys.argv[1]]())
