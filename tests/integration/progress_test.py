#!/usr/bin/env python3
"""The progress of programs: by TONY_PROGRESS, tony.report() and their logs, and how it is shown."""

import os
import pathlib
import time

import integration_case
from integration_case import JobTest, conf

import machine
from terminal import Terminal

OFTEN = conf(task__metrics_interval_ms=100)
PATTERN = conf(task__progress_pattern=r"step (?P<step>\d+) loss (?P<loss>\S+)")
# A share of one processor. The executor needs a few hundredths of it; a flood that costs without bound takes all.
MOST_OF_A_PROCESSOR = 0.5
DEADLINE_SECONDS = 60


def processor_seconds(pid):
    """The processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def steps_in(events):
    """The steps of all measurements in the events, in their order."""
    usages = [event["task_measured"].get("usage", {}) for event in events if "task_measured" in event]
    return [int(usage["progress"].get("step", 0)) for usage in usages if "progress" in usage]


class ProgressCase(JobTest):
    """Jobs of one worker, which are measured ten times a second."""

    def setUp(self):
        super().setUp()
        self.ready, self.gate = self.pipe("ready"), self.pipe("gate")
        self.pause = f"echo > {self.ready.path}; read word < {self.gate.path}"

    def start(self, command, *arguments):
        """Starts a job."""
        return self.submit(command, *OFTEN, *arguments)

    def await_step(self, job, step):
        """Waits until a measurement has this step."""
        job.wait_for(lambda events: step in steps_in(events), f"step {step}")

    def task(self, job):
        """The worker in `tony status --json`."""
        (task,) = self.site.verb("status", job.id)["tasks"]
        return task

    def await_task(self, job, find):
        """The worker, once `find(worker)` is true: a running task's measurements lie in a file that is written each
        second."""
        found = machine.wait_until(
            lambda: (lambda task: [task] if find(task) else None)(self.task(job)), DEADLINE_SECONDS)
        return found[0]

    def run_to_end(self, command, *arguments):
        """Runs a job; returns its worker's last measured progress."""
        job = self.start(command, *arguments)
        self.assert_succeeds(job)
        return self.task(job)["usage"]["progress"]


