"""An elastic job's driver for tests, which speaks Horovod's protocol. The test assigns the places of each round."""

import base64
import hashlib
import hmac
import http.server
import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
import time

import rank_processes

HEAD = struct.Struct("=32si")


class Driver:
    """A store, places that are handed out when all of a round have asked, and processes. A context. Thread safe."""

    def __init__(self, command, environment=None, rounds=True, seconds=rank_processes.DEADLINE_SECONDS):
        """``command``: of each process, after the interpreter. ``rounds``: whether rounds are numbered, as
        tony-driver's are and horovodrun's are not. ``seconds``: that anything may take."""
        self._command, self._environment, self._rounds = command, environment or {}, rounds
        self.seconds = seconds
        self.changed = threading.Condition()
        self.values = {}  # by path
        self.places = {}  # of those who have asked: by key, when the round begins
        self.asked = []
        self.round = 0
        self.processes = {}  # by name, which is the host's
        handler = type("Handler", (_Handler,), {"driver": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.communicate()
        self._server.shutdown()
        self._server.server_close()

    def start(self, name, rank, size):
        """A process, as the only one of a host."""
        variables = {"HOROVOD_HOSTNAME": name, "HOROVOD_RANK": rank, "HOROVOD_SIZE": size, "HOROVOD_LOCAL_RANK": 0,
                     "HOROVOD_LOCAL_SIZE": 1, "HOROVOD_CROSS_RANK": rank, "HOROVOD_CROSS_SIZE": size,
                     "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1", "HOROVOD_GLOO_IFACE": "lo", "HOROVOD_ELASTIC": 1,
                     "HOROVOD_GLOO_RENDEZVOUS_PORT": self._server.server_address[1], **self._environment}
        if self._rounds:
            variables["TONY_ROUND"] = self.round
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-B", *map(str, self._command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**rank_processes.clean_environment(), **{key: str(each) for key, each in variables.items()}})

    def wait_for(self, what, condition):
        """Until ``condition()`` is true."""
        with self.changed:
            if not self.changed.wait_for(condition, self.seconds):
                raise AssertionError(f"not in time: {what}\n" + "\n".join(self.outputs()))

    def begin_round(self, survivors, newcomers=()):
        """When all ``survivors`` have asked: they get the first ranks, and all that was stored is forgotten."""
        self.wait_for(f"{survivors} ask for a place", lambda: {f"{name}:0" for name in survivors} <= set(self.asked))
        members = [*survivors, *newcomers]
        with self.changed:
            self.round += 1
            self.values = {path: value for path, value in self.values.items() if "worker_addresses" in path}
            self.asked = []
            for rank, name in enumerate(survivors):
                place = f"{rank},{len(members)},0,1,{rank},{len(members)}"
                self.places[f"{name}:0"] = f"{place},{self.round}" if self._rounds else place
            self.changed.notify_all()
        for rank, name in enumerate(newcomers, len(survivors)):
            self.start(name, rank, len(members))

    def remove(self, name):
        """It has no place any more."""
        with self.changed:
            self.places[f"{name}:0"] = "-1,-1,-1,-1,-1,-1"
            self.changed.notify_all()

    def notify(self, name, request, secret=None):
        """Sends a request, in Horovod's frame, where the process listens; returns what it answers."""
        path = f"/worker_addresses/{name}:0"
        self.wait_for(path, lambda: path in self.values)
        interfaces, key = pickle.loads(base64.b64decode(self.values[path]))
        ((_, [address]),) = interfaces.items()
        key = key if secret is None else secret
        with socket.create_connection(address, timeout=self.seconds) as connection:
            connection.sendall(HEAD.pack(hmac.digest(key, request, hashlib.sha256), len(request)) + request)
            with connection.makefile("rb") as answer:
                head = answer.read(HEAD.size)
                if not head:
                    return b""
                digest, length = HEAD.unpack(head)
                content = answer.read(length)
        assert hmac.compare_digest(digest, hmac.digest(key, content, hashlib.sha256))
        return content

    def notify_until_asked(self, name, request):
        """As drivers do: a process that begins a round says that it has heard, and forgets it."""
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            assert b"AckResponse" in self.notify(name, request)
            with self.changed:
                if self.changed.wait_for(lambda: f"{name}:0" in self.asked, timeout=0.5):
                    return
        raise AssertionError(f"{name} does not ask for its next place")

    def wait(self):
        """(exit status, output) by name."""
        ended = {}
        for name, process in self.processes.items():
            try:
                output, _ = process.communicate(timeout=self.seconds)
                ended[name] = (process.returncode, output)
            except subprocess.TimeoutExpired:
                process.kill()
                ended[name] = (None, process.communicate()[0])
        return ended

    def outputs(self):
        """Ends all processes, and returns their outputs."""
        for process in self.processes.values():
            process.kill()
        return [f"{name}: {process.communicate()[0]}" for name, process in self.processes.items()]


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    def do_PUT(self):  # pylint: disable=invalid-name,missing-function-docstring
        content = self.rfile.read(int(self.headers["Content-Length"]))
        with self.driver.changed:
            self.driver.values[self.path] = content
            self.driver.changed.notify_all()
        self._answer(200, b"")

    def do_GET(self):  # pylint: disable=invalid-name,missing-function-docstring
        driver = self.driver
        _, scope, key = self.path.split("/")
        if scope != "rank_and_size":
            with driver.changed:
                value = driver.values.get(self.path)
            return self._answer(404 if value is None else 200, value or b"")
        with driver.changed:
            driver.asked.append(key)
            driver.changed.notify_all()
            driver.changed.wait_for(lambda: key in driver.places, driver.seconds)
            place = driver.places.pop(key, "")
        return self._answer(200, place.encode())

    def _answer(self, status, content):
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            pass  # it was killed meanwhile

    def log_message(self, *_):  # pylint: disable=arguments-differ,missing-function-docstring
        pass


def hosts_updated(timestamp, result):
    """A request as Horovod's driver pickles it."""
    def text(word):
        return b"\x8c" + bytes([len(word)]) + word.encode()

    worker = text("horovod.runner.elastic.worker")
    return (b"\x80\x04" + worker + text("HostsUpdatedRequest") + b"\x93)\x81}(" + text("timestamp") + b"J" +
            struct.pack("<i", timestamp) + text("res") + worker + text("HostUpdateResult") + b"\x93K" +
            bytes([result]) + b"\x85Rub.")


def hosts_updated_by_name(result):
    """The same as Python 3.11 and newer pickle it: ``result`` is "added", or "mixed", both of two."""
    worker = "horovod.runner.elastic.worker"
    kind = f"c{worker}\nHostUpdateResult\n"
    value = f"cbuiltins\ngetattr\n({kind}V{result}\ntR"
    if result == "mixed":
        value = f"c_functools\nreduce\n(c_operator\nor_\n(l{kind}(I1\ntRa{kind}(I2\ntRatR"
    return f"c{worker}\nHostsUpdatedRequest\n)\x81}}(Vtimestamp\nI1\nVres\n{value}ub.".encode("latin-1")


def attribute():
    """A pickle that asks for an attribute of something else."""
    return b"cbuiltins\ngetattr\n(chorovod.runner.common.util.network\nPingRequest\nV__init__\ntR."


def ping():
    """The request by which horovodrun finds out who listens."""
    def text(word):
        return b"\x8c" + bytes([len(word)]) + word.encode()

    return b"\x80\x04" + text("horovod.runner.common.util.network") + text("PingRequest") + b"\x93)\x81."


def harmful(path):
    """A pickle that would make a file, were it read as any pickle."""
    class Harm:  # pylint: disable=too-few-public-methods
        """Runs a command when it is unpickled."""

        def __reduce__(self):
            return os.mknod, (str(path),)

    return pickle.dumps(Harm())
