#!/usr/bin/env python3
"""What users see in their first hour, when something goes wrong: the whole text, as they read it."""

import os
import re
import signal

import integration_case  # first: it finds what tests share
from integration_case import SMALL, JobTest

# pylint: disable=wrong-import-order
import horovod_job
import machine

# Rank 1 dies without a word of its own; rank 0 notices, and complains loudly.
CRASH = (
    "import os, signal, sys\n"
    "def complain():\n"
    "    raise RuntimeError('Connection closed by peer')\n"
    "\n"
    "if os.environ['TASK_INDEX'] == '1':\n"
    "    print('step 1', flush=True)\n"
    "    open(sys.argv[1]).readline()\n"
    "    os.kill(os.getpid(), signal.SIGSEGV)\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    "print('ready', file=open(sys.argv[1], 'w'), flush=True)\n"
    "signal.sigwait([signal.SIGTERM])\n"
    "complain()\n"
)


class FirstHourTest(JobTest):
    """Failures that are easy to misunderstand."""

    def run_to_failure(self, program, *arguments, workers=2, task_params=""):
        """Runs train.py, which must fail; returns what `tony-submit --quiet` says."""
        source = self.site.folder / "src"
        source.mkdir()
        (source / "train.py").write_text(program)
        result = self.site.run(
            *("tony-submit", "--quiet", "--src_dir=src"),
            *("--executes", f"python3 train.py {task_params}".strip()),
            *("--conf", f"tony.worker.instances={workers}", *SMALL, *arguments),
        )
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        return result.stdout

    def first_error(self, *arguments):
        """What `tony logs --first-error` says, without what differs each time."""
        result = self.site.run("tony", "logs", "--first-error", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return re.sub(r", at \d{4}-\d\d-\d\d [\d:.]+:\n", ":\n", result.stdout)

    def test_a_task_that_dies_silently_is_named_before_its_victims(self):
        barrier = self.pipe("barrier")
        told = self.run_to_failure(
            CRASH, *("--conf", "tony.task.python-faulthandler=false"), task_params=barrier.path)
        job = self.site.job_folder().name
        self.assertEqual(told, (
            "FAILED (TASK_FAILED): worker:1 was killed by signal 11 (SIGSEGV)\n"
            "Last lines of worker:1:\n"
            "  | step 1\n"
            f"All output: tony logs {job} worker:1\n"))
        text = self.first_error()
        begin = (
            "worker:1 was killed by signal 11 (SIGSEGV), and printed no error; its last lines:\n"
            "  | step 1\n")
        self.assertEqual(text[: len(begin)], begin)
        self.assertEqual(text[len(begin):], (
            "What others printed after that:\n"
            "worker:0, attempt 1, stderr, line 1:\n"
            "  > Traceback (most recent call last):\n"
            '  >   File "src/train.py:12", in <module>\n'
            "  >     complain()\n"
            '  >   File "src/train.py:3", in complain\n'
            "  >     raise RuntimeError('Connection closed by peer')\n"
            "  > RuntimeError: Connection closed by peer\n"))

    def test_python_shows_where_a_signal_killed_it(self):
        told = self.run_to_failure(
            "import os, signal\n"
            "def step():\n"
            "    os.kill(os.getpid(), signal.SIGSEGV)\n"
            "step()\n", workers=1)
        self.assertIn("  | Fatal Python error: Segmentation fault\n", told)
        text = re.sub("0x[0-9a-f]+", "0x…", self.first_error())
        self.assertEqual(text, (
            "worker:0 was killed by signal 11 (SIGSEGV)\n"
            "worker:0, attempt 1, stderr, line 1:\n"
            "  > Fatal Python error: Segmentation fault\n"
            "  > \n"
            "  > Current thread 0x… (most recent call first):\n"
            '  >   File "src/train.py:3" in step\n'
            '  >   File "src/train.py:4" in <module>\n'))

    def test_an_elastic_job_that_cannot_import_names_a_process_and_not_the_driver(self):
        job = self.submit(
            "python3 -c 'import no_such_library'", *horovod_job.CONF,
            *("--conf", "tony.driver.memory=64m", "--conf", "tony.worker.min-instances=1"), workers=2)
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertRegex(
            sentence, r"^worker:[01] \(rank [01] on \S+\) exited with code 1 before it came to hvd.init\(\): "
            r"python3 is \S+; is no_such_library installed there\? --python_venv gives the tasks an environment$")
        self.assertEqual(job.verdict["exit"]["tail"][-1],
                         "ModuleNotFoundError: No module named 'no_such_library'")
        self.assertEqual(job.events("note"), [])
        text = self.first_error()
        self.assertEqual(text.splitlines()[0], sentence)
        self.assertIn("  > ModuleNotFoundError: No module named 'no_such_library'\n", text)

    def test_a_rank_that_ended_before_the_others_is_named_in_their_failure(self):
        ended = self.pipe("ended")
        told = self.run_to_failure(
            "import os, time\n"
            "if os.environ['TASK_INDEX'] == '1':\n"
            f"    print(file=open('{ended.path}', 'w'), flush=True)\n"
            "    os._exit(0)\n"
            f"open('{ended.path}').readline()\n"
            "time.sleep(3)\n"
            "raise ConnectionResetError('Connection reset by peer')\n")
        self.assertRegex(told, r"^FAILED \(TASK_FAILED\): worker:0 exited with code 1; "
                               r"worker:1 had ended \S+ before, with code 0\n")

    def test_a_port_that_is_not_the_tasks_own(self):
        told = self.run_to_failure(
            "raise OSError('bind to 0.0.0.0:999: no'.replace('999', '18999') + ': Address already in use')\n",
            workers=1)
        self.assertRegex(told, r"port 18999 is not the one that tony reserved for the task \(\d+, \d+\); "
                               "another process has it")

    def test_a_lost_application_master_is_explained(self):
        job = self.submit("sleep 600")
        job.wait_until_running("worker:0")
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        note = job.wait_for(lambda events: [e["note"]["sentence"] for e in events if "note" in e], "note")[0]
        self.assertTrue(note.startswith(
            "the last ApplicationMaster was killed by signal 9 (SIGKILL); its log ends with: "), note)
        log = (job.folder / "logs" / "am.log").read_text()
        self.assertIn("\ntony-submit: the ApplicationMaster was killed by signal 9 (SIGKILL)\n", log)

    def test_a_silent_job_is_noted(self):
        job = self.submit(
            "sleep 600", *("--conf", "tony.task.silence-note=1000"),
            *("--conf", "tony.task.metrics-interval-ms=100"), workers=2)
        note = job.wait_for(lambda events: [e["note"]["sentence"] for e in events if "note" in e], "note")[0]
        self.assertRegex(note, r"^No task has printed anything for \d+\.\ds: worker:0 waits \(\d+ % of a core\), "
                               r"worker:1 waits \(\d+ % of a core\)$")

    def test_nobody_prints_anything_and_still_the_failure_is_told(self):
        self.run_to_failure("import os\nos._exit(3)\n", workers=1)
        self.assertEqual(self.first_error(), "worker:0 exited with code 3, and printed nothing\n")


if __name__ == "__main__":
    integration_case.main()
