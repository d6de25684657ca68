#!/usr/bin/env python3
"""What scripts/make-runtime packs, and a job whose programs all run from it.

    bundle_test.py PROGRAMS BUNDLE [unittest's arguments]

PROGRAMS is the folder of the built programs, BUNDLE what the build has packed of them.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))

# pylint: disable=wrong-import-position
import machine
import tony_cli

PROGRAMS = ("tony-am", "tony-executor", "tony-driver")

programs = None  # pylint: disable=invalid-name
bundle = None  # pylint: disable=invalid-name


def make_runtime(*arguments, **options):
    """Runs scripts/make-runtime."""
    return subprocess.run(
        [TESTS.parent / "scripts/make-runtime", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def digest(path):
    """Returns the SHA-256 of a file."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class PackingTest(unittest.TestCase):
    """The archive itself."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tony-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_the_same_programs_give_the_same_bytes(self):
        again = self.folder / "new folder" / "again.tar.gz"
        made = make_runtime(again, "--bin", programs, umask=0o077)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertEqual(digest(again), digest(bundle), "or is the target `runtime` not built?")
        self.assertEqual(list(again.parent.iterdir()), [again])

    def test_holds_one_folder_whose_files_anybody_may_use(self):
        with tarfile.open(bundle) as archive:
            members = {member.name: member for member in archive.getmembers()}
        for name in (*(f"bin/{program}" for program in PROGRAMS), "lib/ld-linux-x86-64.so.2"):
            self.assertEqual(members[f"tony-runtime/{name}"].mode, 0o755, name)
        for name, member in members.items():
            self.assertEqual(name.split("/")[0], "tony-runtime")
            self.assertTrue(member.isfile() or member.isdir(), name)
            self.assertEqual((member.uid, member.gid, member.mtime), (0, 0, 0), name)
            self.assertIn(member.mode, (0o755, 0o644), name)

    def test_programs_have_no_debug_information(self):
        with tarfile.open(bundle) as archive:
            for program in PROGRAMS:
                archive.extract(f"tony-runtime/bin/{program}", self.folder)
                file = self.folder / "tony-runtime/bin" / program
                sections = subprocess.run(
                    ["readelf", "--sections", "--wide", file],
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                ).stdout
                self.assertIn(".text", sections)
                self.assertNotIn(".debug_", sections)

    def test_a_package_that_lacks_is_named(self):
        alone = self.folder / "alone" / "bin"
        alone.mkdir(parents=True)
        for program in PROGRAMS:
            (alone / program).symlink_to(programs / program)
        made = make_runtime(self.folder / "alone.tar.gz", "--bin", alone)
        self.assertEqual(made.returncode, 1)
        self.assertIn("/python/tony/collective/libtony_collective.so; build it", made.stderr)
        self.assertFalse((self.folder / "alone.tar.gz").exists())

    def test_a_program_that_lacks_is_named(self):
        made = make_runtime(self.folder / "none.tar.gz", "--bin", self.folder)
        self.assertEqual(made.returncode, 1)
        self.assertIn(f"there is no {self.folder}/tony-am; build it first", made.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class BundledSite(tony_cli.Site):
    """A site whose programs are started by the loader of an unpacked bundle."""

    def command(self, program, *arguments):
        """Returns the command line of one of the programs on this site."""
        library = self.programs.parent / "lib"
        loader = [library / "ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", library]
        return [*loader, *super().command(program, *arguments)]


class JobTest(unittest.TestCase):
    """tony-submit of the bundle finds what it starts there, and so on."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="tony-test-")
        cls.addClassCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        made = make_runtime(
            folder / "all.tar.gz", "--bin", programs, "--with", "tony-submit", "--with", "tony"
        )
        assert made.returncode == 0, made.stderr
        with tarfile.open(folder / "all.tar.gz") as archive:
            archive.extractall(folder)
        cls.runtime = folder / "tony-runtime"

    def setUp(self):
        self.site = BundledSite(self, self.runtime / "bin")
        self.ready = tony_cli.Line(self, self.site.folder / "ready")
        self.gate = tony_cli.Line(self, self.site.folder / "gate")

    def start(self, workers):
        """A job whose programs run, and wait; returns it and its processes' names."""
        script = f"env; cat /proc/self/maps; echo > {self.ready.path}; read < {self.gate.path}"
        job = self.site.submit(
            *("--executes", script, "--conf", f"tony.worker.instances={workers}"),
            *("--conf", "tony.worker.memory=64m"),
        )
        for _ in range(workers):
            self.ready.read()
        return job, {pid: machine.name_of(pid) for pid in machine.processes_with(job.id)}

    def assert_succeeds(self, job, workers):
        """The job ends well, and its programs have seen nothing of the bundle but the package of collectives."""
        self.gate.write(workers)
        self.assertEqual(job.wait(), 0, job.describe())
        for index in range(workers):
            seen = job.log(f"worker:{index}").decode()
            self.assertIn("TONY_EPOCH=0", seen)
            package = [line for line in seen.splitlines() if line.startswith("PYTHONPATH=")]
            self.assertIn(str(self.runtime / "python"), package[0].split("=")[1].split(os.pathsep))
            self.assertNotIn(str(self.runtime), seen.replace(package[0], ""))
            if "LD_LIBRARY_PATH" not in os.environ:
                self.assertNotIn("LD_LIBRARY_PATH", seen)

    def files_of(self, pid):
        """The files that a process has mapped."""
        lines = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
        return {line[line.index("/") :] for line in lines if "/" in line}

    def test_one_task(self):
        job, names = self.start(1)
        ours = {pid: name for pid, name in names.items() if name.startswith("tony-")}
        self.assertIn("tony-am", ours.values())
        self.assertIn("tony-executor", ours.values())
        for pid, name in ours.items():
            files = {file for file in self.files_of(pid) if not file.startswith("/memfd:")}
            self.assertIn(str(self.runtime / "lib/libc.so.6"), files, name)
            outside = {file for file in files if not file.startswith(f"{self.runtime}/")}
            self.assertEqual(outside, set(), name)
        self.assert_succeeds(job, 1)

    def test_a_program_finds_the_bundles_package(self):
        """Its library is loaded by this machine's Python, by whose C library it lives."""
        program = self.site.folder / "alone.py"
        program.write_text("import tony.collective as c; c.init(); print(c.__file__, c.size())")
        job = self.site.submit(
            *("--executes", f"{sys.executable} -s -B {program}"),
            *("--conf", "tony.application.framework=standalone"),
            *("--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=64m"),
        )
        self.assertEqual(job.wait(), 0, job.describe())
        package = self.runtime / "python/tony/collective/__init__.py"
        self.assertEqual(job.log("worker:0").decode(), f"{package} 1\n")

    def test_several_tasks(self):
        job, names = self.start(2)
        executors = [pid for pid, name in names.items() if name == "tony-executor"]
        self.assertEqual(len(executors), 3)  # and the one that both are forked from
        shown = [machine.processes_with(job.id)[pid] for pid in executors]
        forked = f"{self.runtime}/bin/tony-executor --container-id="
        self.assertEqual(sum(command.startswith(forked) for command in shown), 2, shown)
        self.assert_succeeds(job, 2)


def main():
    """Runs the tests."""
    global programs, bundle  # pylint: disable=global-statement
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    bundle = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()


if __name__ == "__main__":
    main()
