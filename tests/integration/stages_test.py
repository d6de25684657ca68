#!/usr/bin/env python3
"""Task types with an order: a preparation and a training, their failures, and limits after groups."""

import os
import signal

import integration_case
import machine
import tony_cli
from integration_case import JobTest, conf

END_SECONDS = 20


class StagesTest(JobTest):
    """Jobs of one task `prep` and of workers that are to come after it."""

    def prepare(self, prepare, train, *arguments, workers=2):
        """Starts a job that runs `prepare`, and then `train` in each worker."""
        return self.submit(
            train,
            *conf(prep__instances=1, prep__command=prepare, prep__memory="64m"),
            *conf(application__prepare_stage="prep"),
            *arguments,
            workers=workers,
        )

    def states(self, job, task):
        """The states that the task has been in."""
        return [
            change["state"]
            for change in job.events("task_changed")
            if tony_cli.task_name(change["task"]) == task
        ]

    def kill_master(self, job, number=signal.SIGKILL):
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, number)

    def test_training_follows_preparation(self):
        gate, training = self.pipe("gate"), self.pipe("training")
        # There is no room for both at a time.
        job = self.prepare(
            f"read < {gate.path}; echo $CLUSTER_SPEC; echo 42 > $TONY_CHECKPOINT_DIR/data",
            f"echo $CLUSTER_SPEC; cat $TONY_CHECKPOINT_DIR/data; read < {training.path}",
            *conf(local__memory="100m", prep__memory="80m", worker__memory="45m"),
        )
        prepared = job.wait_for_task("prep:0", "RUNNING")
        job.wait_for(lambda events: any("waiting" in event for event in events), "waiting")
        waiting = self.site.verb("status", job.id)["waiting"]
        self.assertEqual(waiting["what"], "worker waits for prep")
        self.assertEqual(waiting["missing"], ["prep:0"])
        self.assertEqual(self.states(job, "worker:0"), [])
        gate.write()
        job.wait_until_running("worker:0", "worker:1")
        # The prepare task is gone, and so is its container.
        self.assertEqual(machine.processes_with(prepared["container"]), {})
        self.assertIsNone(self.site.verb("status", job.id)["waiting"])
        training.write(2)
        self.assert_succeeds(job)
        self.assertRegex(job.log("prep:0"), rb'^\{"prep":\["127\.0\.0\.1:\d+"\]\}\n$')
        address = rb'"127\.0\.0\.1:\d+"'
        self.assertRegex(
            job.log("worker:1"), rb'^\{"worker":\[' + address + rb"," + address + rb"\]\}\n42\n$"
        )

    def test_failed_preparation(self):
        job = self.prepare("exit 3", "true")
        sentence = self.assert_ends(job, 1, "TASK_FAILED")
        self.assertEqual(
            sentence, "prep:0 exited with code 3; worker, which depends on prep, does not start"
        )
        self.assertEqual(job.verdict["guilty"]["type"], "prep")
        self.assertFalse((job.folder / "logs/worker-0").exists())

    def test_training_starts_again_without_preparation(self):
        gate = self.pipe("gate")
        fails_once = f"{{ read < {gate.path}; exit 1; }}"
        job = self.prepare(
            "echo prepared",
            f"[ $TASK_INDEX = 0 ] || [ $TONY_ATTEMPT = 2 ] || {fails_once}",
            *conf(am__retry_count=1),
        )
        job.wait_for_task("worker:0", "RUNNING")
        gate.write()
        self.assert_succeeds(job)
        self.assertEqual(len(job.events("epoch_opened")), 1)
        self.assertEqual(self.states(job, "prep:0").count("RUNNING"), 1)
        self.assertEqual(self.states(job, "worker:0").count("RUNNING"), 2)

    def test_master_is_killed_between_stages(self):
        gate = self.pipe("gate")
        job = self.prepare(f"read < {gate.path}", "echo $TONY_EPOCH $TONY_ATTEMPT")
        ended = machine.Processes(self, job.wait_until_running("prep:0"))
        # The ApplicationMaster is stopped while the preparation ends.
        self.kill_master(job, signal.SIGSTOP)
        gate.write()
        ended.wait_until_gone(END_SECONDS)
        self.kill_master(job)
        self.assert_succeeds(job)
        self.assertEqual(self.states(job, "prep:0").count("STARTING"), 1)
        self.assertEqual(job.log("worker:1"), b"0 1\n")

    def test_master_is_killed_within_the_second_stage(self):
        gate = self.pipe("gate")
        job = self.prepare("true", f"read < {gate.path}; echo $TONY_EPOCH $TONY_ATTEMPT")
        job.wait_until_running("worker:0", "worker:1")
        self.kill_master(job)
        job.wait_until_attached_again()
        gate.write(2)
        self.assert_succeeds(job)
        self.assertEqual(self.states(job, "prep:0").count("STARTING"), 1)
        self.assertEqual(job.log("worker:0"), b"0 1\n")

    def test_a_chain_with_a_branch(self):
        """first, then second and beside it a server; last after both."""
        line = self.pipe("line")
        report = f"echo $JOB_NAME > {line.path}"
        job = self.submit(
            report,
            *conf(first__instances=1, first__command=report, first__memory="32m"),
            *conf(server__instances=1, server__memory="32m", server__depends_on="first"),
            *conf(server__command=f"{report}; exec sleep 600"),
            *conf(application__untracked__jobtypes="server"),
            *conf(worker__depends_on="server"),
            *conf(last__instances=1, last__command=report, last__memory="32m"),
            *conf(last__depends_on="worker"),
        )
        self.assert_succeeds(job)
        names = [line.read() for _ in range(4)]
        self.assertEqual(names[0], "first")
        self.assertEqual(sorted(names[1:3]), ["server", "worker"])
        self.assertEqual(names[3], "last")


class DependencyTimeoutTest(JobTest):
    """A worker that ends at once, and an evaluator that never does."""

    def evaluate(self, *arguments):
        return self.submit(
            "true",
            *conf(evaluator__instances=1, evaluator__command="sleep 600", evaluator__memory="64m"),
            *conf(application__group__A="worker", task__kill_grace_ms=100),
            *("--conf", "tony.application.dependency.evaluator.timeout.after.A=1"),
            *arguments,
        )

    def test_fails_the_job(self):
        sentence = self.assert_ends(self.evaluate(), 3, "DEPENDENCY_TIMEOUT")
        key = "tony.application.dependency.evaluator.timeout.after.A"
        self.assertEqual(
            sentence,
            "evaluator had not ended 1 s after group A (worker) had, which is the limit of "
            f"{key}; raise it, or set {key}.ignored to true to go on without it",
        )

    def test_is_ignored(self):
        ignored = "tony.application.dependency.evaluator.timeout.after.A.ignored=true"
        job = self.evaluate("--conf", ignored)
        self.assert_succeeds(job)
        (note,) = job.events("note")
        self.assertIn("it is not waited for any longer", note["sentence"])


if __name__ == "__main__":
    integration_case.main()
