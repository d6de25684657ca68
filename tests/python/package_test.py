#!/usr/bin/env python3
"""The package `tony` without any program: descriptions, command lines, answers, and the rank's end of a call."""

import json
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import tony
from tony import _call, _programs, _wire, errors, records, worker

PACKAGE = pathlib.Path(tony.__file__).parent
# Modules that `import tony` must not bring: each costs milliseconds in every task.
HEAVY = ("json", "subprocess", "asyncio", "tempfile", "pickle", "tony.errors", "tony.records", "tony.collective")
VERDICT = {"outcome": "FAILED", "reason": "TASK_FAILED", "sentence": "worker:1 exited with code 3", "guilty": "worker:1",
           "exit": {"description": "exited with code 3", "code": 3, "signal": None, "tail": ["a", "b"]}, "exit_code": 1}


def add(left, right=0):
    """A function that can be pickled by name."""
    return left + right


def refuse(*_arguments):
    """Raises what can be pickled."""
    raise ValueError("no such city: Ulm")


# Functions of a module, also when this file is the program.
sys.modules["package_functions"] = sys.modules[__name__]
for _function in (add, refuse):
    _function.__module__ = "package_functions"


class ImportTest(unittest.TestCase):
    """What `import tony` does."""

    def run_python(self, program):
        """Runs a program with this package; returns what it prints."""
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
        return subprocess.run([sys.executable, "-B", "-c", program], env=environment, capture_output=True, text=True,
                              timeout=60, check=True).stdout

    def test_it_imports_nothing_else(self):
        loaded = json.loads(self.run_python(
            "import sys; before = set(sys.modules); import tony; new = set(sys.modules) - before\n"
            "import json; print(json.dumps(sorted(new)))"))
        self.assertEqual([name for name in loaded if name in HEAVY], [])

    def test_each_public_name_is_found(self):
        for name in tony.__all__:
            self.assertIsNotNone(getattr(tony, name))
        self.assertIn("submit", dir(tony))
        with self.assertRaisesRegex(AttributeError, "no attribute 'sbumit'"):
            getattr(tony, "sbumit")

    def test_the_package_is_typed(self):
        self.assertTrue((PACKAGE / "py.typed").exists())


class DescriptionTest(unittest.TestCase):
    """JobSpec and what becomes of a job's parts."""

    def submission(self, job, **options):
        """What submit() would run."""
        given = {"conf": None, "src_dir": None, "env": None, "backend": None, "detach": False, "step_key": None,
                 "on_existing": None, "home": None, **options}
        with mock.patch.object(_programs, "find_programs", return_value="/p"):
            return _wire.submission(job, **given)

    def test_keys_of_a_description(self):
        spec = tony.JobSpec(command="python3 train.py", framework="pytorch", name="mnist", src_dir=pathlib.Path("src"),
                            env={"A": "1,2", "B": 3}, conf={"tony.application.timeout": 60000},
                            worker=tony.Type(2, memory="2g", gpus=1, depends_on="prep"),
                            prep=tony.Type(command="true", env={"C": ""}))
        self.assertEqual(spec.keys(), {
            "tony.containers.command": "python3 train.py", "tony.application.framework": "pytorch",
            "tony.application.name": "mnist", "tony.application.src-dir": "src",
            "tony.execution.envs": ["A=1,2", "B=3"], "tony.application.timeout": 60000,
            "tony.worker.instances": 2, "tony.worker.memory": "2g", "tony.worker.gpus": 1,
            "tony.worker.depends-on": "prep",
            "tony.prep.instances": 1, "tony.prep.command": "true", "tony.prep.env": ["C="]})

    def test_a_wrong_type_is_refused_at_once(self):
        with self.assertRaisesRegex(TypeError, r"worker=2 is no type of tasks; write worker=tony\.Type"):
            tony.JobSpec(command="true", worker=2)

    def test_submission(self):
        request = self.submission({"tony.execution.envs": ["A=1"]}, env={"B": "x y"}, conf={"tony.worker.gpus": 0},
                                  src_dir="src")
        self.assertEqual(json.loads(request.keys), {
            "tony.execution.envs": ["A=1", "B=x y"], "tony.application.src-dir": "src", "tony.worker.gpus": 0})
        self.assertEqual(request.command, ["/p/tony-submit", "--json", "--quiet", "--keys", "-", "--stop-with",
                                           str(os.getpid())])
        request = self.submission(pathlib.Path("job.xml"), backend="yarn", detach=True, step_key="a|b")
        self.assertEqual(request.command[5:], ["--conf_file", "job.xml", "--backend", "yarn", "--step-key", "a|b",
                                               "--detach"])
        with self.assertRaisesRegex(TypeError, "a job is the path .* not int"):
            self.submission(3)

    def test_where_the_job_is_found(self):
        request = self.submission({}, conf={"tony.local.dir": "here", "tony.worker.memory": "1g"})
        submitted = _wire.submitted_from(request, {"job_id": "j", "backend": "local", "local_dir": "/abs/here"})
        self.assertEqual(submitted.where.verb("status", "j"), [
            "/p/tony", "status", "j", "--json", "--conf", "tony.local.dir=here", "--backend", "local"])
        submitted = _wire.submitted_from(self.submission({}), {
            "job_id": "j", "backend": "local", "local_dir": "/x"})
        self.assertEqual(submitted.where.options, ("--backend", "local", "--conf", "tony.local.dir=/x"))


