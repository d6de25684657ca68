"""A server for one short message per connection, which strangers can neither fill nor slow down for long."""

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
    """The received part of a message, and the deadline for all of it."""

    def __init__(self, deadline):
        self.content = bytearray()
        self.deadline = deadline


class FrameServer:
    """Listens and answers on its own thread.

    Each message has a deadline, however its bytes arrive. There are at most 16 connections; another one replaces the
    oldest. An honest driver has sent its whole short message long before that. So an attacker who holds connections
    evicts only other attackers, and a prompt message is answered.
    """

    def __init__(self, address, admits, size_of, answer, seconds=10):
        """``address``: (IPv4 address, port). ``admits(connection)``: whether the connection is served; others are
        closed before a byte is read. ``size_of(content)``: the size of the message that begins with ``content``, as far
        as it is known; 0: the message is invalid. ``answer(message, address)``: the reply; empty: none. None of these
        functions blocks. ``seconds``: the time for a message. OSError: the address cannot be listened on."""
        self._admits, self._size_of, self._answer, self._seconds = admits, size_of, answer, seconds
        self._listener = socket.create_server(address, backlog=128)
        self._listener.setblocking(False)
        self.address = self._listener.getsockname()
        self._messages = collections.OrderedDict()  # by connection, the oldest first
        self._end, self._told_to_end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="tony.collective.elastic", daemon=True)
        self._thread.start()

    def close(self):
        """When it returns, no connection is served any more."""
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
                    elif each in self._messages:  # not evicted meanwhile
                        self._read(selector, each)
                while self._messages and self._time_left() == 0:
                    self._drop(selector, next(iter(self._messages)))
            for connection in self._messages:
                connection.close()

    def _time_left(self):
        """The time left for the oldest message, whose deadline comes first; None: there is no message."""
        if not self._messages:
            return None
        return max(next(iter(self._messages.values())).deadline - time.monotonic(), 0)

    def _accept(self, selector):
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(_PAUSE_SECONDS)  # the connection stays in the queue, and select() would return at once
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
            pass  # the peer has closed it meanwhile
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
                # A socket without earlier output accepts a short answer at once.
                connection.send(self._answer(bytes(content[:size]), connection.getpeername()[0]))
            # An orderly end first: a peer that has sent more than was read would otherwise see a reset.
            connection.shutdown(socket.SHUT_WR)
        except Exception:  # pylint: disable=broad-except  # an error of one connection must not affect the next
            pass
        self._drop(selector, connection)

    def _drop(self, selector, connection):
        selector.unregister(connection)
        del self._messages[connection]
        connection.close()
