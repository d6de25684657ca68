#!/usr/bin/env python3
"""The words in which jobs tell what they show, why they began again, and where they failed."""

import itertools
import os
import pathlib
import signal
import tempfile

import integration_case  # first: it finds what tests share
from integration_case import SMALL, JobTest

# Listens at TB_PORT from one line of the first pipe to the next, and ends after a third.
SHOW = (
    "import os, socket, sys\n"
    "def wait(): open(sys.argv[1]).readline()\n"
    "def say(): print('done', file=open(sys.argv[2], 'w'), flush=True)\n"
    "wait()\n"
    "server = socket.create_server(('127.0.0.1', int(os.environ['TB_PORT'])))\n"
    "say()\n"
    "wait()\n"
    "server.close()\n"
    "say()\n"
    "wait()\n"
)


class VisualizationTest(JobTest):
    """Visualization is shown only while something listens."""

    def start_show(self, *arguments):
        """A job that listens at TB_PORT when told to, with the pipes to it and from it."""
        (self.site.folder / "show.py").write_text(SHOW)
        order, answer = self.pipe("order"), self.pipe("answer")
        job = self.submit(
            f"python3 {self.site.folder}/show.py {order.path} {answer.path}",
            *("--conf", "tony.task.heartbeat-interval-ms=100", "--conf", "tony.worker.memory=128m"),
            *arguments)
        job.wait_until_running("worker:0")
        return job, order, answer

    def shown(self):
        """What `tony status` shows: as text, which must agree, and as JSON."""
        url = self.site.verb("status")["visualization"]
        text = self.site.run("tony", "status").stdout
        if url:
            self.assertIn(f"Visualization: {url} (worker:0)\n", text)
        else:
            self.assertNotIn("Visualization", text)
        return url

    def test_it_is_told_and_withdrawn(self):
        job, order, answer = self.start_show()
        self.assertIsNone(self.shown())
        result = self.site.run("tony", "open", "--tensorboard")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (
            1, "", "tony: nothing listens at TB_PORT of worker:0; "
                   "start TensorBoard there or give --sidecar_tensorboard_log_dir\n"))

        order.write()
        answer.read()
        url = job.wait_for_visualization()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+$")
        self.assertEqual(self.shown(), url)

        order.write()
        answer.read()
        job.wait_for(
            lambda events: any(event.get("visualization_ready") and
                               not event["visualization_ready"].get("url") for event in events),
            "end of the visualization")
        self.assertIsNone(self.shown())
        order.write()
        self.assert_succeeds(job)
        self.assertEqual(len(job.events("visualization_ready")), 2)

    def test_it_ends_with_the_task(self):
        job, order, answer = self.start_show()
        order.write()
        answer.read()
        job.wait_for_visualization()
        # Both: the program stops listening and ends, or is seen to end first.
        order.write()
        answer.read()
        order.write()
        self.assert_succeeds(job)
        self.assertIsNone(self.shown())

    def test_a_program_that_never_listens_is_never_shown(self):
        result = self.site.run(
            *("tony-submit", "--executes", "true", "--conf", "tony.worker.instances=1"),
            *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("Visualization", result.stdout)

    def test_a_sidecar_that_does_not_listen_yet_is_named(self):
        line = self.pipe("line")
        job = self.submit(
            f"read word < {line.path}", "--sidecar_tensorboard_log_dir", self.site.folder / "summaries",
            *("--conf", "tony.tensorboard.command=exec sleep 600", "--conf", "tony.tensorboard.memory=64m"))
        job.wait_until_running("worker:0", "tensorboard:0")
        result = self.site.run("tony", "open", "--tensorboard")
        self.assertEqual((result.returncode, result.stderr), (
            1, f"tony: nothing listens at TB_PORT of tensorboard:0 yet; tony logs {job.id} tensorboard "
               "shows what it does\n"))
        line.write()
        self.assert_succeeds(job)


class AttemptsTest(JobTest):
    """A job that begins again says so in words that do not mean something else in this trade."""

    PROGRAM = (
        "import os\n"
        "if os.environ['TONY_ATTEMPT'] == '1' and os.environ['TASK_INDEX'] == '1':\n"
        "    raise RuntimeError('bad batch 17')\n"
    )

    def run_twice(self, *arguments):
        """Runs the program, whose worker:1 fails once; returns all that tony-submit says."""
        source = self.site.folder / "src"
        source.mkdir()
        (source / "train.py").write_text(self.PROGRAM)
        result = self.site.run(
            "tony-submit", *arguments, "--src_dir=src", "--executes", "python3 train.py",
            *("--conf", "tony.worker.instances=2", "--conf", "tony.am.retry-count=2"), *SMALL)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_a_restart_is_another_attempt(self):
        told = self.run_twice()
        self.assertIn("Attempt 2 of 3 begins: worker:1 exited with code 1\n", told)
        self.assertNotIn("poch", told)

        text = self.site.run("tony", "status").stdout
        self.assertRegex(text, r"^\S+ \(\S+\)  SUCCEEDED  attempt 2  ")
        self.assertRegex(
            text, r"\nattempt 1, [\d.<]+s: worker:1 exited with code 1, RuntimeError: bad batch 17\n")
        self.assertNotIn("poch", text)
        status = self.site.verb("status")
        self.assertEqual(status["attempt"], 2)
        (attempt,) = status["attempts"]
        self.assertEqual(
            [attempt[key] for key in ("attempt", "cause", "guilty", "error")],
            [1, "worker:1 exited with code 1", "worker:1", "RuntimeError: bad batch 17"])
        self.assertLessEqual(attempt["began_millis"], attempt["ended_millis"])

    def test_it_is_said_beside_the_output_too(self):
        told = self.run_twice("--logs")
        self.assertIn("tony: Attempt 2 of 3 begins: worker:1 exited with code 1\n", told)

    def test_a_loss_says_how_many_containers_may_still_be_replaced(self):
        line = self.pipe("line")
        job = self.submit(f"read word < {line.path}", "--conf", "tony.am.infrastructure-retry-count=1")
        os.kill(self.executor_of(job, "worker:0"), signal.SIGKILL)
        job.wait_until_running("worker:0", epoch=1)
        (opened,) = job.events("epoch_opened")
        self.assertTrue(opened["lost"])
        text = self.site.run("tony", "status").stdout
        self.assertRegex(text, r"\nattempt 1, \S+: worker:0 was lost: ")
        # The record, as a follower prints it that comes late.
        attached = self.site.start(self, "tony", "attach", job.id)
        (told,) = itertools.islice(
            (said for said in attached.stdout if said.startswith("Attempt 2")), 1)
        self.assertRegex(
            told, r"^Attempt 2 begins: worker:0 was lost: .*; no lost container may be replaced any more\n$")
        line.write()
        attached.communicate()
        self.assert_succeeds(job)


class SourcePathsTest(JobTest):
    """Tracebacks lead to the files that the user has."""

    def run_to_failure(self, source, *arguments):
        """Runs exc.py of the folder `source`, which fails two calls deep; returns what was said."""
        (source / "lib").mkdir(parents=True)
        (source / "exc.py").write_text("from lib.model import step\nstep()\n")
        (source / "lib/model.py").write_text("def step():\n    raise ValueError(42)\n")
        result = self.site.run(
            *("tony-submit", "--quiet", "--src_dir", source, "--executes", "python3 exc.py"),
            *("--conf", "tony.worker.instances=1", *SMALL, *arguments))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        return result.stdout

    def test_they_are_named_from_the_users_folder(self):
        told = self.run_to_failure(self.site.folder / "src")
        traceback = (
            "Traceback (most recent call last):\n",
            '  File "src/exc.py:2", in <module>\n',
            "    step()\n",
            '  File "src/lib/model.py:2", in step\n',
            "    raise ValueError(42)\n",
            "ValueError: 42\n",
        )
        self.assertIn("".join("  | " + line for line in traceback), told)
        self.assertIn("".join("  | " + line for line in traceback),
                      self.site.run("tony", "status").stdout)
        self.assertIn("".join("  > " + line for line in traceback),
                      self.site.run("tony", "logs", "--first-error").stdout)
        # Logs are the program's own.
        self.assertRegex(self.site.run("tony", "logs", "--stderr").stdout,
                         r'  File "/\S+/containers/\S+/exc.py", line 2, in <module>\n')

    def test_elsewhere_the_path_is_absolute(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "my program"
            self.assertIn(f'File "{source}/exc.py:2", in <module>\n', self.run_to_failure(source))
        # The folder is gone, so its files have their names in the program.
        self.assertIn('File "lib/model.py:2", in step\n', self.site.run("tony", "status").stdout)


class MainTest(JobTest):
    """The program of a job of one program is called main:0."""

    def test_it_is_called_main_everywhere(self):
        result = self.site.run(
            "tony-submit", "--executes", "echo hello; exit 3", "--conf", "tony.am.memory=64m")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        job = self.site.job_folder().name
        self.assertIn(f"Job {job} ", result.stdout)
        self.assertIn("): 1 main\n", result.stdout)
        self.assertIn("FAILED: main [0]\n", result.stdout)
        self.assertIn(
            "FAILED (TASK_FAILED): main:0 exited with code 3\n"
            "Last lines of main:0:\n"
            "  | hello\n"
            f"All output: tony logs {job} main:0\n", result.stdout)
        self.assertNotIn("am:0", result.stdout)
        status = self.site.verb("status")
        self.assertEqual([task["task"] for task in status["tasks"]], ["main:0"])
        self.assertEqual(status["verdict"]["guilty"], "main:0")
        self.assertRegex(self.site.run("tony", "status").stdout, r"\nmain:0  FAILED ")
        for wish in ("main:0", "am:0", "main-0", "am-0"):
            self.assertEqual(self.site.run("tony", "logs", job, wish).stdout, "hello\n", wish)
        self.assertEqual(self.site.run("tony", "logs", job, "main").stdout, "main:0 | hello\n")
        self.assertIn("job is RUNNING", self.site.run("tony", "logs", job, "am").stdout)
        wrong = self.site.run("tony", "logs", job, "worker:0")
        self.assertEqual((wrong.returncode, wrong.stderr), (
            1, f"tony: no task 'worker:0' in job {job}; its tasks: main:0, am\n"))

    def test_its_task_is_named_where_a_task_is_an_argument(self):
        job = self.site.submit(
            "--executes", 'exec python3 -m http.server "$TB_PORT" --bind 127.0.0.1',
            "--conf", "tony.am.memory=128m")
        job.wait_for_visualization()
        (event, *_) = job.events("visualization_ready")
        self.assertEqual(event["task"]["type"], "am")  # events keep the name
        self.assertIn(" (main:0)\n", self.site.run("tony", "status").stdout)
        for wish in ("main:0", "am:0"):
            opened = self.site.start(self, "tony", "open", job.id, "--task", wish)
            self.assertRegex(opened.stdout.readline(), r"^http://127\.0\.0\.1:\d+/\n$")
        self.site.verb("kill", job.id)
        self.assert_ends(job, 4)


if __name__ == "__main__":
    integration_case.main()