class AnswerTest(unittest.TestCase):
    """The programs' answers and the exceptions that they become."""

    def setUp(self):
        self.request = _wire.Submission([], b"", _wire.Where("/p"), "job.xml")

    def refusal(self, answer, code, text):
        """The exception of a refused submission."""
        with self.assertRaises(errors.TonyError) as raised:
            _wire.raise_refusal(self.request, answer, code, text)
        return raised.exception

    def test_problems(self):
        problem = {"file": "--keys", "line": 0, "key": "tony.worker.gpus", "message": "-1 is negative",
                   "remedy": "write 0 or more"}
        error = self.refusal({"problems": [problem, {**problem, "file": "job.xml", "line": 3}]}, 2, "text")
        self.assertIsInstance(error, tony.BadJob)
        self.assertEqual(str(error).splitlines(), [
            "job.xml cannot run:", "  tony.worker.gpus: -1 is negative; write 0 or more",
            "  job.xml:3: tony.worker.gpus: -1 is negative; write 0 or more"])
        self.assertEqual(error.problems[0].file, None)

    def test_other_refusals(self):
        for code, kind in ((2, tony.BadJob), (3, tony.InfrastructureError), (4, tony.Killed), (5, tony.NeverFits)):
            error = self.refusal(None, code, "tony-submit: why\n")
            self.assertIs(type(error), kind)
            self.assertEqual(str(error), "tony-submit: why")

    def test_verdicts(self):
        verdict = _wire.end_from("j", {"verdict": VERDICT}, 1, "")
        with self.assertRaises(tony.JobFailed) as raised:
            _wire.check("j", verdict)
        error = raised.exception
        self.assertEqual((error.job_id, error.reason, error.guilty, error.exit_code, error.tail),
                         ("j", "TASK_FAILED", "worker:1", 3, ("a", "b")))
        self.assertEqual(str(error).splitlines(), [
            "job j: FAILED (TASK_FAILED): worker:1 exited with code 3", "the last lines of worker:1:", "  | a", "  | b"])
        good = _wire.end_from("j", {"verdict": {**VERDICT, "outcome": "SUCCEEDED", "exit": None, "exit_code": 0}}, 0, "")
        self.assertIs(_wire.check("j", good), good)
        with self.assertRaisesRegex(tony.InfrastructureError, "job j has no verdict: it was lost"):
            _wire.end_from("j", {"verdict": None, "sentence": "it was lost"}, 3, "")

    def test_other_versions(self):
        with self.assertRaisesRegex(tony.TonyError, "JSON of version 2, and this package reads 1; update"):
            _wire.object_from(b'{"version": 2}', "tony status")
        with self.assertRaisesRegex(tony.TonyError, "printed no JSON but b'hello'"):
            _wire.object_from(b"hello", "tony status")

    def test_events(self):
        event = records.event_from({"sequence": "7", "unix_millis": "1500", "task_changed": {"state": "RUNNING"}})
        self.assertEqual(event, tony.Event(7, 1.5, "task_changed", {"state": "RUNNING"}))
        self.assertEqual(records.event_from({"unix_millis": "1500", "task_measured": {}}).sequence, None)

    def test_programs_of_another_installation(self):
        with tempfile.TemporaryDirectory(prefix="tony-test-") as folder:
            programs = pathlib.Path(folder) / "bin"
            programs.mkdir()
            for name in ("tony", "tony-submit"):
                (programs / name).write_text("")
                (programs / name).chmod(0o700)
            self.assertEqual(_programs.find_programs(folder), str(programs))
            with mock.patch.dict(os.environ, {"TONY_HOME": folder}):
                self.assertEqual(_programs.find_programs(), str(programs))

    def test_programs_that_are_not_there(self):
        with mock.patch.dict(os.environ, {"TONY_HOME": "/nowhere"}):
            with self.assertRaisesRegex(tony.ProgramsNotFound, "no tony-submit in /nowhere/bin; let TONY_HOME"):
                _programs.find_programs()
        with mock.patch.object(_programs, "_beside", return_value=["/a"]), mock.patch.dict(os.environ, {"PATH": "/b"}):
            with self.assertRaisesRegex(tony.ProgramsNotFound, "not installed: .* in /a or in PATH; install the wheel"):
                _programs.find_programs()


