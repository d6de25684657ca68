#!/usr/bin/env python3
"""The wheel of tony.collective: what is in it, and that pip installs it where nothing else is to be had.

    wheel_test.py BUILD

BUILD is a build folder with the library. Exits with 77, "skipped", where Python cannot make virtual environments.
"""

import base64
import csv
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import rank_processes
from rank_processes import Ranks

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = "tony/collective/libtony_collective.so"
DEADLINE_SECONDS = 300
# Two ranks, which know each other's numbers.
MEET = "import tony.collective as hvd; hvd.init(); print(hvd.allgather_object(hvd.rank()))"


def make_wheel(folder, build):
    """Returns what scripts/collective-wheel has said and done."""
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/collective-wheel", folder, "--build", build],
                          capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)


class Temporary(unittest.TestCase):
    """Has a folder and a wheel."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="tony-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.made = make_wheel(cls.folder / "wheels", BUILD)
        assert cls.made.returncode == 0, cls.made.stderr
        (cls.wheel,) = (cls.folder / "wheels").iterdir()


class ContentsTest(Temporary):
    """The file itself."""

    def test_its_path_is_all_that_is_said(self):
        self.assertEqual((self.made.stdout, self.made.stderr), (f"{self.wheel}\n", ""))

    def test_its_name_says_for_whom_it_is(self):
        version = re.search(r"project\(tony VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        machine = os.uname().machine
        self.assertEqual(self.wheel.name, f"tony_collective-{version}-py3-none-manylinux_2_28_{machine}.whl")

    def test_has_all_modules_and_the_library_and_no_package_tony(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
        packed = {name for name in names if name.startswith("tony/")}
        sources = {path.relative_to(ROOT / "python").as_posix() for path in (ROOT / "python").glob("**/*.py")}
        self.assertGreater(len(sources), 10)
        self.assertEqual(packed, {*sources, LIBRARY})
        # Else it would shadow a package of the user's.
        self.assertNotIn("tony/__init__.py", names)
        about = {name.split("/", 1)[1] for name in names - packed}
        self.assertEqual(about, {"LICENSE", "METADATA", "RECORD", "WHEEL"})

    def test_its_record_is_right(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            contents = {name: wheel.read(name) for name in wheel.namelist()}
        (record,) = (name for name in contents if name.endswith("/RECORD"))
        rows = {name: (digest, size) for name, digest, size in csv.reader(contents[record].decode().splitlines())}
        self.assertEqual(rows.pop(record), ("", ""))
        del contents[record]
        self.assertEqual(set(rows), set(contents))
        for name, data in contents.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            self.assertEqual(rows[name], (f"sha256={digest}", str(len(data))), name)

    def test_the_same_package_gives_the_same_bytes(self):
        again = make_wheel(self.folder / "again", BUILD).stdout.strip()
        self.assertEqual(pathlib.Path(again).read_bytes(), self.wheel.read_bytes())

    def test_without_a_build_there_is_none(self):
        made = make_wheel(self.folder / "none", self.folder)
        self.assertEqual((made.returncode, made.stdout), (1, ""))
        self.assertIn(f"there is no {self.folder}/python/{LIBRARY}; build", made.stderr)
        self.assertFalse((self.folder / "none").exists())


class InstalledTest(Temporary):
    """In a virtual environment that has nothing but pip."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_python(sys.executable, "-m", "venv", cls.folder / "venv")
        cls.python = cls.folder / "venv/bin/python"
        cls.pip("install", "--no-index", cls.wheel)
        (cls.site,) = (cls.folder / "venv/lib").glob("python3*/site-packages")

    @staticmethod
    def run_python(python, *arguments, path=None):
        """Standard output of a program that must succeed; ``path``: PYTHONPATH."""
        environment = rank_processes.clean_environment()
        environment.pop("PYTHONPATH")
        if path:
            environment["PYTHONPATH"] = str(path)
        result = subprocess.run([python, *arguments], env=environment, capture_output=True, text=True,
                                timeout=DEADLINE_SECONDS, check=False)
        assert result.returncode == 0, result.stderr + result.stdout
        return result.stdout

    @classmethod
    def pip(cls, *arguments):
        """Without the network."""
        return cls.run_python(cls.python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments)

    def where(self, path=None):
        """The package that programs find."""
        found = self.run_python(self.python, "-B", "-c", "import tony.collective as c; print(c.__file__)", path=path)
        return pathlib.Path(found.strip())

    def test_it_is_used_until_it_is_removed(self):
        # Isolated: PYTHONPATH has the build's package.
        with Ranks(["-I", "-c", MEET], 2, python=self.python) as ranks:
            self.assertEqual(ranks.wait(), {rank: (0, "[0, 1]\n") for rank in (0, 1)})
        self.assertEqual(self.where(), self.site / "tony/collective/__init__.py")
        # As in a job.
        self.assertEqual(self.where(BUILD / "python"), BUILD / "python/tony/collective/__init__.py")
        self.pip("uninstall", "--yes", "tony-collective")
        self.assertEqual([path for path in self.site.glob("tony*/**/*") if not path.is_dir()], [])


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    try:
        import ensurepip as _
    except ImportError:
        print("skipped: no virtual environments for", sys.executable, "(python3-venv)")
        sys.exit(77)
    unittest.main()
