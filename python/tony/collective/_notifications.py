"""How a process of an elastic job hears that others have come: the side of Horovod's protocol that is not the driver's.

A process puts under ``worker_addresses``, in Base64, the pickle of ``({interface: [(address, port)]}, secret)``. The
driver connects and sends a frame, an HMAC with that secret, a length and a pickle, and gets such a frame back. Written
for Horovod 0.28.1; of what is unpickled only these classes are made.
"""

import base64
import fcntl
import functools
import hashlib
import hmac
import io
import operator
import os
import pickle
import socket
import socketserver
import struct
import threading

from . import _rounds
from ._stores import StoreError
from .exceptions import HorovodInternalError

_ADDRESS_SCOPE = "worker_addresses"
_SECRET_BYTES = 32
_HEAD = struct.Struct("=32si")  # the HMAC, and the length of what follows
_MOST_BYTES = 64 * 1024
_REQUEST_SECONDS = 10
_SIOCGIFADDR = 0x8915
_NETWORK = "horovod.runner.common.util.network"
_WORKER = "horovod.runner.elastic.worker"


class _HostsUpdated:
    """A HostsUpdatedRequest."""

    timestamp, res = 0, 0


class _Ping:
    """A PingRequest, by which horovodrun finds out which address leads here."""


class _Result(int):
    """A HostUpdateResult, of bits, as Horovod's enumeration has them."""

    NAMES = {"no_update": 0, "removed": 1, "added": 2, "mixed": 3}


def _member(kind, name):
    """getattr(), by which Python 3.11 and newer pickle an enumeration's member: of this one and no other."""
    if kind is not _Result:
        raise pickle.UnpicklingError(f"no driver asks for an attribute of {kind}")
    return _Result(_Result.NAMES[name])


def _either(_, results):
    """reduce(or_, …), by which they pickle several."""
    return _Result(functools.reduce(operator.or_, map(int, results)))


class _Reader(pickle.Unpickler):
    """Makes nothing but what drivers send."""

    _CLASSES = {(_WORKER, "HostsUpdatedRequest"): _HostsUpdated, (_WORKER, "HostUpdateResult"): _Result,
                (_NETWORK, "PingRequest"): _Ping, ("builtins", "getattr"): _member,
                ("functools", "reduce"): _either, ("_functools", "reduce"): _either,
                ("operator", "or_"): None, ("_operator", "or_"): None}

    def find_class(self, module, name):
        if (module, name) not in self._CLASSES:
            raise pickle.UnpicklingError(f"no driver sends {module}.{name}")
        return self._CLASSES[module, name]


def _pickled(name, members):
    """An object of Horovod's, with members that are texts. The opcodes: Python's pickletools."""
    def text(word):
        word = word.encode()
        return b"\x8c" + bytes([len(word)]) + word

    made = text(_NETWORK) + text(name) + b"\x93)\x81"
    if members:
        made += b"}(" + b"".join(text(key) + text(value) for key, value in members.items()) + b"ub"
    return b"\x80\x04" + made + b"."


class _Request(socketserver.StreamRequestHandler):
    """One frame and its answer. Whoever does not know the secret gets none."""

    timeout = _REQUEST_SECONDS

    def handle(self):
        try:
            digest, length = _HEAD.unpack(self._read(_HEAD.size))
            content = self._read(length) if 0 <= length <= _MOST_BYTES else b""
            if not hmac.compare_digest(digest, self._digest(content)):
                return
            answer = self._answer(_Reader(io.BytesIO(content)).load())
            self.wfile.write(_HEAD.pack(self._digest(answer), len(answer)) + answer)
        except (OSError, EOFError, struct.error, pickle.UnpicklingError, AttributeError, LookupError, TypeError,
                ValueError):
            pass  # a stranger, or one who has gone

    def _read(self, size):
        content = self.rfile.read(size)
        if len(content) < size:
            raise EOFError
        return content

    def _digest(self, content):
        return hmac.new(self.server.secret, content, hashlib.sha256).digest()

    def _answer(self, request):
        if isinstance(request, _HostsUpdated):
            self.server.on_hosts_updated(int(request.timestamp), int(request.res))
            return _pickled("AckResponse", {})
        if isinstance(request, _Ping):
            return _pickled("PingResponse", {"service_name": "worker notification service",
                                             "source_address": self.client_address[0]})
        raise TypeError


class _Service(socketserver.ThreadingTCPServer):
    """Listens on a port of its own."""

    daemon_threads = True

    def __init__(self, interface, on_hosts_updated):
        """``interface``: a name; empty: all."""
        self.secret = os.urandom(_SECRET_BYTES)
        self.on_hosts_updated = on_hosts_updated
        found = _addresses(interface)
        super().__init__((next(iter(found.values())) if interface else "0.0.0.0", 0), _Request)
        port = self.server_address[1]
        value = ({name: [(address, port)] for name, address in found.items()}, self.secret)
        # The form in which drivers expect it, byte for byte.
        self.value = base64.b64encode(pickle.dumps(value, protocol=4))
        threading.Thread(target=self.serve_forever, name="tony.collective.elastic", daemon=True).start()

    def handle_error(self, request, client_address):
        """Nothing: a request that fails is a stranger's, or repeated."""


def _addresses(interface):
    """IPv4 addresses by interface. HorovodInternalError: there is none."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            if interface and name != interface:
                continue
            try:
                answer = fcntl.ioctl(any_socket, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # it has no address
            found[name] = socket.inet_ntoa(answer[20:24])
    if not found:
        which = f" {interface} (HOROVOD_GLOO_IFACE)" if interface else ""
        raise HorovodInternalError(f"no network interface{which} with an IPv4 address, at which this process could "
                                   "hear of other hosts", "INVALID_ARGUMENT")
    return found


class Notifications:
    """Tells listeners, which have ``on_hosts_updated(timestamp, result)``, what the driver says. Thread safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._service = None
        self._listeners = []

    def start(self, environment):
        """Once in a process, and in elastic jobs only. HorovodInternalError: the driver does not hear of it."""
        with self._lock:
            if self._service is not None or not _rounds.is_elastic(environment):
                return
            service = _Service(environment.get("HOROVOD_GLOO_IFACE", ""), self._on_hosts_updated)
            try:
                _rounds.own_store(environment, _ADDRESS_SCOPE).put(_rounds.own_key(environment), service.value)
            except StoreError as error:
                service.shutdown()
                service.server_close()
                raise HorovodInternalError(f"the driver cannot be told where to send news of other hosts: {error}",
                                           "ABORTED") from error
            self._service = service

    def add(self, listener):
        """Until remove()."""
        with self._lock:
            self._listeners.append(listener)

    def remove(self, listener):
        """What has been added."""
        with self._lock:
            self._listeners.remove(listener)

    def _on_hosts_updated(self, timestamp, result):
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.on_hosts_updated(timestamp, result)
