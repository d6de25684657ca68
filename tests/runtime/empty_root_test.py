#!/usr/bin/env python3
"""The runtime bundle in a root file system that has nothing else but /proc and /dev/null.

    empty_root_test.py BUNDLE PROBE [unittest's arguments]

Runs itself in namespaces of its own, for mounts and with a network that has nothing but loopback:
what is mounted is seen by nobody else and goes with the last process.
"""

import fcntl
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

SKIPPED = 77
DEADLINE_SECONDS = 60
INSIDE = "--inside"
# Libraries that programs open at run time: for HDFS, for Kerberos, by the C library.
OPENED = ("libcurl.so.4", "libgssapi_krb5.so.2", "libgcc_s.so.1")
# As a desktop has it: a module that the bundle has not, and what follows only if that was there.
NSSWITCH = "passwd: files sss\nhosts: files mdns4_minimal [NOTFOUND=return] dns\n"


class EmptyRootTest(unittest.TestCase):
    """A root with the bundle in it; what a test changes there, it changes back."""

    bundle = None
    probe = None
    root = None

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="tony-root-"))
        cls.addClassCleanup(cls.root.rmdir)  # empty then; what was in it was in memory
        mount("-t", "tmpfs", "none", cls.root)
        cls.addClassCleanup(subprocess.run, ["umount", "-R", "-l", cls.root], check=True)
        for folder in ("proc", "dev", "etc"):
            (cls.root / folder).mkdir()
        (cls.root / "dev/null").touch()
        mount("--rbind", "/proc", cls.root / "proc")
        mount("--bind", "/dev/null", cls.root / "dev/null")
        with tarfile.open(cls.bundle) as archive:
            archive.extractall(cls.root)
        shutil.copy(cls.probe, cls.root / "probe")

    def run_in_root(self, *command):
        """Runs a command in the root by the bundle's loader."""

        def enter():
            os.chroot(self.root)
            os.chdir("/")

        library = "/tony-runtime/lib"
        loader = [f"{library}/ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", library]
        # pylint: disable=subprocess-popen-preexec-fn
        return subprocess.run(
            [*loader, *command],
            preexec_fn=enter,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    def configure(self, name, text):
        """Writes a file of the root's /etc, until the test's end."""
        file = self.root / "etc" / name
        file.write_text(text)
        self.addCleanup(file.unlink)

    def assert_resolves(self, name, address):
        """The bundle's C library finds the name."""
        result = self.run_in_root("/probe", "resolve", name)
        self.assertEqual((result.stdout, result.stderr), (f"{address}\n", ""))

    def test_programs_start(self):
        for program, said in (
            ("tony-am", "tony-am is started by tony-submit, with --job-folder"),
            ("tony-executor", "tony-executor is started by tony, with --container-id"),
            ("tony-driver", "tony-driver is started by tony, with --workers"),
        ):
            result = self.run_in_root(f"/tony-runtime/bin/{program}")
            self.assertIn(f"{program}: {said}", result.stderr)
            self.assertEqual(result.returncode, 2)

    def test_every_library_finds_what_it_needs(self):
        libraries = sorted((self.root / "tony-runtime/lib").glob("*.so*"))
        self.assertGreater(len(libraries), len(OPENED))
        for library in libraries:
            if library.name.startswith("ld-linux"):
                continue
            result = self.run_in_root("--list", f"/tony-runtime/lib/{library.name}")
            self.assertEqual((result.returncode, result.stderr), (0, ""), library)
            self.assertNotIn("not found", result.stdout, library)

    def test_what_is_opened_at_run_time_is_there(self):
        for library in OPENED:
            result = self.run_in_root("/probe", "open", library)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_library_that_lacks_is_noticed(self):
        library = self.root / "tony-runtime/lib/libnghttp2.so.14"
        elsewhere = library.rename(self.root / library.name)
        self.addCleanup(elsewhere.rename, library)
        result = self.run_in_root("/probe", "open", "libcurl.so.4")
        self.assertEqual(result.returncode, 1)
        self.assertIn("libnghttp2.so.14: cannot open shared object file", result.stderr)

    def test_names_of_the_hosts_file(self):
        self.configure("hosts", "192.0.2.1 node1.example node1\n")
        self.assert_resolves("node1", "192.0.2.1")
        self.configure("nsswitch.conf", NSSWITCH)
        self.assert_resolves("node1.example", "192.0.2.1")

    def test_names_of_the_name_service(self):
        self.configure("resolv.conf", "nameserver 127.0.0.1\noptions timeout:10\n")
        with NameServer({"node2.example": "192.0.2.2"}):
            self.assert_resolves("node2.example", "192.0.2.2")
            self.configure("nsswitch.conf", NSSWITCH)
            self.assert_resolves("node2.example", "192.0.2.2")
            result = self.run_in_root("/probe", "resolve", "node3.example")
            self.assertEqual(result.returncode, 1, result.stdout)


class NameServer:
    """A DNS server on loopback that knows some IPv4 addresses. Not thread safe."""

    def __init__(self, names):
        self._names = {encode_name(name): socket.inet_aton(ip) for name, ip in names.items()}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._socket.bind(("127.0.0.1", 53))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._socket.sendto(b"", self._socket.getsockname())  # the end
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            query, sender = self._socket.recvfrom(512)
            if not query:
                return
            self._socket.sendto(self._answer(query), sender)

    def _answer(self, query):
        name = query[12 : query.index(b"\0", 12) + 1]
        question = query[12 : 12 + len(name) + 4]
        address = self._names.get(name)
        # Flags: an answer, recursion available; and whether there is such a name.
        flags = 0x8180 if address else 0x8183
        answer = query[:2] + struct.pack(">5H", flags, 1, 1 if address else 0, 0, 0) + question
        if address:  # the question's name, an IPv4 address, for a minute
            answer += struct.pack(">3HIH", 0xC00C, 1, 1, 60, 4) + address
        return answer


def encode_name(name):
    """Returns a name as it stands in a question."""
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def mount(*arguments):
    """Mounts something in this process's namespace."""
    subprocess.run(["mount", *arguments], check=True)


def raise_loopback():
    """Turns on this network's loopback interface."""
    up = struct.pack("16sh14x", b"lo", 1)  # struct ifreq with IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, up)  # SIOCSIFFLAGS


def enter_namespaces():
    """Runs this file again in namespaces; returns only where there can be none."""
    user = () if os.geteuid() == 0 else ("--map-root-user",)
    unshare = ["unshare", *user, "--mount", "--net"]
    tried = subprocess.run([*unshare, "true"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        os.execvp("unshare", [*unshare, sys.executable, "-B", *sys.argv[:1], INSIDE, *sys.argv[1:]])
    print(f"skipped: this user can make no namespaces here: {tried.stderr}", file=sys.stderr)
    sys.exit(SKIPPED)


def main():
    """Runs the tests, inside of the namespaces."""
    if sys.argv[1:2] != [INSIDE]:
        enter_namespaces()
    del sys.argv[1]
    raise_loopback()
    EmptyRootTest.bundle = pathlib.Path(sys.argv.pop(1)).resolve()
    EmptyRootTest.probe = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()


if __name__ == "__main__":
    main()
