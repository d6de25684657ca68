#!/usr/bin/env python3
"""The port at which a process of an elastic job hears of other hosts: who may connect, and what connections cost."""

import base64
import errno
import hashlib
import hmac
import os
import pathlib
import pickle
import select
import socket
import sys
import threading
import unittest
import unittest.mock

import elastic_driver

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import second_user  # noqa: E402  pylint: disable=wrong-import-position

from tony.collective import _notifications, _peer_user  # noqa: E402  pylint: disable=wrong-import-position

DEADLINE_SECONDS = 60
# One who knows the secret, even: connects from this address of the machine to that one, and prints what he gets.
ATTACK = """
    import hashlib, hmac, socket, struct, sys
    origin, target, port, secret, request = sys.argv[1:]
    request = bytes.fromhex(request)
    digest = hmac.new(bytes.fromhex(secret), request, hashlib.sha256).digest()
    with socket.socket() as connection:
        connection.settimeout(60)
        connection.bind((origin, 0))
        connection.connect((target, int(port)))
        answer = b""
        try:
            connection.sendall(struct.pack("=32si", digest, len(request)) + request)
            while more := connection.recv(4096):
                answer += more
        except ConnectionError:
            pass
        print(answer)
"""


class NotificationsTest(unittest.TestCase):
    """A service in this process."""

    def start(self, interface="lo", seconds=DEADLINE_SECONDS):
        """Returns where it listens, and its secret."""
        self.heard = []
        with unittest.mock.patch.object(_notifications, "_REQUEST_SECONDS", seconds):
            service = _notifications._Service(  # pylint: disable=protected-access
                interface, lambda *news: self.heard.append(news))
        self.addCleanup(service.close if hasattr(service, "close") else service.server_close)
        interfaces, secret = pickle.loads(base64.b64decode(service.value))
        return interfaces["lo"][0], secret

    def notify(self, address, secret, timestamp=1):
        """As a driver does; returns what it gets back."""
        request = elastic_driver.hosts_updated(timestamp, 3)
        head = elastic_driver.HEAD.pack(hmac.new(secret, request, hashlib.sha256).digest(), len(request))
        with socket.create_connection(address, timeout=DEADLINE_SECONDS) as connection:
            connection.sendall(head + request)
            with connection.makefile("rb") as answer:
                return answer.read()

    def test_a_driver_is_heard(self):
        address, secret = self.start()
        self.assertIn(b"AckResponse", self.notify(address, secret))
        self.assertEqual(self.heard, [(1, 3)])
        self.assertEqual(self.notify(address, b"x" * 32), b"")
        self.assertEqual(self.heard, [(1, 3)])

    def test_many_who_say_little_cost_no_threads_and_keep_nobody_out(self):
        address, secret = self.start()
        before = threading.active_count()
        strangers = []
        for _ in range(200):
            strangers.append(socket.create_connection(address, timeout=DEADLINE_SECONDS))
            self.addCleanup(strangers[-1].close)
            strangers[-1].sendall(b"x")
        # All are accepted before this one.
        self.assertIn(b"AckResponse", self.notify(address, secret))
        self.assertEqual(threading.active_count(), before)
        # The oldest have made room.
        self.assertEqual(strangers[0].recv(1), b"")

    def test_a_message_has_a_time_for_all_of_it(self):
        address, _ = self.start(seconds=0.5)
        with socket.create_connection(address, timeout=DEADLINE_SECONDS) as connection:
            sent = 0
            try:
                # Byte by byte, each long before the time of a read would be over.
                while sent < elastic_driver.HEAD.size and not select.select([connection], [], [], 0.05)[0]:
                    sent += connection.send(b"x")
            except ConnectionError:
                pass
        self.assertLess(sent, elastic_driver.HEAD.size)

    def test_what_is_no_message_ends_the_connection(self):
        address, secret = self.start()
        for content in (b"GET / HTTP/1.1\r\n" * 4, elastic_driver.HEAD.pack(b"", -1),
                        elastic_driver.HEAD.pack(b"", 1 << 30)):
            with socket.create_connection(address, timeout=DEADLINE_SECONDS) as connection:
                connection.sendall(content)
                try:
                    self.assertEqual(connection.recv(1), b"")
                except ConnectionResetError:
                    pass  # what was not read
        self.assertIn(b"AckResponse", self.notify(address, secret))

    def test_another_user_of_this_machine_is_sent_away(self):
        second_user.require(self)
        (_, port), secret = self.start(interface="")
        others = [address for address in _notifications._addresses("").values()  # pylint: disable=protected-access
                  if not address.startswith("127.")]
        request = elastic_driver.hosts_updated(1, 3).hex()
        for origin, target in [("127.0.0.1", "127.0.0.1"), ("127.0.0.7", "127.0.0.1"),
                               *((each, each) for each in others[:1]), *(("127.0.0.1", each) for each in others[:1])]:
            said = second_user.run_python(ATTACK, origin, target, port, secret.hex(), request)
            self.assertEqual(said, "b''\n", (origin, target))
        self.assertEqual(self.heard, [])
        self.assertIn(b"AckResponse", self.notify(("127.0.0.1", port), secret))


class PeerUserTest(unittest.TestCase):
    """Connections of this process with itself."""

    def connection(self, family=socket.AF_INET):
        """(the client's socket, the accepted one)"""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        client = socket.socket(family)
        self.addCleanup(client.close)
        client.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", listener.getsockname()[1]))
        accepted, _ = listener.accept()
        self.addCleanup(accepted.close)
        return client, accepted

    def test_the_kernel_and_its_table_say_the_same(self):
        families = [socket.AF_INET]
        try:
            socket.socket(socket.AF_INET6).close()
            families.append(socket.AF_INET6)
        except OSError as error:
            self.assertEqual(error.errno, errno.EAFNOSUPPORT)
        for family in families:
            client, accepted = self.connection(family)
            ends = accepted.getpeername(), accepted.getsockname()
            for ask in (_peer_user._ask, _peer_user._look_up):  # pylint: disable=protected-access
                self.assertEqual(ask(*ends), os.geteuid(), (ask, family))
            client.close()
            for ask in (_peer_user._ask, _peer_user._look_up):  # pylint: disable=protected-access
                self.assertIsNone(ask(*ends), (ask, family))

    def test_who_has_gone_is_not_served(self):
        client, accepted = self.connection()
        self.assertTrue(_peer_user.may_be_served(accepted, lambda _: False))
        client.close()
        self.assertFalse(_peer_user.may_be_served(accepted, lambda _: False))

    def test_another_machines_user_is_not_known(self):
        """He may be served: who knows the secret is the driver."""
        far = unittest.mock.Mock(getpeername=lambda: ("192.0.2.1", 5), getsockname=lambda: ("192.0.2.2", 6))
        self.assertTrue(_peer_user.may_be_served(far, lambda _: False))
        self.assertFalse(_peer_user.may_be_served(far, lambda address: address == "192.0.2.1"))


if __name__ == "__main__":
    unittest.main()
