#!/usr/bin/env python3
"""Logs of real jobs: bounded, without secrets, merged by time, with the first error found."""

import json
import os
import subprocess
import time

import integration_case
import machine
import tony_cli
from integration_case import JobTest

# 5 MB in lines that tell their place.
MANY_LINES = "seq -f 'line %07.0f of a log that is longer than its limit' 1 100000"
LINES = 100_000
ONE_MIB = ("--conf", "tony.task.log.max-size=1m")
# Neither the job file nor the history has the secret itself.
SECRETS = (
    "printf 'pass%s=hunter%d\\n' word 2 >&2; printf 'customer-%d\\n' 42 >&2; "
    "printf 'half a pass' >&2; sleep 0.02; printf 'word: hunter%d' 2 >&2; exit 3"
)


class LogsTest(JobTest):
    """The output of tasks."""

    def logs(self, *arguments):
        """The output of `tony logs`."""
        result = self.site.run("tony", "logs", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def wait_for_line(self, job, task, line):
        """Until a line is in the task's log: it gets its time when its executor reads it."""
        self.assertTrue(
            machine.wait_until(lambda: line in job.log(task), tony_cli.DEADLINE_SECONDS),
            job.describe())

    def test_a_log_keeps_its_start_and_its_end(self):
        job = self.submit(MANY_LINES, *ONE_MIB)
        self.assert_succeeds(job)
        lines = self.logs("worker:0", "--stdout").splitlines()
        (notice,) = (number for number, line in enumerate(lines) if line.startswith("[tony: "))
        self.assertIn("were dropped here", lines[notice])
        numbers = [int(line.split()[1]) for line in lines if line.startswith("line ")]
        end = numbers[notice]
        self.assertEqual(
            numbers, [*range(1, notice + 1), *range(end, LINES + 1)], "whole lines, without a gap"
        )
        files = list((job.folder / "logs" / "worker-0" / "attempt-1").iterdir())
        self.assertLess(sum(path.stat().st_size for path in files), 1.2 * 2**20)
        last = self.logs("worker:0", "--stdout", "--tail", "3").splitlines()
        self.assertEqual(last, lines[-3:])

    def test_a_log_is_followed_across_its_segments(self):
        begin = self.pipe("begin")
        job = self.submit(
            f"echo first; read < {begin.path}; {MANY_LINES}",
            *("--conf", "tony.task.log.max-size=64m", "--conf", "tony.task.log.rotate-size=1m"),
        )
        job.wait_until_running("worker:0")
        command = self.site.command("tony", "logs", "-f", "worker:0", "--stdout")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as follower:
            self.assertEqual(follower.stdout.readline(), b"first\n")
            begin.write()
            numbers = [int(line.split()[1]) for line in follower.stdout]
        self.assertEqual(numbers, list(range(1, LINES + 1)))
        self.assert_succeeds(job)

    def test_secrets_stand_nowhere(self):
        job = self.submit(SECRETS, "--conf", "tony.task.log.redact=customer-\\d+")
        self.assert_ends(job, 1, "TASK_FAILED")
        expected = "password=[redacted]\n[redacted]\nhalf a password: [redacted]"
        self.assertEqual(job.log("worker:0", "stderr").decode(), expected)
        self.assertEqual(job.verdict["exit"]["tail"], expected.splitlines())
        for path in job.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"hunter2", path.read_bytes(), path)

    def test_lines_of_all_tasks_are_merged_by_time(self):
        turns = [self.pipe(f"turn-{index}") for index in range(2)]
        said = self.pipe("said")
        job = self.submit(
            f"for i in 1 2 3; do read < {self.site.folder}/turn-$TASK_INDEX; "
            f"echo $TASK_INDEX-$i; echo > {said.path}; done",
            workers=2,
        )
        for number in range(1, 4):
            for index, turn in enumerate(turns):
                turn.write()
                said.read()
                self.wait_for_line(job, f"worker:{index}", f"{index}-{number}\n".encode())
                time.sleep(0.05)  # as far apart as the smallest difference of recorded times
        self.assert_succeeds(job)
        entries = [json.loads(line) for line in self.logs("--json", "--stdout").splitlines()]
        self.assertEqual(
            [entry["line"] for entry in entries], ["0-1", "1-1", "0-2", "1-2", "0-3", "1-3"]
        )
        times = [entry["time_millis"] for entry in entries]
        self.assertEqual(times, sorted(times))
        self.assertIn("worker:1 | 1-3\n", self.logs("--since", "1h", "--stdout"))

    def test_the_first_error_is_that_of_the_guilty_task(self):
        program = self.site.folder / "src"
        program.mkdir()
        (program / "train.py").write_text(
            "import os, sys, time\n"
            "print('begin', flush=True)\n"
            "if os.environ['TASK_INDEX'] == '0':\n"
            "    print('ConnectionError: a peer is gone', flush=True)\n"
            "    open(sys.argv[1], 'w').close()\n"
            "    time.sleep(600)\n"
            "open(sys.argv[1]).read()\n"
            "raise ValueError('the data is bad')\n"
        )
        said = self.site.folder / "said"
        os.mkfifo(said)
        job = self.submit(f"python3 train.py {said}", "--src_dir=src", workers=2)
        self.assert_ends(job, 1, "TASK_FAILED")
        found = json.loads(self.logs("--first-error", "--json"))
        self.assertEqual((found["task"], found["stream"]), ("worker:1", "stderr"))
        self.assertEqual(found["lines"][0], "Traceback (most recent call last):")
        self.assertEqual(found["lines"][-1], "ValueError: the data is bad")
        self.assertIn("  > ValueError: the data is bad\n", self.logs("--first-error"))
        victims = self.logs("--first-error", "worker:0")
        self.assertIn("  | begin\n  > ConnectionError: a peer is gone\n", victims)

    def test_the_daemons_tell_more_when_the_job_is_debugged(self):
        quiet = self.submit("true")
        self.assert_succeeds(quiet)
        self.assertEqual(self.daemon_levels(quiet)[0] - {"info"}, set())
        debugged = self.submit("true", "--debug")
        self.assert_succeeds(debugged)
        for levels in self.daemon_levels(debugged):
            self.assertIn("debug", levels)
        name = debugged.folder.name
        whole = self.logs(name, "am").splitlines()
        self.assertEqual(self.logs(name, "am", "--level", "debug").splitlines(), whole)
        self.assertEqual(
            self.logs(name, "am", "--level=info").splitlines(),
            [line for line in whole if line.split()[1] != "debug"],
        )
        self.assertIn(" debug ", self.logs(name, "worker:0", "--executor"))
        self.assertNotIn(" debug ", self.logs(name, "worker:0", "--executor", "--level=info"))

    def daemon_levels(self, job):
        """The levels in the logs of the job's ApplicationMaster and of its first executor."""
        logs = job.folder / "logs"
        return [
            {line.split()[1] for line in path.read_text().splitlines()}
            for path in (logs / "am.log", logs / "worker-0" / "executor.log")
        ]


if __name__ == "__main__":
    integration_case.main()
