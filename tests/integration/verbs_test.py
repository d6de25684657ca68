#!/usr/bin/env python3
"""`tony list | status | logs | kill | validate`, as text and as JSON, during a job and after it."""

import json
import subprocess

import integration_case
import machine
from integration_case import JobTest


class VerbsTest(JobTest):
    """One job of two workers that say something, wait, and say something more."""

    def setUp(self):
        super().setUp()
        ready = self.pipe("ready")
        self.gates = [self.pipe(f"gate-{index}") for index in range(2)]
        self.job = self.submit(
            f'echo "begin $TASK_INDEX"; echo oops >&2; '
            f"echo > {ready.path}; read < {self.site.folder}/gate-$TASK_INDEX; "
            'echo "end $TASK_INDEX"; exit $TASK_INDEX',
            *(
                "--conf",
                "tony.application.name=talk",
                "--conf",
                "tony.task.metrics-interval-ms=100",
            ),
            workers=2,
        )
        for _ in range(2):
            ready.read()
        self.job.wait_until_running("worker:0", "worker:1")

    def end(self):
        """Lets the job end, which fails because of worker:1."""
        # Not together: the failure of one might end the other before it has said all.
        self.gates[0].write()
        self.job.wait_for_task("worker:0", "SUCCEEDED")
        self.gates[1].write()
        sentence = self.assert_ends(self.job, 1, "TASK_FAILED")
        self.assertEqual(sentence, "worker:1 exited with code 1")

    def tony(self, *arguments, code=0):
        """Runs a verb for people; returns what it prints."""
        result = self.site.run("tony", *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout if code == 0 else result.stderr

    def follow(self, *arguments):
        """Starts `tony logs --follow`, which ends with the job, whose deadline it has."""
        command = self.site.command("tony", "logs", "--follow", *arguments)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def test_list(self):
        def state():
            (row,) = self.site.verb("list")
            self.assertEqual(
                (row["id"], row["name"], row["framework"]), (self.job.id, "talk", "tensorflow")
            )
            _, line = self.tony("list").splitlines()
            self.assertTrue(line.startswith(f"{self.job.id}  {row['state']} "), line)
            return row["state"]

        self.assertEqual(state(), "RUNNING")
        self.end()
        self.assertEqual(state(), "FAILED")

    def test_status_during_the_job(self):
        status = self.site.verb("status")
        self.assertEqual(
            (status["id"], status["state"], status["alive"]), (self.job.id, "RUNNING", True)
        )
        self.assertEqual(status["log_folder"], str(self.job.folder / "logs"))
        self.assertIsNone(status["visualization"])  # nothing listens there
        self.assertEqual([task["task"] for task in status["tasks"]], ["worker:0", "worker:1"])
        for task, pid in zip(status["tasks"], self.job.wait_until_running("worker:0", "worker:1")):
            self.assertEqual((task["state"], task["pid"]), ("RUNNING", pid))
        printed = self.tony("status", self.job.id)
        self.assertIn("RUNNING", printed)
        self.assertNotIn("Visualization", printed)
        self.end()

    def test_measurements_are_shown(self):
        # While the tasks run, they are pushed to who follows and kept in place of those before.
        self.job.wait_for(lambda events: any("task_measured" in event for event in events), "usage")
        for event in self.job.raw_events("task_measured"):
            self.assertNotIn("sequence", event)

        def measured():
            return all("usage" in task for task in self.site.verb("status")["tasks"])

        self.assertTrue(machine.wait_until(measured, 30))
        for usage in (task["usage"] for task in self.site.verb("status")["tasks"]):
            self.assertGreater(usage["seconds"], 0)
            self.assertGreaterEqual(usage["descriptors"], 3)
            self.assertLessEqual(usage["proportional_bytes"], usage["max_memory_bytes"])
            self.assertIn("host_sent_bytes", usage["network"])
            self.assertNotIn("gpus", usage)
        lines = (self.job.folder / "usage.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertNotIn("task_measured", (self.job.folder / "events.jsonl").read_text())
        # Afterwards the history has one of each run.
        self.end()
        history = (self.job.folder / "events.jsonl").read_text()
        self.assertEqual(history.count("task_measured"), 2)
        self.assertTrue(measured())
        self.assertFalse((self.job.folder / "usage.jsonl").exists())

    def test_status_after_the_job(self):
        self.end()
        status = self.site.verb("status", self.job.id)
        self.assertEqual((status["state"], status["alive"]), ("FAILED", False))
        self.assertEqual(status["verdict"]["guilty"], "worker:1")
        self.assertEqual(status["verdict"]["exit_code"], 1)
        self.assertEqual(status["tasks"][1]["exit"]["code"], 1)
        self.assertIn("FAILED (TASK_FAILED): worker:1 exited with code 1", self.tony("status"))

    def test_jobs_are_found_by_a_part_of_their_name(self):
        for part in ("latest", self.job.id[:12], self.job.id[-4:]):
            self.assertEqual(self.site.verb("status", part)["id"], self.job.id)
        said = self.tony("status", "nothing", code=1)
        self.assertEqual(
            said, f"tony: no job 'nothing'; known jobs: {self.job.id} (tony list shows all)\n"
        )
        self.end()

    def test_logs_during_and_after_the_job(self):
        with self.follow("--stdout") as both, self.follow("worker:0", "--stderr") as one:
            begin = sorted(both.stdout.readline() for _ in range(2))
            self.assertEqual(begin, [b"worker:0 | begin 0\n", b"worker:1 | begin 1\n"])
            self.assertEqual(one.stdout.readline(), b"oops\n")
            self.assertEqual(self.tony("logs", "worker:0", "--stdout"), "begin 0\n")
            self.end()
            rest = sorted(both.stdout.read().splitlines())
            self.assertEqual(rest, [b"worker:0 | end 0", b"worker:1 | end 1"])
            self.assertEqual(one.stdout.read(), b"")
        self.assertEqual(self.tony("logs", self.job.id, "worker:0", "--stdout"), "begin 0\nend 0\n")
        self.assertEqual(self.tony("logs", "worker:0", "--stdout", "--tail", "1"), "end 0\n")
        lines = self.site.run("tony", "logs", "worker:1", "--stdout", "--json").stdout.splitlines()
        entries = [json.loads(line) for line in lines]
        times = [entry.pop("time_millis") for entry in entries]
        self.assertGreater(times[0], 0)
        self.assertEqual(times, sorted(times))
        self.assertEqual(
            entries,
            [
                {"task": "worker:1", "attempt": 1, "stream": "stdout", "line": line}
                for line in ("begin 1", "end 1")
            ],
        )
        self.assertIn("verdict FAILED: worker:1 exited with code 1", self.tony("logs", "am"))
        self.assertIn("the program exited with code 0", self.tony("logs", "worker:0", "--executor"))
        self.assertIn("worker:9", self.tony("logs", "worker:9", code=1))

    def test_kill_during_and_after_the_job(self):
        self.assertIn("KILLED (KILLED_BY_USER): tony kill by ", self.tony("kill", self.job.id))
        self.assert_ends(self.job, 4, "KILLED_BY_USER")
        told = self.site.verb("kill", self.job.id)
        self.assertEqual(told["state"], "KILLED")
        again = self.site.run("tony", "kill", "latest")
        self.assertEqual(again.returncode, 0)
        self.assertIn(f"job {self.job.id} has already ended", again.stderr)


class NoJobTest(JobTest):
    """Verbs that need no job, or have none."""

    def test_empty_site(self):
        self.assertEqual(self.site.verb("list"), [])
        for verb in ("status", "logs"):
            result = self.site.run("tony", verb)
            self.assertEqual(result.returncode, 1)
            self.assertIn("there are no jobs under", result.stderr)
        self.assertEqual(self.site.run("tony", "kill").returncode, 2)

    def test_bad_usage(self):
        result = self.site.run_bare("tony", "stauts")
        self.assertEqual(result.returncode, 2)
        self.assertIn("status", result.stderr)
        result = self.site.run_bare("tony", "status", "--jsno")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean '--json'?", result.stderr)

    def test_validate(self):
        path = self.write_job(("tony.worker.instances", 1), ("tony.worker.command", "true"))
        result = self.site.run("tony", "validate", path)
        self.assertEqual((result.returncode, result.stdout), (0, f"{path} is valid\n"))
        self.assertEqual(
            self.site.verb("validate", path),
            {
                "valid": True,
                "problems": [],
                "notes": [],
                "stages": [{"types": ["worker"], "depends_on": []}],
                "dependency_timeouts": [],
            },
        )


if __name__ == "__main__":
    integration_case.main()
