#!/usr/bin/env python3
"""The wheel of the package `tony`: what is in it, and that one `pip install` of it is enough to run jobs. And the
package's types.

    wheel_test.py BUILD

BUILD is a build folder with all that is installed, which the wheel packs. Exits with 77, "skipped", where Python cannot
make virtual environments.
"""

import json
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

import tony_cli  # pylint: disable=wrong-import-order  # rank_processes says where it is

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = "tony/collective/libtony_collective.so"
COLUMNS = "tony/cluster/_columns.abi3.so"
DEADLINE_SECONDS = 600
EXECUTABLE = 0o111 << 16
# Two ranks, which know each other's numbers.
MEET = "import tony.collective as hvd; hvd.init(); print(hvd.allgather_object(hvd.rank()))"
# A job of two ranks that know each other, by the package's own programs.
RUN = """
import ranks, tony, tony._programs
assert tony._programs.find_programs().startswith(tony.__path__[0]), tony._programs.find_programs()
print(tony.run(ranks.meet, 2, memory="256m", framework="horovod", conf={"tony.local.dir": "local"}))
"""
RANKS = """
def meet():
    import tony.collective as hvd
    hvd.init()
    return hvd.allgather_object(hvd.rank()), hvd.__file__
"""


def run(*command, **options):
    """Standard output of a program that must succeed, without what the tests' own environment has of Python's."""
    environment = rank_processes.clean_environment()
    environment.pop("PYTHONPATH", None)
    environment.update(options.pop("environment", {}))
    result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=DEADLINE_SECONDS, check=False, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


class WheelTest(unittest.TestCase):
    """The wheel of this clone, in a virtual environment that has nothing but pip."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="tony-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        run(cls.builder(), "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "--no-index",
            "--disable-pip-version-check", "--wheel-dir", cls.folder / "wheels",
            f"--config-settings=cmake.define.TONY_BUILD={BUILD}",
            f"--config-settings=build-dir={cls.folder / 'build'}")
        (cls.wheel,) = (cls.folder / "wheels").iterdir()
        run(sys.executable, "-m", "venv", cls.folder / "venv")
        cls.python = cls.folder / "venv/bin/python"
        cls.pip("install", "--no-index", cls.wheel)
        (cls.site,) = (cls.folder / "venv/lib").glob("python3*/site-packages")

    @staticmethod
    def builder():
        """A Python with the packages of requirements.txt."""
        return tony_cli.examples_python(pathlib.Path(__file__).with_name("requirements.txt"))

    @classmethod
    def pip(cls, *arguments):
        """Without the network."""
        return run(cls.python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments)

    def test_its_name_says_for_whom_it_is(self):
        version = re.search(r"project\(tony VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(self.wheel.name, f"tony-{version}-py3-none-manylinux_2_28_{os.uname().machine}.whl")

    def test_what_is_in_it(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            modes = {entry.filename: entry.external_attr for entry in wheel.infolist()}
        sources = {path.relative_to(ROOT / "python").as_posix() for path in (ROOT / "python").glob("**/*.py")}
        self.assertGreater(len(sources), 10)
        self.assertLess({*sources, LIBRARY, COLUMNS, "tony/py.typed"}, set(modes))
        programs = [f"tony/_programs/{name}" for name in (
            "bin/tony", "bin/tony-submit", "libexec/tony/tony-am", "libexec/tony/tony-executor",
            "libexec/tony/tony-driver", "libexec/tony/tony-portal")]
        for name in programs:
            self.assertEqual(modes[name] & EXECUTABLE, EXECUTABLE, name)
        self.assertIn("tony/_programs/lib/tony/tony-runtime.tar.gz", modes)
        self.assertEqual([name for name in modes if "__pycache__" in name or "/share/" in name], [])

    def test_the_commands(self):
        version = run(BUILD / "bin/tony", "--version")
        for command in ("tony", "tony-submit"):
            self.assertEqual(run(self.folder / "venv/bin" / command, "--version"), version)

    def test_a_function_runs_as_a_job(self):
        (self.folder / "ranks.py").write_text(RANKS)
        site = self.folder / "site"
        site.mkdir()
        (site / "tony-site.xml").write_text("<configuration><property><name>tony.local.ledger</name>"
                                            "<value>private</value></property></configuration>")
        printed = run(self.python, "-B", "-c", RUN, cwd=self.folder, environment={"TONY_CONF_DIR": str(site)})
        module = self.site / "tony/_programs/lib/tony/python/tony/collective/__init__.py"
        self.assertEqual(printed.strip(), repr([([0, 1], str(module))] * 2))

    def test_tony_collective_outside_of_jobs(self):
        # Isolated: PYTHONPATH has the build's package.
        with Ranks(["-I", "-c", MEET], 2, python=self.python) as ranks:
            self.assertEqual(ranks.wait(), {rank: (0, "[0, 1]\n") for rank in (0, 1)})
        found = run(self.python, "-B", "-c", "import tony.collective as c; print(c.__file__)")
        self.assertEqual(pathlib.Path(found.strip()), self.site / "tony/collective/__init__.py")

    def test_what_pip_knows_of_it(self):
        about = json.loads(self.pip("inspect"))["installed"]
        (tony,) = (entry["metadata"] for entry in about if entry["metadata"]["name"] == "tony")
        self.assertEqual(tony["requires_python"], ">=3.8")
        self.assertEqual([needed for needed in tony.get("requires_dist", []) if "extra ==" not in needed], [])

    def test_the_types(self):
        self.assertIn("Success", run(self.builder(), "-m", "mypy", "--cache-dir", self.folder / "mypy", cwd=ROOT))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    try:
        import ensurepip as _
    except ImportError:
        print("skipped: no virtual environments for", sys.executable, "(python3-venv)")
        sys.exit(77)
    unittest.main()
