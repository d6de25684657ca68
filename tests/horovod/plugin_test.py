#!/usr/bin/env python3
"""How Horovod's tests are run and judged, on tests of our own."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import adapted
from known_failures import Known

HERE = pathlib.Path(__file__).resolve().parent

TESTS = """
    import os, sys, threading, time, unittest

    RANK = int(os.environ.get("HOROVOD_RANK", -1))

    class Tests(unittest.TestCase):
        def test_all_pass(self):
            assert os.environ["HOROVOD_SIZE"] == "2" and os.environ["HOROVOD_RANK"] in ("0", "1")

        def test_one_fails(self):
            assert os.environ["HOROVOD_RANK"] == "0", "wrong rank"

        def test_one_dies(self):
            if os.environ["HOROVOD_RANK"] == "1":
                print("last words", flush=True)
                os._exit(3)

        def test_one_hangs(self):
            if os.environ["HOROVOD_RANK"] == "1":
                for _ in range(3):
                    threading.Thread(target=threading.Event().wait, daemon=True).start()
                hang()

        def test_one_fails_and_hangs(self):
            if os.environ["HOROVOD_RANK"] == "1":
                self.addCleanup(hang)
                assert False, "before it hangs"

        def test_skipped(self):
            self.skipTest("no time")

        def test_tear_down(self):
            self.fails = True

        def tearDown(self):
            assert not getattr(self, "fails", False), "tear down"

    def hang():
        time.sleep(1000)
"""


@unittest.skipUnless(importlib.util.find_spec("pytest"), "there is no pytest")
class PluginTest(unittest.TestCase):
    """Two ranks."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test_made_up.py"
            path.write_text(textwrap.dedent(TESTS), encoding="utf-8")
            report = pathlib.Path(folder) / "report"
            command = [sys.executable, "-B", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "ranks_plugin",
                       "--tb=native", "--ranks=2", "--limit=20", f"--report={report}", path.name]
            cls.ended = subprocess.run(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                timeout=200, env={**os.environ, "PYTHONPATH": os.pathsep.join(
                    [str(HERE), os.environ.get("PYTHONPATH", "")])})
            lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        cls.results = {each["test"].split("::")[-1]: each for each in map(json.loads, lines)}

    def expect(self, test, outcome, *texts):
        """``texts``: parts of the reason."""
        self.assertIn(test, self.results, self.ended.stdout)
        result = self.results[test]
        self.assertEqual(result["outcome"], outcome, result)
        for text in texts:
            self.assertIn(text, result["why"])
        return result

    def test_outcomes(self):
        self.assertEqual(self.ended.returncode, 1, self.ended.stdout)
        self.expect("test_all_pass", "passed")
        why = self.expect("test_one_fails", "failed", "rank 1: AssertionError: wrong rank")["why"]
        self.assertNotIn("rank 0", why)
        self.expect("test_one_dies", "failed", "rank 1: ended with 3", "last words")
        self.expect("test_skipped", "skipped", "no time")
        self.expect("test_tear_down", "failed", "tear down")

    def test_a_failure_is_told_before_tear_down(self):
        self.expect("test_one_fails_and_hangs", "failed", "before it hangs", "15 s after rank 1 had failed", "in hang")

    def test_a_rank_that_hangs_is_named_with_its_place(self):
        result = self.expect("test_one_hangs", "failed", "rank 1: hung: no result within 20 s", "in hang")
        self.assertNotIn("rank 0", result["why"])


class AdaptedTest(unittest.TestCase):
    """Of the imports in a copy."""

    def copy(self, unchanged):
        with tempfile.TemporaryDirectory() as checkout, tempfile.TemporaryDirectory() as folder:
            checkout, folder = pathlib.Path(checkout), pathlib.Path(folder)
            for name, text in {"test/parallel/test_x.py": "import horovod.torch as h\n  from horovod.common import y\n",
                               "examples/pytorch/x.py": "import horovod\n  from horovod.torch.mpi_ops import rank\n",
                               "horovod/__init__.py": "__version__ = '1.2.3'\n", "horovod/common/util.py": "",
                               "horovod/common/x.cc": "", "horovod/runner/launch.py": "",
                               "horovod/torch/__init__.py": ""}.items():
                (checkout / name).parent.mkdir(parents=True, exist_ok=True)
                (checkout / name).write_text(text, encoding="utf-8")
            self.assertEqual(adapted.copy(checkout, folder, unchanged), "1.2.3")
            return {str(path.relative_to(folder)): path.read_text(encoding="utf-8")
                    for path in folder.rglob("*") if path.is_file()}

    def test_only_the_import_is_another(self):
        files = self.copy(unchanged=False)
        self.assertEqual(files["test/parallel/test_x.py"],
                         "import tony.collective.torch as h\n  from horovod.common import y\n")
        self.assertEqual(files["examples/pytorch/x.py"],
                         "import tony.collective as horovod\n  from tony.collective.torch.mpi_ops import rank\n")
        self.assertEqual({name for name in files if name.startswith("horovod/")},
                         {"horovod/__init__.py", "horovod/common/util.py", "horovod/runner/launch.py"})

    def test_unchanged(self):
        files = self.copy(unchanged=True)
        self.assertIn("import horovod.torch as h", files["test/parallel/test_x.py"])
        self.assertFalse([name for name in files if name.startswith("horovod/")])

    def test_another_folder(self):
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(adapted.SourceError, "test/parallel"):
            adapted.copy(empty, empty)


class KnownTest(unittest.TestCase):
    """Of the list."""

    def test_entries(self):
        known = Known(["# a comment", "", "file::test_a 3 horovod why it is", "file::test_b* * timing chance"])
        self.assertIsNone(known.find("file::test_a", 2))
        self.assertEqual(known.find("file::test_a", 3).why, "why it is")
        self.assertFalse(known.find("file::test_bcd", 2).always)

    def test_the_list_is_one(self):
        self.assertTrue(Known().entries)
        for line in ("file::test_a 3 horovod", "file::test_a x horovod why", "file::test_a 3 whatever why"):
            with self.assertRaisesRegex(ValueError, "TEST RANKS KIND WHY"):
                Known([line])


if __name__ == "__main__":
    unittest.main()
