#!/usr/bin/env python3
"""tony.collective where ranks do not share memory: each its own host, some of them, and where memory cannot be had."""

import importlib.util
import textwrap
import unittest

import rank_processes

ALL = (0, 1, 2)
HAS_TORCH = importlib.util.find_spec("torch")

SHARES = """
import pathlib, sys
import tony.collective as hvd
hvd.init()
assert hvd.allgather_object(hvd.rank()) == list(range(hvd.size()))
sys.exit(10 if "memfd:tony-collective" in pathlib.Path("/proc/self/maps").read_text() else 0)
"""

# As `ulimit -f` has it: a file of 4 KiB at most, and shared memory is one.
SMALL_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
"""

# As a container's profile may have it: for all that this process does from now on, the call is an error.
NO_MEMFD = """
import ctypes, errno, platform, struct
number = {"x86_64": 319, "aarch64": 279}[platform.machine()]
code = b"".join(struct.pack("HBBI", *line) for line in (
    (0x20, 0, 0, 0),                        # the call's number
    (0x15, 0, 1, number),                   # if it is memfd_create:
    (0x06, 0, 0, 0x50000 | errno.EPERM),    # SECCOMP_RET_ERRNO
    (0x06, 0, 0, 0x7fff0000)))              # else SECCOMP_RET_ALLOW
class Program(ctypes.Structure):
    _fields_ = [("lines", ctypes.c_ushort), ("code", ctypes.c_char_p)]
program = Program(len(code) // 8, code)
prctl = ctypes.CDLL(None, use_errno=True).prctl
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
assert prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
"""

SUM = """
import tony.collective as hvd, array
hvd.init()
for count in (4, 100000):
    assert set(hvd.allreduce_(array.array("f", [hvd.rank() + 1] * count), op=hvd.Sum, name="sum")) == {3}
hvd.barrier()
"""


class HostsTest(unittest.TestCase):
    """Ranks of this machine that are hosts to each other."""

    def setUp(self):
        reason = rank_processes.refusal_of_hosts()
        if reason:
            self.skipTest(reason)

    def test_who_shares_memory(self):
        """So that the other tests are about what they say."""
        for apart, shares in (((), {0, 1, 2}), ((2,), {0, 1}), ((1,), {0, 2}), (ALL, set())):
            with self.subTest(apart=apart), rank_processes.Ranks(["-c", SHARES], 3, apart=apart) as ranks:
                ended = ranks.wait()
                self.assertEqual({rank: status for rank, (status, _) in ended.items()},
                                 {rank: 10 if rank in shares else 0 for rank in ALL}, ended)
                self.assertEqual({output for _, output in ended.values()}, {""})

    def run_checks(self, module, size=3, ways=(ALL, (1,))):
        for apart in ways:
            with self.subTest(apart=apart):
                failed = rank_processes.failed_checks(module, size, apart=apart)
                self.assertFalse(failed, "\n".join(failed))

    def test_arrays(self):
        self.run_checks("array_checks")

    def test_each_type_with_each_operation(self):
        self.run_checks("type_checks")

    def test_sets(self):
        self.run_checks("set_checks", 4, [(1, 3)])

    @unittest.skipUnless(HAS_TORCH, "there is no PyTorch")
    def test_torch(self):
        self.run_checks("torch_checks")


class WireMacTest(unittest.TestCase):
    """With a MAC of all that goes through TCP, which one rank asks for."""

    def test_operations(self):
        reason = rank_processes.refusal_of_hosts()
        if reason:
            self.skipTest(reason)
        failed = rank_processes.failed_checks("array_checks", 3, lambda rank: {
            "TONY_COLLECTIVE_WIRE_MAC": "1" if rank == 1 else None}, apart=ALL)
        self.assertFalse(failed, "\n".join(failed))

    def test_another_value_is_an_error(self):
        with rank_processes.Ranks(["-c", "import tony.collective as hvd\nhvd.init()"], 1,
                                  lambda _: {"TONY_COLLECTIVE_WIRE_MAC": "yes"}) as ranks:
            ((status, output),) = ranks.wait().values()
        self.assertEqual(status, 1)
        self.assertIn("TONY_COLLECTIVE_WIRE_MAC is 'yes' instead of '0' or '1'", output)


class NoMemoryTest(unittest.TestCase):
    """Ranks of one host that could share memory if there were any."""

    def said(self, body, key="of these ranks", status=0):
        """The output of each of two ranks."""
        with rank_processes.Ranks(["-c", "import os\n" + textwrap.dedent(body)], 2,
                                  lambda _: {"TONY_COLLECTIVE_KEY": key}) as ranks:
            ended = ranks.wait()
        self.assertEqual([code for code, _ in ended.values()], [status] * 2, ended)
        return [output for _, output in ended.values()]

    def test_rank_0_says_why_once(self):
        for before, reason in ((SMALL_FILES, r"cannot get \d+ bytes of shared memory: File too large"),
                               (NO_MEMFD, "cannot make shared memory: Operation not permitted")):
            with self.subTest(reason):
                first, second = self.said(before + SUM)
                self.assertRegex(first, "^tony.collective: the ranks of a host cannot share memory, and speak TCP, "
                                        f"which is slower: {reason}\n$")
                self.assertEqual(second, "")

    def test_without_a_key_that_is_an_error(self):
        """Other users of this machine could be listening where ranks connect to by TCP."""
        for output in self.said(SMALL_FILES + SUM, key=None, status=1):
            self.assertRegex(output, r"the ranks of this host cannot share memory \(cannot get \d+ bytes of shared "
                                     r"memory: File too large\), and there is no key: give all ranks the same "
                                     "TONY_COLLECTIVE_KEY\n$")

    def test_nothing_is_said_otherwise(self):
        self.assertEqual(self.said(SUM), ["", ""])


if __name__ == "__main__":
    unittest.main()
