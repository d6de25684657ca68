"""How a process of an elastic job learns that others have come: the worker's side of Horovod's protocol.

A process puts the pickle of ``({interface: [(address, port)]}, secret)``, in Base64, under ``worker_addresses``. The
driver connects and sends a frame: an HMAC with that secret, a length and a pickle. It gets such a frame back. Written
for Horovod 0.28.1. Unpickling constructs only the classes below.
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
import struct
import threading

from . import _rounds
from ._frame_server import FrameServer
from ._peer_user import may_be_served
from ._stores import StoreError
from .exceptions import HorovodInternalError

_ADDRESS_SCOPE = "worker_addresses"
_SECRET_BYTES = 32
_HEAD = struct.Struct("=32si")  # the HMAC and the length
_MOST_BYTES = 64 * 1024
_REQUEST_SECONDS = 10
_SIOCGIFADDR = 0x8915
_NETWORK = "horovod.runner.common.util.network"
_WORKER = "horovod.runner.elastic.worker"


class _HostsUpdated:
    """A HostsUpdatedRequest."""

    timestamp, res = 0, 0


class _Ping:
    """A PingRequest, with which horovodrun finds out which address leads to this process."""


class _Result(int):
    """A HostUpdateResult as bits, like Horovod's enumeration."""

    NAMES = {"no_update": 0, "removed": 1, "added": 2, "mixed": 3}


def _member(kind, name):
    """Replaces getattr(), by which Python 3.11 and newer pickle an enumeration's member. Only for this enumeration."""
    if kind is not _Result:
        raise pickle.UnpicklingError(f"no driver asks for an attribute of {kind}")
    return _Result(_Result.NAMES[name])


def _either(_, results):
    """Replaces reduce(or_, …), by which newer Pythons pickle several members."""
    return _Result(functools.reduce(operator.or_, map(int, results)))


class _Reader(pickle.Unpickler):
    """Constructs only the classes that drivers send."""

    _CLASSES = {(_WORKER, "HostsUpdatedRequest"): _HostsUpdated, (_WORKER, "HostUpdateResult"): _Result,
                (_NETWORK, "PingRequest"): _Ping, ("builtins", "getattr"): _member,
                ("functools", "reduce"): _either, ("_functools", "reduce"): _either,
                ("operator", "or_"): None, ("_operator", "or_"): None}

    def find_class(self, module, name):
        if (module, name) not in self._CLASSES:
            raise pickle.UnpicklingError(f"no driver sends {module}.{name}")
        return self._CLASSES[module, name]


def _pickled(name, members):
    """The pickle of one of Horovod's objects, whose members are texts. For the opcodes see Python's pickletools."""
    def text(word):
        word = word.encode()
        return b"\x8c" + bytes([len(word)]) + word

    made = text(_NETWORK) + text(name) + b"\x93)\x81"
    if members:
        made += b"}(" + b"".join(text(key) + text(value) for key, value in members.items()) + b"ub"
    return b"\x80\x04" + made + b"."


class _Service:
    """Answers drivers on a port of its own. They must know the secret; on this machine they must also run as this
    process's user."""

    def __init__(self, interface, on_hosts_updated):
        """``interface``: its name; empty: all."""
        self._secret = os.urandom(_SECRET_BYTES)
        self._on_hosts_updated = on_hosts_updated
        found = _addresses(interface)
        self._server = FrameServer(
            (next(iter(found.values())) if interface else "0.0.0.0", 0),
            lambda connection: may_be_served(connection, _is_own_address), _size_of, self._answer, _REQUEST_SECONDS)
        port = self._server.address[1]
        value = ({name: [(address, port)] for name, address in found.items()}, self._secret)
        # Drivers expect exactly this form, byte for byte.
        self.value = base64.b64encode(pickle.dumps(value, protocol=4))

    def close(self):
        """After it, no driver is answered any more."""
        self._server.close()

    def _answer(self, frame, address):
        """The reply; empty if the secret is wrong or the request is not a driver's."""
        digest, content = frame[:_SECRET_BYTES], frame[_HEAD.size:]
        if not hmac.compare_digest(digest, self._digest(content)):
            return b""
        try:
            answer = self._carry_out(_Reader(io.BytesIO(content)).load(), address)
        except (EOFError, pickle.UnpicklingError, AttributeError, LookupError, TypeError, ValueError):
            return b""
        return _HEAD.pack(self._digest(answer), len(answer)) + answer

    def _carry_out(self, request, address):
        if isinstance(request, _HostsUpdated):
            self._on_hosts_updated(int(request.timestamp), int(request.res))
            return _pickled("AckResponse", {})
        if isinstance(request, _Ping):
            return _pickled("PingResponse", {"service_name": "worker notification service",
                                             "source_address": address})
        raise TypeError

    def _digest(self, content):
        return hmac.new(self._secret, content, hashlib.sha256).digest()


def _size_of(content):
    """The size of the frame that begins with ``content``, as far as it is known; 0: the frame is invalid."""
    if len(content) < _HEAD.size:
        return _HEAD.size
    _, length = _HEAD.unpack_from(content)
    return _HEAD.size + length if 0 <= length <= _MOST_BYTES else 0


def _is_own_address(address):
    try:
        return address in _addresses("").values()
    except HorovodInternalError:
        return False  # this machine has no interface at all


def _addresses(interface):
    """IPv4 addresses by interface. HorovodInternalError: there is no address."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            if interface and name != interface:
                continue
            try:
                answer = fcntl.ioctl(any_socket, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # the interface has no address
            found[name] = socket.inet_ntoa(answer[20:24])
    if not found:
        which = f" {interface} (HOROVOD_GLOO_IFACE)" if interface else ""
        raise HorovodInternalError(f"no network interface{which} with an IPv4 address, at which this process could "
                                   "hear of other hosts", "INVALID_ARGUMENT")
    return found


class Notifications:
    """Passes the driver's news on to listeners, which have ``on_hosts_updated(timestamp, result)``. Thread safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._service = None
        self._listeners = []

    def start(self, environment):
        """Called once in a process, in elastic jobs only. HorovodInternalError: the driver cannot be told the
        address."""
        with self._lock:
            if self._service is not None or not _rounds.is_elastic(environment):
                return
            service = _Service(environment.get("HOROVOD_GLOO_IFACE", ""), self._on_hosts_updated)
            try:
                _rounds.own_store(environment, _ADDRESS_SCOPE).put(_rounds.own_key(environment), service.value)
            except StoreError as error:
                service.close()
                raise HorovodInternalError(f"the driver cannot be told where to send news of other hosts: {error}",
                                           "ABORTED") from error
            self._service = service

    def add(self, listener):
        """Adds a listener until remove()."""
        with self._lock:
            self._listeners.append(listener)

    def remove(self, listener):
        """Removes a listener."""
        with self._lock:
            self._listeners.remove(listener)

    def _on_hosts_updated(self, timestamp, result):
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener.on_hosts_updated(timestamp, result)
