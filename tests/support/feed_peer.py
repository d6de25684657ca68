"""Both peers of a feed's endpoint in plain Python: a producer and a program's consumer.

As a program, `feed_peer.py FEED LOG [HOW]` consumes the feed FEED through TONY_FEED_SOCKET and writes
one line of JSON for each thing that happens to the file LOG. HOW: "hold" releases nothing, "results"
answers every row, "few" answers one row too few, "terminate" wants no more after the first slot.
"""

import array
import json
import mmap
import os
import socket
import ssl
import struct
import sys

HEADER = struct.Struct("<IBBHQ")
HELLO, BATCH, END = 1, 2, 3
CREDIT, ACK, SKIP, STOP, ERROR, AWAY, ALIVE, RESULT = range(16, 24)
ATTACH, RELEASE, PROGRAM_RESULT, TERMINATE, NEXT = range(32, 37)
ATTACHED, OPEN, SLOT, CLOSED, ENDED, PROGRAM_ERROR = range(48, 54)
DEADLINE_SECONDS = 60


def frame(kind, argument=0, payload=b"", encoding=0):
    """The bytes of a frame."""
    return HEADER.pack(len(payload), kind, encoding, 0, argument) + payload


def receive(connection, size):
    """Exactly `size` bytes. EOFError: the connection ends before."""
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError("the connection has ended")
        data += part
    return bytes(data)


def next_frame(connection):
    """The next frame: type, argument, payload, encoding."""
    length, kind, encoding, _, argument = HEADER.unpack(receive(connection, HEADER.size))
    return kind, argument, receive(connection, length), encoding


def unix(path):
    """A connection to the Unix socket `path`."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(DEADLINE_SECONDS)
    connection.connect(path)
    return connection


def tls(host, port, authority, uri):
    """A connection by TLS to the endpoint whose certificate has `uri`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate has the URI of a container, not a host's name
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    context.load_verify_locations(cadata=authority)
    plain = socket.create_connection((host, port), DEADLINE_SECONDS)
    connection = context.wrap_socket(plain)
    names = connection.getpeercert()["subjectAltName"]
    if ("URI", uri) not in names:
        raise ssl.SSLError(f"the peer is {names}, not {uri}")
    return connection


class Producer:
    """One attempt of one partition."""

    def __init__(self, connection, token, partition=0, feed="train", **more):
        self.connection = connection
        self.credits, self.rows, self.results = 0, 0, []
        self.slot_bytes = None
        hello = {"token": token, "feed": feed, "epoch": 0, "partition": partition, "attempt": 0,
                 **more}
        connection.sendall(frame(HELLO, 1, json.dumps(hello).encode()))

    def close(self):
        """Breaks the connection."""
        self.connection.close()

    def take(self):
        """Takes the next frame that is not ALIVE; returns its type and its text."""
        while True:
            kind, argument, payload, _ = next_frame(self.connection)
            if kind == CREDIT:
                self.credits += argument
                if payload:
                    self.slot_bytes = json.loads(payload)["slot_bytes"]
            elif kind == RESULT:
                self.results.append((argument, payload))
            if kind != ALIVE:
                return kind, payload.decode(errors="replace")

    def send(self, rows, data):
        """Sends a batch when there is a credit for it; returns the type of an early end."""
        while self.credits == 0:
            kind, text = self.take()
            if kind not in (CREDIT, RESULT):
                return kind, text
        self.credits -= 1
        self.rows += rows
        self.connection.sendall(frame(BATCH, rows, data))
        return None

    def end(self):
        """Sends END behind the first CREDIT; returns how the partition ended."""
        while self.slot_bytes is None:
            kind, text = self.take()
            if kind != CREDIT:
                return kind, text
        self.connection.sendall(frame(END, self.rows))
        return self.await_end()

    def await_end(self):
        """Returns the type and the text of the last frame."""
        while True:
            kind, text = self.take()
            if kind not in (CREDIT, RESULT):
                return kind, text


class Consumer:
    """A program that is attached to one feed."""

    def __init__(self, path, feed):
        self.connection = unix(path)
        self.connection.settimeout(None)
        self.connection.sendall(frame(ATTACH, 1, json.dumps({"feed": feed}).encode()))
        data, control, _, _ = self.connection.recvmsg(HEADER.size, socket.CMSG_SPACE(4))
        length, kind, _, _, slots = HEADER.unpack(data)
        payload = json.loads(receive(self.connection, length))
        if kind != ATTACHED:
            raise OSError(payload)
        fds = array.array("i")
        for _, _, content in control:
            fds.frombytes(content)
        self.slot_bytes = payload["slot_bytes"]
        self.memory = mmap.mmap(fds[0], slots * self.slot_bytes, prot=mmap.PROT_READ)
        os.close(fds[0])

    def send(self, kind, argument=0, payload=b""):
        """Sends a frame."""
        self.connection.sendall(frame(kind, argument, payload))

    def read(self, slot, length):
        """The bytes of a slot."""
        return self.memory[slot * self.slot_bytes : slot * self.slot_bytes + length]


def consume(feed, log, how):
    """Consumes the feed to its end, and tells `log` all about it."""

    def tell(**what):
        print(json.dumps(what), file=log, flush=True)

    consumer = Consumer(os.environ["TONY_FEED_SOCKET"], feed)
    tell(attached=consumer.slot_bytes)
    missing = {}
    while True:
        kind, argument, payload, encoding = next_frame(consumer.connection)
        if kind == OPEN:
            tell(open=json.loads(payload), connection=argument)
            missing[argument] = 1 if how == "few" else 0
        elif kind == SLOT:
            connection, length, rows = struct.unpack("<QII", payload)
            tell(rows=rows, connection=connection, data=consumer.read(argument, length).decode())
            if how == "terminate":
                consumer.send(TERMINATE)
                return
            if how in ("results", "few"):
                answered = rows - missing[connection]
                missing[connection] = 0
                consumer.send(PROGRAM_RESULT, answered,
                              struct.pack("<Q", connection) + b"r" * answered)
            if how != "hold":
                consumer.send(RELEASE, argument)
        elif kind == CLOSED:
            tell(closed=argument, broken=encoding)
            if how == "few":
                consumer.send(NEXT, argument)
        elif kind == ENDED:
            tell(ended=feed)
            return
        else:
            tell(error=payload.decode())
            return


if __name__ == "__main__":
    with open(sys.argv[2], "a", encoding="utf-8") as record:
        consume(sys.argv[1], record, sys.argv[3] if len(sys.argv) > 3 else "")
