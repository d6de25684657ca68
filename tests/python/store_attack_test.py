#!/usr/bin/env python3
"""tony.collective where somebody else writes to the store in which ranks meet, and listens where they connect."""

import importlib.util
import socket
import textwrap
import threading
import unittest

import rank_processes
import rendezvous_driver

HAS_TORCH = importlib.util.find_spec("torch")
KEY = {"TONY_COLLECTIVE_KEY": "of this job", "HOROVOD_GLOO_TIMEOUT_SECONDS": "60"}
# Both have the same length, so that one can replace the other in a pickle.
RIGHT, FORGED = b"the object of rank 0", b"what Mallory has sent"[:20]
NOT_BELIEVED = "in the job's store is not believed to be of rank "

TELL = f"""
import tony.collective as hvd
try:
    hvd.init()
    print("got", hvd.broadcast_object({RIGHT!r} if hvd.rank() == 0 else None), flush=True)
    hvd.barrier()
except hvd.HorovodInternalError as error:
    print("told:", error, flush=True)
"""
# Replaces rank 1's value in the store by a forged one.
IN_TORCH_STORE = """
import os
from tony.collective import _stores
put = _stores.TorchStore.put
def overwritten(self, key, value):
    if key == "host/1":
        lines = value.decode().split("\\n")
        lines[lines[0].startswith("signed")] = "mallory's host"
        value = "\\n".join(lines).encode()
    put(self, key, value)
_stores.TorchStore.put = overwritten
"""


class Relay:
    """Listens, and passes on between whoever connects and ``target``, an address and a port. From there it puts
    FORGED in the place of RIGHT."""

    def __init__(self):
        self.target = None
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "%s %d" % self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Nobody connects any more."""
        self._listener.close()

    def _accept(self):
        while True:
            try:
                guest, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            host = socket.create_connection(self.target)
            for source, sink in ((guest, host), (host, guest)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        try:
            while piece := source.recv(1 << 16):
                sink.sendall(piece.replace(RIGHT, FORGED))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one of the two has gone


def forging_store(forgeries, seen):
    """A store of its own, that answers what somebody else has written. ``forgeries``: by key, a function of the value's
    lines that changes them, or gives all of the value instead. ``seen``: a dictionary that gets, as ranks have put
    them, the lines by key, and the values by path."""
    class Store(rendezvous_driver.Store):
        """Horovod's, overwritten."""

        values, changed = {}, threading.Lock()

        def do_PUT(self):  # pylint: disable=invalid-name
            """Keeps the values of ranks, but serves others."""
            value = self.rfile.read(int(self.headers["Content-Length"]))
            key = self.path.rpartition("/")[2]
            lines = value.decode().split("\n")
            first = lines[0].startswith("signed ") or lines[0] == "unsigned"
            seen[key], seen[self.path] = lines[first:], value
            if key in forgeries:
                forged = forgeries[key](lines[first:])
                value = forged if isinstance(forged, bytes) else "\n".join(lines[:first] + forged).encode()
            with self.changed:
                self.values[self.path] = value
            self.answer(200)

    return Store