class WorkerTest(unittest.TestCase):
    """The rank's end of a call, in this process."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tony-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.call = str(self.folder / "call")
        self.stderr = mock.patch("sys.stderr").start()
        self.addCleanup(mock.patch.stopall)

    def make(self, function, *args, cloudpickle=None, rank=0, **kwargs):
        """Writes the call and makes it; returns the exit status."""
        with mock.patch.object(worker, "find_cloudpickle", return_value=cloudpickle):
            _call.write_call(self.call, function, args, kwargs)
        return worker.make_call(self.call, str(self.folder), rank)

    def error(self, rank=0):
        """What the rank has told."""
        return json.loads((self.folder / f"{rank}.error").read_text())

    def test_a_value(self):
        self.assertEqual(self.make(add, 1, rank=3, right=2), 0)
        self.assertEqual(pickle.loads((self.folder / "3.value").read_bytes()), 3)
        self.assertEqual([path.name for path in self.folder.glob("*.part")], [])

    def test_an_exception(self):
        self.assertEqual(self.make(refuse, 1), 1)
        told = self.error()
        self.assertEqual((told["type"], told["message"], told["worker"]), ("ValueError", "no such city: Ulm", False))
        self.assertIn("in refuse\n", told["traceback"])
        self.assertNotIn("worker.py", told["traceback"])

    def test_exits(self):
        self.assertEqual(self.make(sys.exit), 0)
        self.assertEqual(self.make(sys.exit, 4), 1)
        self.assertEqual(self.error()["type"], "SystemExit")

    def test_a_result_that_cannot_be_pickled(self):
        self.assertEqual(self.make(open, self.call), 1)
        self.assertRegex(self.error()["message"], "what open returned in rank 0 cannot be pickled: .*; return plain")

    def test_another_python(self):
        _call.write_call(self.call, add, (1,), {})
        header, _, rest = pathlib.Path(self.call).read_bytes().partition(b"\n")
        changed = {**json.loads(header), "python": [3, 1], "by_value": True}
        pathlib.Path(self.call).write_bytes(json.dumps(changed).encode() + b"\n" + rest)
        self.assertEqual(worker.make_call(self.call, str(self.folder), 0), 1)
        self.assertRegex(self.error()["message"], r"pickled by Python 3\.1, and the tasks run it with Python 3\.\d+ \(")

    def test_a_module_that_the_rank_lacks(self):
        with open(self.call, "wb") as file:
            file.write(json.dumps({"python": list(sys.version_info[:2]), "by_value": False, "name": "f",
                                   "path": []}).encode() + b"\n")
            file.write(b"cno_such_module\nf\n(tR.")
        self.assertEqual(worker.make_call(self.call, str(self.folder), 0), 1)
        self.assertIn("cannot import what f needs: No module named 'no_such_module'", self.error()["message"])

    def test_no_room_for_the_result(self):
        if os.geteuid() == 0 and not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        (self.folder / "0.value.part").symlink_to("/dev/full")
        self.assertEqual(self.make(add, b"x" * 100000, b""), 1)
        self.assertIn("cannot be written to", self.error()["message"])

    def test_what_cannot_be_pickled_is_named(self):
        with tempfile.TemporaryFile() as file:
            with self.assertRaisesRegex(tony.CannotPickle, "argument 1 of add cannot be pickled: .*make them in the"):
                self.make(add, 1, file)
            with self.assertRaisesRegex(tony.CannotPickle, "argument right= of add cannot be pickled"):
                self.make(add, 1, right=file)
        with self.assertRaisesRegex(tony.CannotPickle, "the function .*lambda.* cannot be pickled: .*or install cloud"):
            function = lambda: 1  # pylint: disable=unnecessary-lambda-assignment
            function.__module__ = "package_functions"
            self.make(function)

    def test_a_function_of_the_program_itself(self):
        with mock.patch.object(add, "__module__", "__main__"):
            with self.assertRaisesRegex(tony.CannotPickle, "add is defined in the program itself, .*install cloudpickle"):
                self.make(add, 1)

    def test_by_value(self):
        try:
            import cloudpickle  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("there is no cloudpickle (python3-cloudpickle)")
        self.assertEqual(self.make(lambda: add(1, 1), cloudpickle=cloudpickle), 0)
        self.assertEqual(pickle.loads((self.folder / "0.value").read_bytes()), 2)


class PreparedCallTest(unittest.TestCase):
    """The caller's end of a call."""

    def prepare(self, **changed):
        """A call of add(1)."""
        given = {name: None for name in _call.Request._fields}
        return _call.PreparedCall(add, (1,), {}, _call.Request(**{**given, "workers": 2, **changed}))

    def test_its_folder_is_private_and_goes_with_it(self):
        prepared = self.prepare()
        folder = pathlib.Path(prepared.folder)
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        keys = prepared.spec().keys()
        self.assertEqual(keys["tony.worker.instances"], 2)
        self.assertTrue(keys["tony.containers.command"].startswith(f"exec {sys.executable} tony_worker.py"))
        self.assertEqual(keys["tony.application.name"], "add")
        del prepared
        self.assertFalse(folder.exists())

    def test_images_see_the_results(self):
        prepared = self.prepare(conf={"tony.docker.enabled": True, "tony.docker.containers.mount": "/a:/a:ro"})
        self.assertEqual(prepared.spec().keys()["tony.docker.containers.mount"],
                         ["/a:/a:ro", f"{prepared.results}:{prepared.results}:rw"])

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "workers=0: a function runs in one rank or more"):
            self.prepare(workers=0)
        with self.assertRaisesRegex(ValueError, "results of other hosts need results_dir="):
            self.prepare(backend="yarn")

    def test_a_rank_without_a_result(self):
        verdict = records.verdict_from({**VERDICT, "outcome": "SUCCEEDED"})
        with self.assertRaisesRegex(tony.TonyError, r"add left no result of rank 0: it ended .* os\._exit\(\)"):
            self.prepare().collect("j", verdict)

    def test_the_guilty_ranks_exception_is_raised(self):
        prepared = self.prepare()
        for rank, error in ((0, OSError("lost peer")), (1, ValueError("bad"))):
            worker.write_error(prepared.results, rank, error, False, [f"Traceback of {rank}\n"])
        with self.assertRaisesRegex(ValueError, "^bad$") as raised:
            prepared.collect("j", records.verdict_from(VERDICT))
        cause = raised.exception.__cause__
        self.assertIsInstance(cause, tony.RankFailed)
        self.assertEqual((cause.rank, cause.traceback, cause.guilty), (1, "Traceback of 1\n", "worker:1"))
        self.assertIn("Traceback of 1", str(cause))

    def test_a_failure_that_no_rank_told(self):
        with self.assertRaisesRegex(tony.JobFailed, "worker:1 exited with code 3") as raised:
            self.prepare().collect("j", records.verdict_from(VERDICT))
        self.assertNotIsInstance(raised.exception, tony.RankFailed)


if __name__ == "__main__":
    unittest.main()