class ReportTest(ProgressCase):
    """What a program reports, and what `tony status --json` says then."""

    def test_echo_while_it_runs_and_afterwards(self):
        job = self.start(f'echo step=3 loss=0.5 note=well > "$TONY_PROGRESS"; {self.pause}; '
                         'echo phase=checkpoint > "$TONY_PROGRESS"; '
                         f'echo step=4 loss=0.25 > "$TONY_PROGRESS"; {self.pause}; '
                         'echo checkpoint=/data/4 checkpoint_seconds=1.5 phase= > "$TONY_PROGRESS"')
        self.ready.read()
        progress = self.await_task(job, lambda task: "progress" in task.get("usage", {}))["usage"]["progress"]
        self.assertEqual((progress["step"], progress["values"], progress["phase"]), (3, {"loss": 0.5}, None))
        self.assertIsNone(progress["checkpoint"])
        self.assertGreater(progress["first_step_millis"], 0)
        self.assertGreaterEqual(progress["idle_seconds"], 0)
        self.gate.write()
        self.ready.read()
        self.await_step(job, 4)
        self.gate.write()
        self.assert_succeeds(job)
        task = self.task(job)
        progress = task["usage"]["progress"]
        self.assertEqual((progress["step"], progress["values"], progress["phase"]), (4, {"loss": 0.25}, None))
        self.assertEqual((progress["checkpoint"]["path"], progress["checkpoint"]["seconds"],
                          progress["checkpoint"]["count"]), ("/data/4", 1.5, 1))
        self.assertEqual(progress["unread_lines"], 0)
        self.assertEqual(task["exit"]["reported"], {"step": "4", "loss": "0.25", "note": "well", "checkpoint": "/data/4",
                                                    "checkpoint_seconds": "1.5", "phase": ""})

    def test_a_program_that_ends_before_it_is_measured(self):
        self.assertEqual(self.run_to_end("echo step=7 > $TONY_PROGRESS", *conf(task__metrics_interval_ms=60000))["step"],
                         7)

    def test_python(self):
        progress = self.run_to_end(
            "python3 -c 'import tony\nfor step in range(5): "
            "assert tony.report(step=step, loss=float(\"nan\"), accuracy=step / 10)'")
        self.assertEqual((progress["step"], progress["values"]), (4, {"accuracy": 0.4}))

    def test_several_processes(self):
        progress = self.run_to_end(
            "for name in a b c; do (for i in $(seq 100); do echo $name=$i > $TONY_PROGRESS; done) & done; wait")
        self.assertEqual(progress["values"], {"a": 100, "b": 100, "c": 100})
        self.assertEqual(progress["unread_lines"], 0)

    def test_the_log(self):
        job = self.start("echo epoch 1 step 5 loss 0.5; echo nothing; printf 'epoch 1 step 6 loss 0.5\\repoch 1 step 7 loss 0.25\\r\\n' >&2; "
                         f"{self.pause}", *PATTERN)
        self.ready.read()
        self.await_step(job, 7)
        self.gate.write()
        self.assert_succeeds(job)
        task = self.task(job)
        self.assertEqual(task["usage"]["progress"]["values"], {"loss": 0.25})
        self.assertEqual(task["exit"]["reported"], {"loss": "0.25", "step": "7"})
        self.assertIn(b"epoch 1 step 5 loss 0.5", job.log("worker:0"))

    def test_a_restart_begins_anew(self):
        job = self.start("if [ $TONY_EPOCH = 0 ]; then echo step=50 loss=0.5 > $TONY_PROGRESS; exit 5; fi; "
                         "echo step=10 > $TONY_PROGRESS", *conf(am__retry_count=1))
        self.assert_succeeds(job)
        recorded = [event for event in job.raw_events("task_measured") if "sequence" in event]
        self.assertEqual(steps_in(recorded), [50, 10])
        progress = self.task(job)["usage"]["progress"]
        self.assertEqual((progress["step"], progress["values"]), (10, {}))

    def test_lines_that_cannot_be_read_are_noted_once(self):
        progress = self.run_to_end("for i in 1 2 3; do echo step = $i > $TONY_PROGRESS; done; "
                                   "echo step=4 > $TONY_PROGRESS")
        self.assertEqual((progress["step"], progress["unread_lines"]), (4, 3))
        notes = [note for note in self.site.verb("status")["notes"] if "TONY_PROGRESS" in note]
        self.assertEqual(len(notes), 1, notes)
        self.assertRegex(notes[0], r'worker:0.*cannot be read: "step" in "step = 1"; write NAME=VALUE')

    def test_a_flood_costs_the_executor_little_and_the_newest_counts(self):
        job = self.start(f'yes step=1 filling=abcdefgh > "$TONY_PROGRESS" & {self.pause}; kill $!; wait; '
                         f'echo step=2 > "$TONY_PROGRESS"; {self.pause}')
        self.ready.read()
        self.await_step(job, 1)
        executor = self.executor_of(job, "worker:0")
        used, began, seen = processor_seconds(executor), time.monotonic(), len(job.raw_events("task_measured"))
        job.wait_for(lambda events: len(steps_in(events)) >= seen + 20, "20 more measurements")
        share = (processor_seconds(executor) - used) / (time.monotonic() - began)
        self.gate.write()
        self.ready.read()
        self.await_step(job, 2)
        self.gate.write()
        self.assert_succeeds(job)
        self.assertLess(share, MOST_OF_A_PROCESSOR)
        self.assertEqual(self.task(job)["usage"]["progress"]["unread_lines"], 0)

    def test_bad_patterns_are_refused(self):
        for pattern, words in (("step (", "missing )"), (r"step (\d+)", "has no group called step")):
            refusal = self.assert_refused(2, "--executes", "true", *conf(worker__instances=1),
                                          *conf(task__progress_pattern=pattern))
            self.assertIn("tony.task.progress-pattern", refusal)
            self.assertIn(words, refusal)
            self.assertIn(r"step (?P<step>\d+)", refusal)