class HttpStoreTest(unittest.TestCase):
    """The store of tony-driver and horovodrun."""

    def setUp(self):
        self.relay = Relay()
        self.addCleanup(self.relay.close)
        self.seen = {}

    def run_ranks(self, forgeries, key=True, apart=(), which=(0, 1)):
        """The output of two ranks whose store is overwritten. ``which``: these ranks; the others are not waited for."""
        store = forging_store(forgeries, self.seen)
        with rank_processes.Ranks(["-c", TELL], 2, lambda rank: KEY if key else {**KEY, "TONY_COLLECTIVE_KEY": None},
                                  apart=apart, store=store) as ranks:
            for rank in {0, 1}.difference(which):
                left = ranks.processes.pop(rank)
                self.addCleanup(left.stdout.close)
                self.addCleanup(left.wait)
                self.addCleanup(left.kill)
            ended = ranks.wait()
        self.assertEqual({status for status, _ in ended.values()}, {0}, ended)
        return [output.strip() for _, output in ended.values()]

    def another_host(self, lines):
        """The signed host of a rank that is really on this host."""
        return ["mallory's host", *lines[1:]]

    def relays_address(self, lines):
        """In the place of rank 0's."""
        host, port = lines[0].split()
        self.relay.target = host, int(port)
        return [self.relay.address, *lines[1:]]

    def in_table(self, lines):
        """The same, where rank 0 tells all of all."""
        host, port = self.seen["net.0"][0].split()
        self.relay.target = host, int(port)
        return [self.relay.address if line == f"{host} {port}" else line for line in lines]

    def assert_not_believed(self, said, key):
        """The reading rank does not believe it; the other one is told why that rank does not come."""
        self.assertIn(f"told: '{key}' {NOT_BELIEVED}", "\n".join(said))
        for output in said:
            self.assertTrue(output.startswith("told: "), said)
            self.assertNotIn(FORGED.decode(), output)
        self.assertEqual(self.relay.connections, 0)

    def test_ranks_of_this_machine_are_not_made_to_speak_tcp(self):
        """A stranger's host for rank 1, and then his port for rank 0: so a pickle of his was run."""
        said = self.run_ranks({"host.1": self.another_host, "net.0": self.relays_address, "net": self.in_table})
        self.assert_not_believed(said, "host/1")
        self.assertNotIn("net.0", self.seen, "nobody has opened a port")

    def test_nor_without_a_key(self):
        said = self.run_ranks({"host.1": self.another_host, "net.0": self.relays_address, "net": self.in_table},
                              key=False)
        self.assertEqual(said, ["told: rank 1 is on another host than rank 0, and there is no key: give all ranks the "
                                "same TONY_COLLECTIVE_KEY"] * 2)
        self.assertEqual(self.relay.connections, 0)

    def test_another_port_for_a_rank_of_another_host(self):
        reason = rank_processes.refusal_of_hosts()
        if reason:
            self.skipTest(reason)
        self.assert_not_believed(self.run_ranks({"net": self.in_table}, apart=(0, 1), which=(1,)), "net")
        self.assert_not_believed(self.run_ranks({"net.1": lambda lines: [self.relay.address, *lines[1:]]},
                                                apart=(0, 1)), "net/1")
        # Rank 0 does not ask the store for its own values.
        self.assertEqual(self.run_ranks({"net.0": self.relays_address}, apart=(0, 1)), [f"got {RIGHT!r}"] * 2)
        self.assertEqual(self.relay.connections, 0)

    def test_values_of_an_earlier_start(self):
        """With the same key and of the same name, as horovodrun's rounds are."""
        self.assertEqual(self.run_ranks({}), [f"got {RIGHT!r}"] * 2)
        (plan,) = (value for path, value in self.seen.items() if path.endswith("/plan"))
        (said,) = self.run_ranks({"plan": lambda _: plan}, which=(1,))
        self.assertIn("told: rank 0 has not read what this rank has put under 'host/1'", said)

    def test_without_anybody_else(self):
        self.assertEqual(self.run_ranks({}), [f"got {RIGHT!r}"] * 2)


class TorchStoreTest(unittest.TestCase):
    """The store of torch.distributed, which listens to the network."""

    @unittest.skipUnless(HAS_TORCH, "there is no PyTorch")
    def test_a_rank_of_this_machine_is_not_made_to_speak_tcp(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        variables = {"HOROVOD_RANK": None, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
        for attack, expected in (("", [f"got {RIGHT!r}"] * 2), (IN_TORCH_STORE, None)):
            with self.subTest(attacked=bool(attack)), \
                    rank_processes.Ranks(["-c", textwrap.dedent(attack) + TELL], 2,
                                         lambda rank: {**KEY, **variables, "RANK": str(rank)}) as ranks:
                ended = ranks.wait()
            said = [output.strip() for _, output in ended.values()]
            if expected:
                self.assertEqual(said, expected)
                continue
            for output in said:
                self.assertIn(f"told: 'host/1' {NOT_BELIEVED}1: its signature is not of this key", output)


if __name__ == "__main__":
    unittest.main()
