#!/usr/bin/env python3
"""A job as a step of a workflow: its key, its attempts, and who ends it (docs/design/steps.md)."""

import json
import os
import shutil
import signal
import subprocess
import time

import integration_case
import machine
from integration_case import SMALL, JobTest, conf

KEY = "flow|2026-11-27|train"
END_SECONDS = 30
# The ApplicationMaster pings an owner after 10 silent seconds, and waits as long for an answer.
SILENT_SECONDS = 60
# Notes in `mark` when two jobs of the step run at a time, then waits a moment.
EXCLUSIVE = ("mkdir {folder}/alone || echo two >> {folder}/wrong; echo run >> {folder}/runs; sleep 0.2; "
             "rmdir {folder}/alone")
# How many pairs of attempts, and places of a submission at which the client is killed.
ROUNDS = int(os.environ.get("TONY_STEP_ROUNDS", "8"))


class StepTest(JobTest):
    """Attempts of one step."""

    def setUp(self):
        super().setUp()
        self.summary_file = self.site.folder / "summary.json"

    def arguments(self, command, *more, key=KEY):
        """What tony-submit is given for one attempt."""
        named = ["--step-key", key] if key else ["--step"]
        return ["--executes", command, *conf(worker__instances=1), *SMALL, *named,
                "--summary", str(self.summary_file), *more]

    def attempt(self, command, *more, key=KEY):
        """Starts an attempt; returns its process."""
        return self.site.start(self, "tony-submit", *self.arguments(command, *more, key=key))

    def finish(self, process, code=0):
        """The text of an attempt, which ends with `code`."""
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, err + out)
        return out, err

    def run_attempt(self, command, *more, code=0, key=KEY):
        """An attempt to its end."""
        return self.finish(self.attempt(command, *more, key=key), code)

    def summary(self):
        """The summary of the last attempt that wrote one."""
        return json.loads(self.summary_file.read_text(encoding="utf-8"))

    def jobs(self):
        """The ids of all jobs, the oldest first."""
        made = [(path.joinpath("job.xml").stat().st_mtime_ns, path.name)
                for path in self.site.local_dir.glob("jobs/*")]
        return [name for _, name in sorted(made)]

    def gated(self, name="gate", more=(), key=KEY):
        """Starts an attempt whose job waits for its gate; returns the process and the gate."""
        ready, gate = self.pipe(f"{name}-ready"), self.pipe(name)
        process = self.attempt(f"echo > {ready.path}; read < {gate.path}", *more, key=key)
        ready.read()
        return process, gate

    def kill(self, process):
        """Kills a client with signal 9."""
        process.kill()
        process.wait()

    def await_end(self, job, seconds=END_SECONDS):
        """Waits for the job's end; returns its status."""
        self.site.run("tony", "wait", job, "--timeout", str(seconds))
        return self.site.verb("status", job)


