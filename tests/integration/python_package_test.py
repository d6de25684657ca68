#!/usr/bin/env python3
"""The package `tony`: jobs that Python submits, follows and stops, and functions that run as jobs.

The package is that of the build, beside PROGRAMS, and finds them by itself.
"""

import asyncio
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import unittest
from unittest import mock

import integration_case
from integration_case import OwnSiteTest

# pylint: disable=wrong-import-order
import call_functions
import machine
import tony_cli

SMALL = {"tony.worker.memory": "64m"}
# A Python has more than the small tasks of other tests.
CALL = {"memory": "256m"}
DEADLINE = tony_cli.DEADLINE_SECONDS
BIG = 1024  # MiB

tony = None  # pylint: disable=invalid-name


class PackageTest(OwnSiteTest):
    """A test whose process has a site of its own."""

    def start_job(self, command, workers=1, **options):
        """A job of this process, which does not outlive the test."""
        job = tony.submit(tony.JobSpec(command=command, conf=SMALL, worker=tony.Type(workers)), **options)
        self.addCleanup(self.stop_quietly, job)
        return job

    @staticmethod
    def stop_quietly(job):
        """The job's end, whatever it is."""
        try:
            job.stop()
        except tony.TonyError:
            pass

    def assert_gone(self, job):
        """Nothing of an ended job is left but its record."""
        self.assert_nothing_left(self.site.local_dir / "jobs" / job.id)

    def python(self, program, *arguments):
        """Starts a Python program with the package; its standard output is a pipe."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:1] + [str(integration_case.package_folder())])}
        process = subprocess.Popen([sys.executable, "-B", "-c", program, *arguments], env=environment, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for clean_up in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(clean_up)
        return process


class SubmitTest(PackageTest):
    """Each form of a job, and what is wrong with it."""

    def test_a_description(self):
        spec = tony.JobSpec(command='echo "$GREETING from $TASK_INDEX"', name="greeter", env={"GREETING": "a, b"},
                            worker=tony.Type(2, memory="64m"))
        job = tony.submit(spec)
        verdict = job.result(DEADLINE)
        self.assertEqual((verdict.reason, verdict.exit_code), ("TASKS_SUCCEEDED", 0))
        self.assertEqual(sorted((line.task, line.text) for line in job.logs()),
                         [("worker:0", "a, b from 0"), ("worker:1", "a, b from 1")])
        self.assertEqual([line.text for line in job.logs("worker:1", tail=1)], ["a, b from 1"])
        status = job.status()
        self.assertEqual((status.name, status.state, status.alive), ("greeter", "SUCCEEDED", False))
        self.assertEqual([(task.name, task.state, task.exit.code) for task in job.tasks()],
                         [("worker:0", "SUCCEEDED", 0), ("worker:1", "SUCCEEDED", 0)])
        self.assertEqual(job.wait(), verdict)
        self.assert_gone(job)

    def test_a_file_with_further_keys_and_a_program(self):
        source = self.site.folder / "src"
        source.mkdir()
        (source / "word.txt").write_text("word\n")
        file = self.write_job(("tony.worker.instances", "1"), ("tony.containers.command", "cat word.txt; echo $A$B"),
                              ("tony.execution.envs", "A=1"))
        job = tony.submit(file, conf={**SMALL, "tony.worker.instances": 2}, src_dir=source, env={"B": 2})
        job.result(DEADLINE)
        self.assertEqual(sorted(line.text for line in job.logs("worker")), ["12", "12", "word", "word"])

    def test_keys(self):
        job = tony.submit({"tony.worker.instances": 1, "tony.containers.command": "exit 0", **SMALL})
        self.assertEqual(job.result(DEADLINE).outcome, "SUCCEEDED")

    def test_bad_jobs(self):
        file = self.write_job(("tony.worker.instances", "1"), ("tony.worker.gpus", "-1"))
        with self.assertRaises(tony.BadJob) as raised:
            tony.submit(file)
        problem = raised.exception.problems[0]
        self.assertEqual((problem.file, problem.line, problem.key), (str(file), 3, "tony.worker.gpus"))
        self.assertIn(f"{file} cannot run:\n  {file}:3: tony.worker.gpus: -1", str(raised.exception))
        with self.assertRaisesRegex(tony.BadJob, "tony.worker.instnaces.*tony.worker.instances"):
            tony.submit({"tony.worker.instnaces": 1, "tony.containers.command": "true"})
        with self.assertRaisesRegex(tony.BadJob, "no-such.xml"):
            tony.submit(self.site.folder / "no-such.xml")

    def test_what_never_fits(self):
        with self.assertRaisesRegex(tony.NeverFits, "lower tony.worker.memory"):
            tony.submit(tony.JobSpec(command="true", worker=tony.Type(1, memory="1000000g")))
        self.assertEqual(tony.jobs(), [])

    def test_keys_cannot_be_read_by_other_users(self):
        gate = self.pipe("gate")
        job = self.start_job(f"read < {gate.path}", env={"TOKEN": "a-secret-value"})
        for command in machine.processes_with(job.id).values():
            self.assertNotIn("a-secret-value", command)
        (client,) = (command for command in machine.processes_with("--stop-with").values() if str(os.getpid()) in command)
        self.assertNotIn("a-secret-value", client)
        gate.write(1)
        job.result(DEADLINE)


class EndTest(PackageTest):
    """Jobs that do not succeed, and those that are followed."""

    def test_a_failure(self):
        job = self.start_job("[ $TASK_INDEX = 0 ] && exec sleep 600; echo last words; exit 3", 2)
        with self.assertRaises(tony.JobFailed) as raised:
            job.result(DEADLINE)
        error = raised.exception
        self.assertEqual((error.job_id, error.reason, error.guilty, error.exit_code, error.tail),
                         (job.id, "TASK_FAILED", "worker:1", 3, ("last words",)))
        self.assertIn("worker:1 exited with code 3", str(error))
        self.assertEqual(job.wait().outcome, "FAILED")
        self.assert_gone(job)

    def test_a_stop(self):
        job = self.start_job("exec sleep 600")
        with self.assertRaisesRegex(TimeoutError, f"job {job.id} goes on after 0.01 s"):
            job.wait(0.01)
        next(event for event in job.events() if event.data.get("state") == "RUNNING")
        self.assertRegex(job.page_url(), "^http://127.0.0.1:")
        self.assertIsNone(job.tensorboard_url())
        self.assertEqual(job.stop().reason, "KILLED_BY_USER")
        with self.assertRaises(tony.Killed):
            job.result()
        self.assert_gone(job)

    def test_the_end_of_a_with_block(self):
        with self.start_job("exec sleep 600") as job:
            self.assertEqual([other.id for other in tony.jobs(running=True)], [job.id])
        self.assertEqual(job.wait().outcome, "KILLED")

    def test_events_and_lines_as_they_come(self):
        gate = self.pipe("gate")
        job = self.start_job(f"echo first; read < {gate.path}; echo second")
        lines = job.logs("worker:0", follow=True)
        self.assertEqual(next(lines).text, "first")
        gate.write(1)
        self.assertEqual([line.text for line in lines], ["second"])
        events = list(job.events())
        self.assertEqual([event.sequence for event in events], list(range(1, len(events) + 1)))
        self.assertEqual((events[0].kind, events[-1].kind), ("submitted", "ended"))
        job.result(DEADLINE)
        self.assertEqual(list(job.events(follow=False)), events)

    def test_a_reader_that_stops_early_leaves_no_process(self):
        job = self.start_job("exec sleep 600")
        for events in (job.events(), job.logs(follow=True)):
            if events.gi_code.co_name == "events":
                next(events)
            events.close()
        readers = [command for command in machine.processes_with(job.id).values() if "--follow" in command]
        self.assertEqual(readers, [])

    def test_jobs_that_are_listed(self):
        good, bad = (self.start_job(f"exit {code}") for code in (0, 5))
        good.wait(DEADLINE)
        bad.wait(DEADLINE)
        self.assertEqual({job.id for job in tony.jobs()}, {good.id, bad.id})
        (failed,) = tony.jobs(failed=True)
        self.assertEqual((failed.id, failed.verdict.exit_code, failed.tasks), (bad.id, 1, ()))
        self.assertEqual(tony.jobs(running=True), [])


class LifetimeTest(PackageTest):
    """Whose job it is."""

    START = ("import sys, tony\n"
             "job = tony.submit(tony.JobSpec(command='exec sleep 600', worker=tony.Type(1, memory='64m')),\n"
             "                  detach='detach' in sys.argv)\n"
             "print(job.id, flush=True)\n"
             "sys.stdin.readline()\n"
             "if 'wait' in sys.argv: job.wait()\n")

    def assert_ends_with(self, end, sentence, *arguments):
        """A job that another Python has submitted ends when `end(process)` has happened to that."""
        process = self.python(self.START, *arguments)
        job = tony.attach(process.stdout.readline().strip())
        self.assertFalse(job.owned)
        end(process)
        verdict = job.wait(DEADLINE)
        self.assertEqual((verdict.outcome, verdict.sentence), ("KILLED", sentence))
        self.assert_gone(job)

    def test_it_ends_with_a_python_that_ends(self):
        self.assert_ends_with(lambda process: process.communicate("\n"),
                              "Stopped because the process that had submitted it has ended")

    def test_it_ends_with_a_python_that_is_killed(self):
        self.assert_ends_with(lambda process: process.send_signal(signal.SIGKILL),
                              "Stopped because the process that had submitted it has ended")

    def test_it_ends_with_a_python_that_ctrl_c_interrupts(self):
        def interrupt(process):
            process.stdin.write("\n")
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
        self.assert_ends_with(interrupt, "Stopped because the process that had submitted it has ended", "wait")

    def test_it_ends_at_once_without_the_process_that_it_is_to_end_with(self):
        # Process 1 lives, but has not started this tony-submit: whoever has is gone.
        result = self.site.run("tony-submit", "--executes", "exec sleep 600", "--conf", "tony.worker.instances=1",
                               *integration_case.SMALL, "--stop-with", "1", "--quiet")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("Stopped because the process that had submitted it has ended", result.stdout)

    def test_a_detached_job_goes_on(self):
        process = self.python(self.START, "detach")
        job = tony.attach(process.stdout.readline().strip())
        process.communicate("\n")
        self.assertEqual(process.returncode, 0)
        self.assertTrue(job.status().alive)
        with self.assertRaisesRegex(TimeoutError, "goes on"):
            job.wait(0.01)
        self.assertEqual(job.stop().outcome, "KILLED")
        self.assertEqual(job.stop().outcome, "KILLED")

    def test_jobs_that_are_not_there(self):
        with self.assertRaisesRegex(tony.NoSuchJob, "there are no jobs"):
            tony.attach("nowhere")
        job = self.start_job("exit 0")
        job.result(DEADLINE)
        with self.assertRaisesRegex(tony.NoSuchJob, "no job 'nowhere'"):
            tony.attach("nowhere")
        with self.assertRaisesRegex(tony.NoSuchJob, "ps:3"):
            list(job.logs("ps:3"))


class StepTest(PackageTest):
    """Jobs that are steps of a workflow."""

    def test_a_second_attempt_adopts_the_job(self):
        gate = self.pipe("gate")
        first = self.start_job(f"read < {gate.path}", step_key="prepare|1")
        second = self.start_job("exit 7", step_key="prepare|1")
        self.assertEqual(second.id, first.id)
        with self.assertRaisesRegex(tony.TonyError, first.id):
            self.start_job("exit 7", step_key="prepare|1", on_existing="fail")
        gate.write(1)
        for job in (first, second):
            self.assertEqual(job.result(DEADLINE).reason, "TASKS_SUCCEEDED")
        self.assertEqual(len(tony.jobs()), 1)


class AsyncioTest(PackageTest):
    """tony.aio."""

    SPEC = {"tony.worker.instances": 1, **SMALL}

    def test_jobs_side_by_side(self):
        async def one(number):
            job = await tony.aio.submit({**self.SPEC, "tony.containers.command": f"echo {number}; exit {number}"})
            kinds = [event.kind async for event in job.events()]
            verdict = await job.wait(DEADLINE)
            lines = [line.text async for line in job.logs()]
            return kinds[0], kinds[-1], verdict.exit_code, lines

        async def both():
            return await asyncio.gather(one(0), one(3))
        self.assertEqual(asyncio.run(both()), [("submitted", "ended", 0, ["0"]), ("submitted", "ended", 1, ["3"])])

    def test_waits_that_are_given_up(self):
        async def give_up():
            job = await tony.aio.submit({**self.SPEC, "tony.containers.command": "exec sleep 600"})
            with self.assertRaisesRegex(TimeoutError, "goes on after 0.01 s"):
                await job.wait(0.01)
            waiting = asyncio.ensure_future(job.wait())
            events = job.events()
            self.assertEqual((await events.__anext__()).kind, "submitted")
            waiting.cancel()
            await events.aclose()
            other = await tony.aio.attach(job.id)
            self.assertEqual([status.id for status in await tony.aio.jobs(running=True)], [job.id])
            self.assertEqual((await other.stop()).outcome, "KILLED")
            with self.assertRaises(tony.Killed):
                await job.result(DEADLINE)
            return job
        self.assert_gone(asyncio.run(give_up()))

    def test_errors(self):
        async def refused():
            with self.assertRaises(tony.BadJob) as raised:
                await tony.aio.submit({"tony.worker.instances": -1})
            self.assertEqual(raised.exception.problems[0].key, "tony.worker.instances")
            with self.assertRaises(tony.NoSuchJob):
                await tony.aio.attach("nowhere")
        asyncio.run(refused())

    def test_a_function(self):
        values = asyncio.run(tony.aio.run(call_functions.rank_and, 2, (40,), {"plus": 2}, **CALL))
        self.assertEqual(values, [(0, 42), (1, 42)])


class CallTest(PackageTest):
    """Functions as jobs."""

    def setUp(self):
        super().setUp()
        self.temporary = self.site.folder / "temporary"
        self.temporary.mkdir()
        patch = mock.patch("tempfile.tempdir", str(self.temporary))
        patch.start()
        self.addCleanup(patch.stop)

    def assert_nothing_left_behind(self):
        """The calls' files are gone."""
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_what_the_ranks_return(self):
        self.assertEqual(tony.run(call_functions.rank_and, 3, (1,), **CALL), [(0, 1), (1, 1), (2, 1)])
        self.assert_nothing_left_behind()

    def test_an_exception(self):
        gate = self.pipe("gate")
        with self.assertRaises(call_functions.CityError) as raised:
            tony.run(call_functions.fail_in, 2, (1, str(gate.path)), **CALL)
        error = raised.exception
        self.assertEqual((error.city, error.number), ("Ulm", 1))
        cause = error.__cause__
        self.assertIsInstance(cause, tony.RankFailed)
        self.assertEqual((cause.rank, cause.guilty, cause.reason), (1, "worker:1", "TASK_FAILED"))
        self.assertIn('raise CityError("Ulm", rank)', cause.traceback)
        self.assert_nothing_left_behind()

    def test_a_crash(self):
        with self.assertRaises(tony.JobFailed) as raised:
            tony.run(call_functions.end_without_a_word, **CALL)
        self.assertEqual(raised.exception.exit_code, 7)

    def test_what_cannot_be_pickled_starts_nothing(self):
        with self.assertRaisesRegex(tony.CannotPickle, "argument 0 of rank_and cannot be pickled"):
            tony.run(call_functions.rank_and, 2, (threading.Lock(),), **CALL)
        self.assertEqual(tony.jobs(), [])
        self.assert_nothing_left_behind()

    def test_a_function_of_this_program(self):
        try:
            import cloudpickle as _  # pylint: disable=import-outside-toplevel
        except ImportError:
            with self.assertRaisesRegex(tony.CannotPickle, "defined in the program itself|cannot be pickled"):
                tony.run(lambda: 1, **CALL)
            return
        factor = 3
        self.assertEqual(tony.run(lambda value: value * factor, 2, (2,), **CALL), [6, 6])

    def test_a_python_that_is_not_there(self):
        with self.assertRaises(tony.JobFailed) as raised:
            tony.run(call_functions.rank_and, 1, (1,), python="/no/python3", **CALL)
        self.assertIn("/no/python3", str(raised.exception))

    def test_a_call_that_is_left(self):
        gate = self.pipe("gate")
        with self.assertRaisesRegex(TimeoutError, "goes on"):
            tony.run(call_functions.fail_in, 1, (1, str(gate.path)), timeout=0.5, **CALL)
        (job,) = tony.jobs()
        self.assertEqual(job.state, "KILLED")
        call = tony.start(call_functions.fail_in, 1, (1, str(gate.path)), **CALL)
        call.stop()
        with self.assertRaises(tony.Killed):
            call.result()
        self.assert_nothing_left_behind()


class BigResultTest(PackageTest):
    """A result of a gigabyte."""

    def test_it_is_in_memory_once(self):
        if self.available() < 3 * BIG:
            self.skipTest(f"this machine has no {3 * BIG} MiB free")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (value,) = tony.run(call_functions.megabytes, args=(BIG,), memory=f"{BIG + 300}m",
                            results_dir=self.site.folder)
        self.assertEqual(len(value), BIG << 20)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        self.assertLess(grown, 1.2 * BIG)

    @staticmethod
    def available():
        """MiB."""
        for line in pathlib.Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
        return 0


def load_package():
    """Imports the package beside the programs."""
    global tony  # pylint: disable=global-statement
    tony = integration_case.import_package()


if __name__ == "__main__":
    integration_case.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    load_package()
    unittest.main()