class ShownTest(ProgressCase):
    """The terminal's table, `tony status` and `tony top JOB`."""

    def setUp(self):
        super().setUp()
        self.site.environment["TERM"] = "xterm-256color"

    def running(self):
        """A job whose worker:0 has reported step 3."""
        job = self.start(f'echo step=3 loss=0.125 > "$TONY_PROGRESS"; {self.pause}')
        self.ready.read()
        self.await_task(job, lambda task: "progress" in task.get("usage", {}))
        return job

    def finish(self, job):
        """The job ends well."""
        self.gate.write()
        self.assert_succeeds(job)

    def test_tony_top_once(self):
        job = self.running()
        result = self.site.run("tony", "top", job.id, "--once")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout.splitlines()[1],
                         r"^TASK +STATE +HOST +CORES +MEMORY +GPU +STEP +STEPS/S +LOSS +IDLE$")
        self.assertRegex(result.stdout.splitlines()[2], r"^worker:0 +RUNNING +\S+ +\d+\.\d +0\.0/0\.1 GiB +- +3 +- +0.125 +\S+$")
        (task,) = self.site.verb("top", job.id)["tasks"]
        self.assertEqual((task["task"], task["trouble"], task["usage"]["progress"]["step"]), ("worker:0", None, 3))
        self.assertEqual(task["asked_memory_bytes"], 64 << 20)
        self.assertGreaterEqual(task["cores"], 0)
        self.assertRegex(self.site.run("tony", "status", job.id).stdout, r"(?m)^TASK .* STEP$\n^worker:0 .* 3$")
        self.finish(job)

    def test_tony_top_in_a_terminal_until_q(self):
        job = self.running()
        command = self.site.command("tony", "top", "latest")  # the job's name would pass for a process of its own
        for key in ("q", "\x03"):
            terminal = Terminal(self, command, columns=120, cwd=self.site.folder, env=self.site.environment)
            text = terminal.wait_for("0.125")
            self.assertRegex(text, r"(?m)^worker:0 +RUNNING ")
            terminal.type(key)
            self.assertEqual(terminal.wait(), 0)
            self.assertEqual(terminal.screen.text().count("STEPS/S"), 1, terminal.screen.text())
        terminal = Terminal(self, command, columns=120, cwd=self.site.folder, env=self.site.environment)
        terminal.wait_for("0.125")
        self.finish(job)
        self.assertEqual(terminal.wait(), 0)
        self.assertIn("SUCCEEDED", terminal.screen.text())

    def test_the_table_of_tony_submit(self):
        terminal = Terminal(
            self, self.site.command(
                "tony-submit", "--executes", f'echo > {self.ready.path}; read word < {self.gate.path}; '
                f'echo step=12 > "$TONY_PROGRESS"; {self.pause}',
                *conf(worker__instances=1, worker__memory="64m"), *OFTEN),
            columns=120, cwd=self.site.folder, env=self.site.environment)
        text = terminal.wait_for("RUNNING")
        self.assertNotIn("STEP", text)
        self.ready.read()
        self.gate.write()
        terminal.wait_for(lambda text: "STEP" in text and " 12" in text)
        self.ready.read()
        self.gate.write()
        self.assertEqual(terminal.wait(), 0)

    def test_bad_usage(self):
        result = self.site.run("tony", "top", "--onse", "job")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--once", result.stderr)
        self.run_to_end("echo step=1 > $TONY_PROGRESS")
        result = self.site.run("tony", "top", "nosuchjob")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.returncode, 1 if "no job" in result.stderr else result.returncode)
        self.assertIn("nosuchjob", result.stderr)


if __name__ == "__main__":
    integration_case.main()
