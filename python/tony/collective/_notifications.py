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
import struct
import threading

from . import _rounds
from ._frame_server import FrameServer
from ._peer_user import may_be_served
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


class _Service:
    """Answers drivers on a port of its own: those who know the secret, and run as this process does if they are on
    this machine."""

    def __init__(self, interface, on_hosts_updated):
        """``interface``: a name; empty: all."""
        self._secret = os.urandom(_SECRET_BYTES)
        self._on_hosts_updated = on_hosts_updated
        found = _addresses(interface)
        self._server = FrameServer(
            (next(iter(found.values())) if interface else "0.0.0.0", 0),
            lambda connection: may_be_served(connection, _is_own_address), _size_of, self._answer, _REQUEST_SECONDS)
        port = self._server.address[1]
        value = ({name: [(address, port)] for name, address in found.items()}, self._secret)
        # The form in which drivers expect it, byte for byte.
        self.value = base64.b64encode(pickle.dumps(value, protocol=4))

    def close(self):
        """Nobody is answered any more."""
        self._server.close()

    def _answer(self, frame, address):
        """The frame to send back; empty for who does not know the secret, or asks for what no driver asks."""
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
    """Of the frame that begins so, as far as is known yet; 0: it is none."""
    if len(content) < _HEAD.size:
        return _HEAD.size
    _, length = _HEAD.unpack_from(content)
    return _HEAD.size + length if 0 <= length <= _MOST_BYTES else 0


def _is_own_address(address):
    try:
        return address in _addresses("").values()
    except HorovodInternalError:
        return False  # it has none at all


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
                service.close()
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
