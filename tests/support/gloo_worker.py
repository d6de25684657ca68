#!/usr/bin/env python3
"""A rank of a Horovod 0.28.1 job without Horovod: hvd.init(), then one allreduce.

It meets the others by its HOROVOD_… variables, as Horovod's HTTPStore and gloo do: the same
requests, byte for byte, in the same order, and real connections. tests/rendezvous/gloo_worker.h
is the same on threads of a C++ test, without connections; elastic_gloo_worker.py goes on where this
one ends.
"""

import argparse
import collections
import fcntl
import os
import signal
import socket
import struct
import sys
import time

ADDRESS_BYTES = 136  # sockaddr_storage and a sequence number
ATTEMPTS = 3  # at a request
RETRY_PAUSE_SECONDS = 0.5
POLL_SECONDS = 0.01  # between two requests for what is not there yet
SIOCGIFADDR = 0x8915
DIED = 3  # the exit code of --die-in
ELEMENTS = 1000  # of the vector that is reduced

Slot = collections.namedtuple("Slot", "host rank size local_rank local_size cross_rank cross_size")
Context = collections.namedtuple("Context", "scope rank size")


def own_slot(environment):
    """Returns the place that the job has given to this process."""
    numbers = (int(environment[f"HOROVOD_{name.upper()}"]) for name in Slot._fields[1:])
    return Slot(environment["HOROVOD_HOSTNAME"], *numbers)


def address_of(interface):
    """Returns the IPv4 address of a network interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("256s", interface.encode())
        return socket.inet_ntoa(fcntl.ioctl(any_socket, SIOCGIFADDR, request)[20:24])


def hash_of(text):
    """std::hash<std::string> of libstdc++ on 64 bits: MurmurHash64A, with its seed."""
    factor, mask = 0xC6A4A7935BD1E995, (1 << 64) - 1

    def mix(value):
        return value ^ (value >> 47)

    data = text.encode()
    result = 0xC70F6907 ^ (len(data) * factor & mask)
    whole = len(data) & ~7
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        result = ((result ^ (mix(word * factor & mask) * factor & mask)) * factor) & mask
    if whole < len(data):
        result = ((result ^ int.from_bytes(data[whole:], "little")) * factor) & mask
    return mix(mix(result) * factor & mask)


def contexts_of(slot):
    """Returns the rank's six contexts in the order in which Horovod makes them."""
    members = "".join(f"{rank}," for rank in range(slot.size))
    process_set = f"_process_set_hash_{hash_of(members):x}"
    first = [
        Context("global", slot.rank, slot.size),
        Context(f"local_{slot.host}", slot.local_rank, slot.local_size),
        Context(f"cross_{slot.local_rank}", slot.cross_rank, slot.cross_size),
    ]
    return first + [context._replace(scope=context.scope + process_set) for context in first]


