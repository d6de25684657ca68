"""A server for one short message of each connection, which strangers can neither fill nor slow down for long."""

import collections
import errno
import selectors
import socket
import threading
import time

_MOST_CONNECTIONS = 16
_READ_BYTES = 4096
_PAUSE_SECONDS = 0.1  # while this process has no descriptor left


class _Message:
    """What has come of one, and until when all of it has to be there."""

    def __init__(self, deadline):
        self.content = bytearray()
        self.deadline = deadline


class FrameServer:
    """Listens and answers on one thread of its own.

    A message has a time for all of it, however its bytes come. There are at most 16 connections: one more takes the
    place of the oldest, whose driver has sent all of its short message long ago, or is none. So who connects in order
    to hold places pushes out his like, and a message that comes at once is answered.
    """

    def __init__(self, address, admits, size_of, answer, seconds=10):
        """``address``: (IPv4 address, port). ``admits(connection)``: whether it is served; others are closed before a
        byte is read. ``size_of(content)``: how many bytes the message has that begins so, as far as is known yet;
        0: it is none. ``answer(message, address)``: what is sent back; empty: nothing. None of them blocks.
        ``seconds``: for a message. OSError: it cannot be listened on."""
        self._admits, self._size_of, self._answer, self._seconds = admits, size_of, answer, seconds
        self._listener = socket.create_server(address, backlog=128)
        self._listener.setblocking(False)
        self.address = self._listener.getsockname()
        self._messages = collections.OrderedDict()  # by connection, the oldest first
        self._end, self._told_to_end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="tony.collective.elastic", daemon=True)
        self._thread.start()

    def close(self):
        """Nobody is served any more when it returns."""
        self._end.close()
        self._thread.join()

    def _run(self):
        with self._listener, self._told_to_end, selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._told_to_end, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select(self._time_left())]
                if self._told_to_end in ready:
                    break
                for each in ready:
                    if each is self._listener:
                        self._accept(selector)
                    elif each in self._messages:  # not pushed out meanwhile
                        self._read(selector, each)
                while self._messages and self._time_left() == 0:
                    self._drop(selector, next(iter(self._messages)))
            for connection in self._messages:
                connection.close()

    def _time_left(self):
        """Of the oldest message, which is the first to be over; None: there is none."""
        if not self._messages:
            return None
        return max(next(iter(self._messages.values())).deadline - time.monotonic(), 0)

    def _accept(self, selector):
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(_PAUSE_SECONDS)  # it stays in the queue, and select() would return at once
            return
        try:
            if self._admits(connection):
                connection.setblocking(False)
                if len(self._messages) >= _MOST_CONNECTIONS:
                    self._drop(selector, next(iter(self._messages)))
                selector.register(connection, selectors.EVENT_READ)
                self._messages[connection] = _Message(time.monotonic() + self._seconds)
                return
        except OSError:
            pass  # it has gone meanwhile
        connection.close()

    def _read(self, selector, connection):
        content = self._messages[connection].content
        try:
            more = connection.recv(_READ_BYTES)
            content += more
            size = self._size_of(content)
            if more and len(content) < size:
                return
            if more and size > 0:
                # A socket that nothing was written to takes a short answer at once.
                connection.send(self._answer(bytes(content[:size]), connection.getpeername()[0]))
            # Who has sent more than was read sees an end, and not a broken connection.
            connection.shutdown(socket.SHUT_WR)
        except Exception:  # pylint: disable=broad-except  # whoever has gone, or what one message does, is not the next's
            pass
        self._drop(selector, connection)

    def _drop(self, selector, connection):
        selector.unregister(connection)
        del self._messages[connection]
        connection.close()
