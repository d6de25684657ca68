#!/usr/bin/env python3
"""The packages of scripts/package: the archive on a machine that has nothing else, and the .deb in a
root of dpkg's own.

The folder of the programs is part of a build, from which the packages are made.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

import integration_case
import tony_cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Turns on the loopback interface of a new network, and runs a command in another root folder.
ENTER = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
    fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS with IFF_UP
os.chroot(sys.argv[1])
os.chdir("/")
os.execve(sys.argv[2], sys.argv[2:], {"HOME": "/root", "PATH": "/bin"})
"""


def run(*command, **options):
    """Runs a command; returns its end and its texts."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=10 * tony_cli.DEADLINE_SECONDS, check=False, **options)


class PackageCase(unittest.TestCase):
    """The packages of one build, made once for each class."""

    kind = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        made = run(ROOT / "scripts/package", cls.kind, "--build",
                   integration_case.programs.parent, "--output", cls.folder)
        assert made.returncode == 0, made.stderr
        (cls.package,) = [pathlib.Path(line) for line in made.stdout.splitlines()]

    def assert_says(self, result, text):
        """The command has succeeded, and its last line is `text`."""
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1:], [text], result.stderr)


class ArchiveTest(PackageCase):
    """tony-VERSION-linux-PROCESSOR.tar.gz"""

    kind = "tar"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.top = cls.folder / "a place" / cls.package.name.removesuffix(".tar.gz")
        with tarfile.open(cls.package) as archive:
            cls.members = archive.getmembers()
            archive.extractall(cls.top.parent)

    def test_one_folder_of_roots_files(self):
        for member in self.members:
            self.assertEqual(member.name.split("/")[0], self.top.name)
            self.assertEqual((member.uid, member.gid), (0, 0), member.name)
            self.assertFalse(member.mode & 0o022, member.name)

    def test_a_job_runs_by_a_link_and_with_the_packages_own_libraries(self):
        link = self.folder / "link"
        link.symlink_to(self.top / "bin/tony")
        self.addCleanup(link.unlink)
        program = self.folder / "project/train.py"
        program.parent.mkdir()
        program.write_text("import tony.collective as hvd\nhvd.init()\nprint(hvd.__file__, hvd.size())\n")
        site = tony_cli.Site(self, self.top / "bin")
        result = run(link, "run", "-np", "2", "--memory", "200m", sys.executable, "-B", program.name,
                     cwd=program.parent, env={"PATH": os.defpath, "HOME": str(site.folder),
                                           "TONY_CONF_DIR": site.environment["TONY_CONF_DIR"]})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        package = self.top / "lib/tony/python/tony/collective/__init__.py"
        self.assertEqual(sorted(line for line in result.stdout.splitlines() if line.startswith("worker:")),
                         [f"worker:{rank} | {package} 2" for rank in range(2)])

    def test_a_folder_that_the_loader_cannot_search_is_refused(self):
        top = (self.folder / "a:b")
        shutil.copytree(self.top / "bin", top / "bin")
        self.addCleanup(shutil.rmtree, top)
        result = run(top / "bin/tony", "--version")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(
            result.stderr,
            f"tony: cannot run below a folder with ':' or ';' in its name: {top}; move it\n")

    def test_an_empty_machine(self):
        busybox = shutil.which("busybox")
        if busybox is None or "INTERP" in run("readelf", "--program-headers", busybox).stdout:
            self.skipTest("there is no static busybox (package busybox-static), the empty machine's shell")
        if os.geteuid() != 0:
            self.skipTest("only root can enter another root folder")
        root = self.folder / "root"
        for name in ("bin", "dev", "proc", "root", "tmp"):
            (root / name).mkdir(parents=True)
        shutil.copy(busybox, root / "bin/busybox")
        for name in ("sh", "sleep", "echo"):
            (root / "bin" / name).symlink_to("busybox")
        (root / "bin/bash").write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
        (root / "bin/bash").chmod(0o755)
        shutil.move(self.top, root / "tony")
        self.addCleanup(shutil.move, root / "tony", self.top)
        script = ('mount -t proc proc "$0/proc" && mount -t tmpfs tmp "$0/tmp" && touch "$0/dev/null" && '
                  'mount --bind /dev/null "$0/dev/null" && exec "$@"')
        def inside(*command):
            return run("unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", script, root,
                       sys.executable, "-c", ENTER, root, *command)
        version = run(integration_case.programs / "tony", "--version").stdout.strip()
        self.assert_says(inside("/tony/bin/tony", "--version"), version)
        job = inside("/tony/bin/tony-submit", "--executes", "sleep 0.1; echo done", "--quiet",
                     "--conf", "tony.worker.instances=2", "--conf", "tony.worker.memory=64m",
                     "--conf", "tony.local.ledger=private", "--conf", "tony.local.dir=/root/tony")
        self.assert_says(job, "SUCCEEDED (TASKS_SUCCEEDED): All 2 tracked tasks succeeded")


class DebTest(PackageCase):
    """tony_VERSION_ARCHITECTURE.deb"""

    kind = "deb"

    @classmethod
    def setUpClass(cls):
        if not shutil.which("dpkg-shlibdeps"):
            raise unittest.SkipTest("there is no dpkg-shlibdeps (package dpkg-dev)")
        super().setUpClass()

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can install a package, even in a folder")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=self.folder))
        (self.root / "var/lib/dpkg/info").mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()
        self.ledger = self.root / "var/lib/tony/ledger"

    def dpkg(self, *arguments):
        """Runs dpkg on the root."""
        result = run("dpkg", f"--root={self.root}", "--force-script-chrootless", "--force-depends",
                     *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_installation_twice_removal_and_purge(self):
        self.dpkg("--install", self.package)
        self.assertEqual(stat.S_IMODE(self.ledger.stat().st_mode), 0o1777)
        self.assertEqual(stat.S_IMODE(self.ledger.parent.stat().st_mode), 0o755)
        version = run(integration_case.programs / "tony", "--version").stdout.strip()
        self.assert_says(run(self.root / "usr/bin/tony", "--version"), version)
        # An administrator's ledger stays as it is, and so do the jobs' claims in it.
        self.ledger.chmod(0o1770)
        claim = self.ledger / "1000/job.json"
        claim.parent.mkdir()
        claim.touch()
        self.dpkg("--install", self.package)
        self.assertEqual(stat.S_IMODE(self.ledger.stat().st_mode), 0o1770)
        cache = self.root / "usr/lib/tony/python/tony/collective/__pycache__"
        cache.mkdir()
        (cache / "torch.cpython-311.pyc").touch()
        self.dpkg("--remove", "tony")
        self.assertFalse((self.root / "usr/bin/tony").exists())
        self.assertFalse((self.root / "usr/lib/tony").exists())
        self.assertTrue(claim.exists())
        self.dpkg("--purge", "tony")
        self.assertFalse(self.ledger.parent.exists())

    def test_a_job_runs_from_the_installed_files(self):
        self.dpkg("--install", self.package)
        site = tony_cli.Site(self, self.root / "usr/bin")
        job = site.submit("--executes", "echo hello", "--conf", "tony.worker.instances=1",
                          "--conf", "tony.worker.memory=64m")
        self.assertEqual(job.wait(), 0, job.describe())
        self.assertEqual(job.log("worker:0"), b"hello\n")

    def test_what_the_package_says(self):
        fields = run("dpkg-deb", "--field", self.package).stdout
        self.assertIn("Package: tony\n", fields)
        self.assertRegex(fields, r"Depends: .*libc6 \(>= [0-9.]+\).*libtinyxml2")
        for line in run("dpkg-deb", "--contents", self.package).stdout.splitlines():
            self.assertIn(" root/root ", line)
            self.assertRegex(line, r"^[d-]rw[x-]r-[x-]r-[x-] ")


if __name__ == "__main__":
    integration_case.main()