class OutputTest(StepTest):
    """What a step tells."""

    def test_lines_links_and_summary(self):
        out, err = self.run_attempt("echo trained")
        (job,) = self.jobs()
        lines = out.splitlines()
        self.assertEqual(lines[0], f"Job {job} of step {KEY}", out)
        self.assertEqual(lines[-2:], [f"Job {job} of step {KEY}",
                                      f"tony logs {job} has all that its tasks printed"], out)
        self.assertIn("worker:0 | trained", lines)
        self.assertNotIn("\x1b", out + err)
        summary = self.summary()
        self.assertEqual(
            {name: summary[name] for name in ("version", "step_key", "application_id", "state",
                                              "adopted", "attempt", "verdict", "exit_code")},
            {"version": 1, "step_key": KEY, "application_id": job, "state": "SUCCEEDED",
             "adopted": False, "attempt": 1, "verdict": "SUCCEEDED", "exit_code": 0})
        self.assertRegex(summary["page"], r"^http://127\.0\.0\.1:\d+/")
        self.assertNotIn("code=", summary["page"])

    def test_a_failure_names_the_guilty_task_and_its_last_lines(self):
        self.run_attempt("echo 'no data' >&2; exit 7", code=1)
        summary = self.summary()
        self.assertEqual(summary["guilty_task"], "worker:0")
        self.assertEqual(summary["exit_code"], 1)
        self.assertIn("no data", summary["tail"])

    def test_reported_values_are_in_the_summary(self):
        self.run_attempt("echo step=1 loss=2.5 > $TONY_PROGRESS; "
                         "echo 'step=2 note=\"all well\" nothing =x' > $TONY_PROGRESS")
        self.assertEqual(self.summary()["metrics"], {"loss": "2.5", "note": "all well", "step": "2"})

    def test_a_program_that_reports_without_end_is_harmless(self):
        self.run_attempt("timeout 1 yes $(seq -s= 1 100) > $TONY_PROGRESS; echo last=1 > $TONY_PROGRESS")
        self.assertEqual(self.summary()["exit_code"], 0)

    def test_a_bad_job_has_a_summary_too(self):
        self.run_attempt("true", "--conf", "tony.worker.memory=much", code=2)
        summary = self.summary()
        self.assertEqual((summary["state"], summary["exit_code"]), ("NOT_SUBMITTED", 2))
        self.assertIn("tony.worker.memory", summary["sentence"])

    def test_a_summary_that_cannot_be_written_changes_nothing(self):
        self.summary_file = self.site.folder / "missing" / "summary.json"
        _, err = self.run_attempt("true")
        self.assertIn("the summary cannot be written (--summary)", err)

    def test_output_has_a_limit(self):
        out, _ = self.run_attempt(
            "seq 5000", "--conf", "tony.client.step-lines-per-second=50")
        shown = [line for line in out.splitlines() if line.startswith("worker:0 | ")]
        self.assertLess(len(shown), 1000)
        self.assertRegex(out, r"\[tony leaves out \d+ lines, more than 50 in a second")

    def test_wrong_options_are_errors(self):
        for options, message in (
            (["--on-existing", "kill"], "--on-existing: 'kill' is none of adopt, stop and fail"),
            (["--stop-wait", "long"], "--stop-wait 'long' is no duration"),
        ):
            _, err = self.run_attempt("true", *options, code=2)
            self.assertIn(message, err)
        result = self.site.run("tony-submit", "--executes", "true", "--step-key", "")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--step-key is empty", result.stderr)

    def test_airflow_is_recognized(self):
        self.site.environment.update(
            AIRFLOW_CTX_DAG_ID="dag|1", AIRFLOW_CTX_TASK_ID="train", AIRFLOW_CTX_DAG_RUN_ID="r 1",
            AIRFLOW_CTX_TRY_NUMBER="2")
        result = self.site.run("tony-submit", "--executes", "true", *conf(worker__instances=1), *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        (step,) = self.site.verb("steps")
        self.assertRegex(step["step_key"], r"^airflow\|dag%7C1\|train\|r 1\|job-[0-9a-f]{8}$")
        self.assertEqual(step["system"], "airflow")


class AttemptsTest(StepTest):
    """What an attempt does about the job of an earlier one."""

    def test_a_job_that_runs_is_adopted(self):
        first, gate = self.gated()
        self.kill(first)
        second = self.attempt("echo another job; exit 1")
        self.assertIn("it is adopted", second.stdout.readline())
        gate.write()
        out, _ = self.finish(second)
        self.assertEqual(len(self.jobs()), 1)
        self.assertIn("SUCCEEDED", out)
        self.assertEqual((self.summary()["adopted"], self.summary()["attempt"]), (True, 2))

    def test_two_attempts_may_follow_one_job(self):
        first, gate = self.gated()
        second = self.attempt("exit 1")
        self.assertIn("it is adopted", second.stdout.readline())
        self.kill(first)
        # The second one owns the job too, so the lease does not begin.
        gate.write()
        self.finish(second)
        self.assertEqual(len(self.jobs()), 1)

    def test_a_job_that_nobody_adopts_ends_after_its_lease(self):
        first, _ = self.gated(more=["--conf", "tony.client.lease=300"])
        self.kill(first)
        status = self.await_end(self.jobs()[0])
        self.assertEqual(status["verdict"]["reason"], "CLIENT_GONE", status)

    def test_a_success_is_reported_once(self):
        first, gate = self.gated()
        self.kill(first)
        gate.write()
        (job,) = self.jobs()
        self.await_end(job)
        out, _ = self.run_attempt("exit 1")
        self.assertIn("which has ended meanwhile", out)
        self.assertEqual(self.jobs(), [job])
        self.run_attempt("true")
        self.assertEqual(len(self.jobs()), 2)

    def test_a_failure_is_tried_again_with_its_checkpoints(self):
        self.run_attempt("echo 3 > $TONY_CHECKPOINT_DIR/step; exit 1", code=1)
        out, _ = self.run_attempt("cat $TONY_CHECKPOINT_DIR/step")
        self.assertIn("worker:0 | 3", out)
        self.assertIn(f"'{self.jobs()[0]}' is FAILED; the new one finds its checkpoints", out)
        # A success that was told is a new beginning.
        self.run_attempt("! test -e $TONY_CHECKPOINT_DIR/step")
        self.assertEqual(self.summary()["attempt"], 3)

    def test_an_existing_job_can_be_an_error(self):
        first, gate = self.gated()
        _, err = self.run_attempt("true", "--on-existing", "fail", code=2)
        self.assertIn("tony kill ends it, --on-existing=adopt follows it", err)
        gate.write()
        self.finish(first)

    def test_an_existing_job_can_be_stopped_first(self):
        first, _ = self.gated()
        self.run_attempt("true", "--on-existing", "stop")
        self.finish(first, code=4)
        old, new = self.jobs()
        self.assertEqual(self.site.verb("status", old)["verdict"]["outcome"], "KILLED")
        self.assertEqual(self.site.verb("status", new)["verdict"]["outcome"], "SUCCEEDED")

    def test_a_job_whose_processes_are_all_gone_is_lost(self):
        # As after a restart of the machine.
        first, _ = self.gated()
        self.kill(first)
        (job,) = self.jobs()
        for program in ("tony-am", "tony-executor"):
            machine.kill_programs_of(job, program)
        out, _ = self.run_attempt("true")
        self.assertIn(f"'{job}' is LOST; the new one finds its checkpoints", out)
        self.assertEqual(len(self.jobs()), 2)

    def test_other_steps_are_independent(self):
        first, gate = self.gated()
        self.run_attempt("true", key=KEY + "2")
        gate.write()
        self.finish(first)
        self.assertEqual(len(self.jobs()), 2)

    def test_attempts_at_the_same_time_have_one_job(self):
        for number in range(ROUNDS):
            command = EXCLUSIVE.format(folder=self.site.folder)
            key = f"{KEY}|{number}"
            first = self.attempt(command, key=key)
            # The pause is what is tested here: the second comes at another moment each time.
            time.sleep(0.1 * number / ROUNDS)
            second = self.attempt(command, key=key)
            self.finish(first)
            self.finish(second)
        runs = (self.site.folder / "runs").read_text(encoding="utf-8").count("run")
        self.assertFalse((self.site.folder / "wrong").exists())
        # An attempt that begins when the other one has told its success begins a new job.
        self.assertGreaterEqual(runs, ROUNDS)

    def test_a_client_killed_at_any_moment_leaves_one_job(self):
        for number in range(ROUNDS):
            command = EXCLUSIVE.format(folder=self.site.folder)
            key = f"{KEY}|{number}"
            first = self.attempt(command, key=key)
            time.sleep(0.2 * number / ROUNDS)
            self.kill(first)
            self.run_attempt(command, key=key)
        self.assertFalse((self.site.folder / "wrong").exists())


class EndTest(StepTest):
    """Who ends the job."""

    def test_sigterm_stops_the_job(self):
        first, _ = self.gated()
        first.send_signal(signal.SIGTERM)
        self.finish(first, code=4)
        self.assertEqual(self.summary()["verdict"], "KILLED")

    def test_a_hangup_stops_the_job(self):
        first, _ = self.gated()
        first.send_signal(signal.SIGHUP)
        self.finish(first, code=4)

    def test_a_signal_before_the_job_is_not_lost(self):
        # The client gets the signal while it waits for the other attempt's job to end.
        first, _ = self.gated()
        second = self.attempt("exit 1")
        self.assertIn("it is adopted", second.stdout.readline())
        second.send_signal(signal.SIGTERM)
        self.finish(second, code=4)
        self.finish(first, code=4)

    def test_the_client_need_not_stay(self):
        ready = self.pipe("ready")
        first = self.attempt(
            f"trap '' TERM; echo > {ready.path}; while true; do sleep 0.1; done",
            *("--stop-wait", "100ms", "--conf", "tony.task.kill-grace-ms=1500"))
        ready.read()
        first.send_signal(signal.SIGTERM)
        self.finish(first, code=4)
        status = self.await_end(self.jobs()[0])
        self.assertEqual(status["verdict"]["outcome"], "KILLED")

    def wrapped(self, *more, key=KEY, command="sleep 600", folder=None):
        """An attempt behind a shell, as workflow systems start it; returns the shell."""
        ready = self.pipe("ready")
        words = self.site.command(
            "tony-submit", *self.arguments(f"echo > {ready.path}; {command}", *more, key=key))
        shell = subprocess.Popen(
            ["bash", "-c", '"$@"; exit $?', "bash", *words], cwd=folder or self.site.folder,
            env=self.site.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        ready.read()
        return shell

    def await_in_masters_log(self, sentence):
        """Waits for a line in the log of the only job's ApplicationMaster."""
        log = self.site.local_dir / "jobs" / self.jobs()[0] / "logs/am.log"
        found = machine.wait_until(lambda: sentence in log.read_text(), SILENT_SECONDS, 0.1)
        self.assertTrue(found, log.read_text())

    def suspend_owner(self, client):
        """Suspends a client that is the job's owner already."""
        self.await_in_masters_log("the client that owns the job is attached")
        self.suspend(client)

    def suspend(self, process):
        """Suspends a process, and waits until it is."""
        process.send_signal(signal.SIGSTOP)
        self.assertTrue(machine.wait_until(lambda: machine.state_of(process.pid) == "T", END_SECONDS))

    def test_without_its_parent_a_step_leaves_its_job_to_the_next_attempt(self):
        shell = self.wrapped("--conf", "tony.client.lease=1000")
        self.kill(shell)
        status = self.await_end(self.jobs()[0])
        self.assertEqual(status["verdict"]["reason"], "CLIENT_GONE")

    def test_without_its_parent_a_step_without_a_key_stops_its_job(self):
        shell = self.wrapped(key=None)
        self.kill(shell)
        status = self.await_end(self.jobs()[0])
        self.assertEqual(status["verdict"]["outcome"], "KILLED")
        self.assertIn("the process that had submitted it has ended", status["verdict"]["sentence"])

    def test_a_suspended_parent_is_not_gone(self):
        gate = self.pipe("gate")
        shell = self.wrapped("--conf", "tony.client.lease=300", command=f"read < {gate.path}")
        self.suspend(shell)
        gate.write()
        status = self.await_end(self.jobs()[0])
        self.assertEqual(status["state"], "SUCCEEDED", status)
        shell.send_signal(signal.SIGCONT)
        self.assertEqual(shell.wait(END_SECONDS), 0)
        self.assertEqual(self.summary()["verdict"], "SUCCEEDED")

    def test_a_suspended_client_keeps_its_job_for_the_lease(self):
        first, _ = self.gated(more=["--conf", "tony.client.lease=1000"])
        self.suspend_owner(first)
        status = self.await_end(self.jobs()[0], SILENT_SECONDS)
        self.assertEqual((status["verdict"] or {}).get("reason"), "CLIENT_GONE", status)
        self.assertIn("for 1 s nobody came back (tony.client.lease)", status["verdict"]["sentence"])
        first.send_signal(signal.SIGCONT)
        self.finish(first, code=4)
        self.assertEqual(self.summary()["reason"], "CLIENT_GONE")

    def test_a_suspended_client_that_goes_on_is_the_owner_again(self):
        first, gate = self.gated()
        self.suspend_owner(first)
        self.await_in_masters_log("the stream of the client that owns the job broke")
        first.send_signal(signal.SIGCONT)
        gate.write()
        self.finish(first)
        self.assertEqual(self.summary()["verdict"], "SUCCEEDED")

    def test_the_workflows_folder_may_go_away(self):
        # Cron's, Airflow's and make's folders are removed by others; Azkaban's is a test of its own.
        folder = self.site.folder / "execution"
        (folder / "src").mkdir(parents=True)
        (folder / "src/train.sh").write_text("echo trained\n")
        gate = self.pipe("gate")
        shell = self.wrapped("--src_dir", "src", folder=folder, command=f"read < {gate.path}; bash train.sh")
        shutil.rmtree(folder)
        gate.write()
        self.assertEqual(shell.wait(END_SECONDS), 0)
        self.assertEqual(self.summary()["verdict"], "SUCCEEDED")

    def test_a_summary_in_a_folder_that_is_gone_changes_nothing(self):
        folder = self.site.folder / "execution"
        folder.mkdir()
        self.summary_file = "summary.json"
        gate = self.pipe("gate")
        shell = self.wrapped(folder=folder, command=f"read < {gate.path}")
        shutil.rmtree(folder)
        gate.write()
        self.assertEqual(shell.wait(END_SECONDS), 0)

    def test_the_next_master_keeps_the_step(self):
        first, gate = self.gated()
        (job,) = self.jobs()
        os.kill(machine.master_of(job), signal.SIGKILL)
        _, err = self.run_attempt("true", "--on-existing", "fail", code=2)
        self.assertIn("the step has a job that runs", err)
        gate.write()
        self.finish(first)


if __name__ == "__main__":
    integration_case.main()
