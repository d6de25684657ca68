"""Checks of the provider that need Airflow's classes, and no Airflow that runs: for airflow_test.py, with each version."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from tony.airflow import TonyHook, TonyOperator
from tony.airflow._client import StepClient, step_key
from tony.airflow._compat import AirflowException, AirflowFailException

programs = pathlib.Path(sys.argv.pop(1))  # pylint: disable=invalid-name


class Task:
    """The part of a task instance that the operator uses."""

    dag_id, task_id, run_id, map_index = "dag", "train", "run", -1
    stats_tags = {}

    def __init__(self):
        self.pushed = {}

    def xcom_push(self, key, value):
        """Keeps the value."""
        self.pushed[key] = value


class OperatorTest(unittest.TestCase):
    """Runs of the operator with the real tony-submit."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tony-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "home").mkdir()
        (self.folder / "home/bin").symlink_to(programs)
        self.connect(home=str(self.folder / "home"),
                     conf={"tony.local.dir": str(self.folder / "local"), "tony.local.ledger": "private"})
        self.task = Task()

    def connect(self, extra=None, **members):
        """Sets the default connection."""
        extra = members if extra is None else extra
        os.environ["AIRFLOW_CONN_TONY_DEFAULT"] = json.dumps({"conn_type": "tony", "extra": extra})

    def execute(self, **options):
        """Executes a task with one worker."""
        conf = {"tony.worker.instances": 1, "tony.worker.memory": "64m", **options.pop("conf", {})}
        return TonyOperator(task_id="train", conf=conf, deferrable=False, **options).execute({"ti": self.task})

    def test_the_result_is_the_summary(self):
        summary = self.execute(command="exit 0", env={"A": "b c"})
        self.assertEqual((summary["verdict"], summary["step_key"]), ("SUCCEEDED", "airflow|dag|train|run|-1"))
        self.assertEqual(self.task.pushed, {"tony_page": summary["page"], "tony_tensorboard": ""})

    def test_a_failure_may_be_retried(self):
        with self.assertRaisesRegex(AirflowException, "worker:0 exited with code 3") as caught:
            self.execute(command="exit 3")
        self.assertNotIsInstance(caught.exception, AirflowFailException)

    def test_a_bad_job_is_not_retried(self):
        for options in ({"conf": {"tony.worker.instnces": 1}}, {"job": "/no/such/job.xml"},
                        {"conf": {"tony.worker.memory": "900000g"}}):
            with self.subTest(options), self.assertRaises(AirflowFailException):
                self.execute(command="true", **options)

    def test_a_job_of_an_earlier_attempt(self):
        ready, gate = self.folder / "ready", self.folder / "gate"
        os.mkfifo(ready)
        os.mkfifo(gate)
        hook = TonyHook()
        words = hook.step_command(
            step_key("dag", "train", "run", -1), "adopt",
            ["--executes", f"echo > {ready}; read < {gate}", "--conf", "tony.worker.instances=1",
             "--conf", "tony.worker.memory=64m"])
        with subprocess.Popen(words, env=hook.environment, stdout=subprocess.DEVNULL) as earlier:
            self.addCleanup(earlier.kill)
            ready.read_text()
            with self.assertRaisesRegex(AirflowFailException, "the step has a job that runs"):
                self.execute(command="true", on_existing="fail")
            self.assertEqual(self.execute(command="true", on_existing="stop")["verdict"], "SUCCEEDED")
            self.assertEqual(earlier.wait(60), 4)

    def test_bad_arguments(self):
        for name in ("on_existing", "on_kill_action"):
            with self.assertRaisesRegex(ValueError, f"{name} must be one of .*, not 'no'"):
                TonyOperator(task_id="train", **{name: "no"})

    def test_bad_connections(self):
        for extra, message in (({"home": 1}, "home must be of the type str, not 1"),
                               ({"hom": "/"}, "unknown member 'hom'; known are home, backend"),
                               ({"home": "/nowhere"}, "there is no tony-submit in /nowhere/bin")):
            self.connect(extra)
            with self.subTest(message), self.assertRaisesRegex(AirflowException, message):
                self.execute(command="true")
        ok, message = TonyHook().test_connection()
        self.assertEqual((ok, "there is no tony-submit" in message), (False, True))

    def test_the_connection_is_tested(self):
        ok, message = TonyHook().test_connection()
        self.assertTrue(ok, message)
        self.assertRegex(message, r"\d+\.\d+")


class ClientTest(unittest.TestCase):
    """The child process."""

    def run_client(self, program, until=lambda: False):
        """Follows a Python program, whose last argument is the file of the summary."""
        lines, summaries = [], []
        client = StepClient([sys.executable, "-c", program], os.environ, lines.append, summaries.append)
        self.addCleanup(client.close)
        client.start()
        return client, client.follow(until), lines, summaries

    def test_a_summary_that_is_written_in_two_pieces(self):
        program = (
            "import sys, time\n"
            "for text in ('{\"application_', 'id\": \"a\"}'):\n"
            "    open(sys.argv[-1], 'a').write(text); print('wrote', flush=True)\n"
            "    sys.stdin.read(); time.sleep(0.5)\n"
        )
        client, code, lines, summaries = self.run_client(program)
        self.assertEqual((code, lines, summaries), (0, ["wrote", "wrote"], [{"application_id": "a"}]))
        self.assertEqual(client.application_id, "a")

    def test_output_that_is_no_text(self):
        _, code, lines, _ = self.run_client(
            "import os; os.write(1, b'\\xff\\xc3'); os.write(1, b'\\xa4\\r\\n\\nlast'); os._exit(7)")
        self.assertEqual((code, lines), (7, ["\ufffdä", "last"]))

    def test_a_grandchild_that_keeps_the_pipe(self):
        _, code, lines, _ = self.run_client(
            "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True)")
        os.kill(int(lines[0]), signal.SIGKILL)
        self.assertEqual(code, 0)

    def test_a_child_that_does_not_stop(self):
        program = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
        client, code, _, _ = self.started(program)
        self.assertIsNone(code)
        client.leave()
        self.assertEqual(client.follow(), -signal.SIGKILL)

    def started(self, program):
        """A client that was told to stop once its program has printed a line."""
        lines = []
        client = StepClient([sys.executable, "-c", program], os.environ, lines.append, lambda summary: None)
        self.addCleanup(client.close)
        client.start()
        client.follow(until=lambda: bool(lines))
        client.stop()
        return client, client.follow(), lines, []

    def test_keys(self):
        self.assertEqual(step_key("a|b", "c%7C", "d", 3), "airflow|a%7Cb|c%257C|d|3")


if __name__ == "__main__":
    unittest.main()