class Store:
    """Horovod's client of the rendezvous server: a connection for each request. Not thread safe."""

    def __init__(self, host, port, timeout_seconds):
        """A timeout of 0 means none."""
        self._address = (host, port)
        self._timeout_seconds = timeout_seconds

    def get(self, scope, key):
        """Returns the value; None when there is none."""
        status, body = self._perform("GET", scope, key)
        return body if status == 200 else None

    def put(self, scope, key, value):
        self._perform("PUT", scope, key, value)

    def delete(self, scope, key):
        self._perform("DELETE", scope, key)

    def wait(self, scope, key):
        """Returns when the value is there. TimeoutError – it was not in time."""
        end = time.monotonic() + self._timeout_seconds
        while self.get(scope, key) is None:
            if self._timeout_seconds and time.monotonic() > end:
                raise TimeoutError(
                    f"Wait timeout after {self._timeout_seconds} seconds for {scope}/{key}")
            time.sleep(POLL_SECONDS)

    def _perform(self, method, scope, key, body=b""):
        head = (f"{method} /{scope}/{key} HTTP/1.1\r\nHost: {self._address[0]}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        for attempt in range(ATTEMPTS):
            if attempt > 0:
                time.sleep(RETRY_PAUSE_SECONDS)
            try:
                status, answer = self._attempt(head.encode() + body)
                if status in (200, 404):
                    return status, answer
                trouble = f"HTTP status {status}: {answer.decode(errors='replace')}"
            except OSError as error:
                trouble = str(error)
            print(f"{method} /{scope}/{key}: {trouble}", file=sys.stderr, flush=True)
        sys.exit(f"HTTP {method} request failed too many times, aborting. See above for details.")

    def _attempt(self, request):
        with socket.create_connection(self._address) as connection:
            connection.sendall(request)
            with connection.makefile("rb") as answer:
                words = answer.readline().split()
                if len(words) < 2:
                    raise OSError("the connection ended without an answer")
                count = 0
                # Spelled so, or it is not seen.
                while line := answer.readline().rstrip(b"\r\n"):
                    if line.startswith(b"Content-Length: "):
                        count = int(line.split()[1])
                body = answer.read(count)
        if len(body) < count:
            raise OSError("the answer is not complete")
        return int(words[1]), body


def own_store(environment):
    """Returns the way to the rendezvous server that the job has given to this process."""
    return Store(
        environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
        int(environment["HOROVOD_GLOO_RENDEZVOUS_PORT"]),
        int(environment.get("HOROVOD_GLOO_TIMEOUT_SECONDS", 30)),
    )


class Rank:
    """One process of the job. Its methods raise OSError where it loses another one. Not thread
    safe."""

    def __init__(self, slot, store, address, die_in=0):
        self._slot = slot
        self._store = store
        self._address = address  # where the others reach it
        self._die_in = die_in  # the number of a context, from 1; 0: none
        self._meshes = []  # for each context the connections to its other ranks

    def initialize(self):
        """hvd.init()"""
        for number, context in enumerate(contexts_of(self._slot), 1):
            self._meshes.append(self._meet(context, number == self._die_in))

    def shutdown(self):
        """hvd.shutdown()"""
        for mesh in self._meshes:
            for connection in mesh.values():
                connection.close()
        self._meshes = []

    def allreduce(self, vector):
        """Returns the sum over all ranks, by the connections of the set of all of them."""
        mesh = self._meshes[3]
        layout = struct.Struct(f"={len(vector)}q")
        for connection in mesh.values():
            connection.sendall(layout.pack(*vector))
        for connection in mesh.values():
            theirs = layout.unpack(self._receive(connection, layout.size))
            vector = [mine + other for mine, other in zip(vector, theirs)]
        return vector

    def _meet(self, context, die):
        """Until the rank is connected to all others of the context; returns its connections."""
        scope, rank, size = context
        self._store.put(scope, f"rank_{rank}", socket.gethostname().encode())
        for peer in range(rank):
            self._store.get(scope, f"rank_{peer}")
        peers = [peer for peer in range(size) if peer != rank]
        listeners = {peer: self._listen() for peer in peers}
        self._store.put(scope, str(rank), b"".join(map(self._blob_of, listeners.values())))
        if die:
            sys.exit(DIED)
        mesh = {peer: self._connect(context, peer, listeners[peer]) for peer in peers}
        self._barrier(mesh)
        self._store.delete(scope, str(rank))
        return mesh

    def _listen(self):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind((self._address, 0))
        listener.listen(1)
        return listener

    @staticmethod
    def _blob_of(listener):
        """struct { sockaddr_storage; int64_t sequence; } with an IPv4 address."""
        host, port = listener.getsockname()
        address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port)
        return (address + socket.inet_aton(host)).ljust(128, b"\0") + struct.pack("=q", -1)

    def _connect(self, context, peer, listener):
        """The lower of the two ranks listens, so that ranks do not wait for each other in a circle."""
        scope, rank, size = context
        self._store.wait(scope, str(peer))
        blobs = self._store.get(scope, str(peer))
        if blobs is None or len(blobs) != ADDRESS_BYTES * (size - 1):
            sys.exit(f"{scope}/{peer}: {blobs!r} are not the addresses of {size - 1} pairs")
        place = ADDRESS_BYTES * (rank if rank < peer else rank - 1)
        with listener:
            if rank < peer:
                return listener.accept()[0]
        (port,) = struct.unpack_from("!H", blobs, place + 2)
        return socket.create_connection((socket.inet_ntoa(blobs[place + 4:place + 8]), port))

    def _barrier(self, mesh):
        for connection in mesh.values():
            connection.sendall(b"!")
        for connection in mesh.values():
            self._receive(connection, 1)

    @staticmethod
    def _receive(connection, count):
        data = connection.recv(count, socket.MSG_WAITALL)
        if len(data) < count:
            raise ConnectionError("gloo: connection closed by peer")
        return data


def main():
    """One rank's life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--never", action="store_true", help="do not look for the others, but stay")
    parser.add_argument("--die-in", type=int, default=0, metavar="CONTEXT", help="end with exit "
                        "code 3 when the addresses of this context, 1 to 6, have been put")
    parser.add_argument("--tell", metavar="PIPE", help="write a line when all are connected")
    parser.add_argument("--hold", metavar="PIPE", help="then wait for a line")
    options = parser.parse_args()
    if options.never:
        signal.pause()
    slot = own_slot(os.environ)
    address = address_of(os.environ["HOROVOD_GLOO_IFACE"])
    rank = Rank(slot, own_store(os.environ), address, options.die_in)
    rank.initialize()
    if options.tell:
        with open(options.tell, "w", encoding="utf-8") as pipe:
            pipe.write(f"{slot.rank}\n")
    if options.hold:
        with open(options.hold, "rb", buffering=0) as pipe:  # no line but its own
            pipe.readline()
    (total,) = set(rank.allreduce([slot.rank + 1] * ELEMENTS))
    print(f"rank {slot.rank} of {slot.size}, local {slot.local_rank} of {slot.local_size}: "
          f"sum {total}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
