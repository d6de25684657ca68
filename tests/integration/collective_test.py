#!/usr/bin/env python3
"""tony.collective in jobs: ranks that tony-submit starts find it, and meet at the job's own driver."""

import subprocess
import sys
import textwrap

import integration_case
from horovod_case import RETRY, HorovodTest

# Not isolated, which would keep Python from reading PYTHONPATH.
PYTHON = f"exec {sys.executable} -s -B"
BEGIN = """
import os, signal, sys
import tony.collective as hvd
hvd.init()
"""
# The output of ranks that have met.
LINE = 'print("rank", hvd.rank(), "of", hvd.local_size(), hvd.allgather_object(hvd.rank()))'
KEY = "TONY_COLLECTIVE_KEY"
APART = ("unshare", "--user", "--map-root-user")
OFF = ("--conf", "tony.task.collective-package=false")
# Stalls are reported soon.
SOON = ("--conf", "tony.execution.envs=HOROVOD_STALL_CHECK_TIME_SECONDS=3",
        "--conf", "tony.task.metrics-interval-ms=100")


class CollectiveCase(HorovodTest):
    """Programs that need only the standard library, of a user without PYTHONPATH."""

    def setUp(self):
        super().setUp()
        self.site.environment.pop("PYTHONPATH", None)
        self.package = integration_case.programs.parent / "python"
        # The one comes before the user's folders, the other behind them.
        self.stacks = self.package / "tony/_stacks"
        self.paths = f"{self.stacks}:{self.package}"

    def write(self, text, name="rank.py"):
        """A file of the job's program."""
        path = self.site.folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def command(self, body):
        """The command of a worker; its program lies in the site's folder."""
        program = self.site.folder / "rank.py"
        program.write_text(BEGIN + textwrap.dedent(body))
        return f"{PYTHON} {program}"

    def lines(self, job, workers, attempt=1):
        """The output lines of the workers."""
        return [job.log(f"worker:{index}", attempt=attempt).decode().strip() for index in range(workers)]

    def run_program(self, *arguments, framework="horovod"):
        """The output of the only worker's program src/rank.py, in a successful job."""
        conf = ("--conf", f"tony.application.framework={framework}", "--src_dir", "src", *arguments)
        if framework == "horovod":
            job = self.submit_ranks(f"{PYTHON} rank.py", *conf, workers=1)
        else:
            job = self.submit(f"{PYTHON} rank.py", *conf)
        self.assert_succeeds(job)
        return job.log("worker:0").decode()


class MeetingTest(CollectiveCase):
    """Ranks and what becomes of them."""

    def test_ranks_meet(self):
        job = self.submit_ranks(self.command(LINE), workers=3)
        self.assert_succeeds(job)
        self.assertEqual(self.lines(job, 3), [f"rank {rank} of 3 [0, 1, 2]" for rank in range(3)])

    def test_what_ranks_count_is_shown(self):
        job = self.submit_ranks(self.command(f"""
            import pathlib, threading, time
            for _ in range(3):
                hvd.allgather_object(hvd.rank(), name="rank")
            measured = pathlib.Path({str(self.site.folder / "measured")!r})
            def wait(condition):
                deadline = time.monotonic() + 120
                while not condition():
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
            if hvd.rank() == 1:
                wait(measured.exists)
            before = hvd.counters()["negotiation_seconds"]
            meeting = threading.Thread(target=hvd.barrier)
            meeting.start()
            if hvd.rank() == 0:
                # The test lets the other rank come only when this counter has grown by more than
                # what that rank looks for. On a loaded machine the exchanges above count, too.
                wait(lambda: hvd.counters()["negotiation_seconds"] > before + 0.5)
                measured.touch()
            meeting.join()
            if hvd.rank() == 1:
                # Rank 0, which has measured it, tells it.
                wait(lambda: hvd.counters()["waited_for_seconds"] > 0.3)
            """), workers=2)
        self.assert_succeeds(job)
        tasks = {task["task"]: task for task in self.site.verb("status")["tasks"]}
        counted = [tasks[f"worker:{rank}"]["usage"]["collective"] for rank in range(2)]
        for each in counted:
            self.assertGreater(each["bytes"], 0)
            self.assertGreaterEqual(each["tensors"], each["operations"])
            self.assertEqual(each["by_number"] + each["by_request"], each["tensors"])
            # All but the first time, rank 0 knows what the name stands for.
            self.assertGreaterEqual(each["by_number"], 2)
            self.assertGreaterEqual(each["by_request"], 2)
        self.assertGreater(counted[0]["negotiation_seconds"], 0.3)
        # The late rank's counter has the others' waiting time, and no other counter has it.
        self.assertGreater(counted[1]["waited_for_seconds"], 0.3)
        self.assertLess(counted[0]["waited_for_seconds"], counted[1]["waited_for_seconds"])
        self.assertNotIn("collective", tasks["driver:0"].get("usage", {}))

    def test_a_stall_is_the_jobs_status_until_it_ends(self):
        go_on = self.pipe("go-on")
        ends = [self.pipe(f"end-{rank}") for rank in range(2)]
        job = self.submit_ranks(self.command(f"""
            if hvd.rank() == 1:
                open({str(go_on.path)!r}).readline()
            hvd.barrier()
            open({[str(end.path) for end in ends]!r}[hvd.rank()]).readline()
            """), *SOON, workers=2)
        waiting = job.wait_for(
            lambda events: [e["waiting"] for e in events if "waiting" in e
                            and e["waiting"]["what"].startswith("STALLED")], "stall")[0]
        self.assertEqual(waiting["what"], "STALLED: rank 0 in barrier.noname.0; rank 1 at rank.py:7 in <module>")
        shown = self.site.run("tony", "status").stdout
        self.assertRegex(shown, r"\nSTALLED \S+: rank 0 in barrier.noname.0; rank 1 at rank.py:7 in <module>; ")
        go_on.write()
        job.wait_for(
            lambda events: any(e.get("state_changed", {}).get("sentence") == "The ranks go on" for e in events),
            "end of the stall")
        for end in ends:
            end.write()
        self.assert_succeeds(job)

    def test_ranks_that_wait_for_each_other_fail(self):
        job = self.submit_ranks(self.command("""
            if hvd.rank() == 0:
                hvd.allgather_object(1, name="metric")
            else:
                hvd.barrier()
            """), *SOON, workers=2)
        self.assert_ends(job, 1, "TASK_FAILED")
        tail = "\n".join(job.verdict["exit"]["tail"])
        self.assertIn("ranks wait for each other in different operations, so that none can go on: rank ", tail)
        self.assertNotIn("_handles.py", tail)

    def test_a_killed_rank_and_a_job_that_begins_anew(self):
        job = self.submit_ranks(self.command(f"""
            if os.environ["TONY_EPOCH"] == "0":
                # The job ends it, too, and may be as fast.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                hvd.barrier()
                if hvd.rank() == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    hvd.barrier()
                except hvd.HorovodInternalError as error:
                    print(error, flush=True)
                    sys.exit(5)
            {LINE}
            """), *RETRY, workers=2)
        self.assert_succeeds(job)
        self.assertEqual(self.lines(job, 1), ["rank 1 has ended"])
        self.assertEqual(self.lines(job, 2, attempt=2), [f"rank {rank} of 2 [0, 1]" for rank in range(2)])


class FrameworkTest(CollectiveCase):
    """Jobs in which no variable names the ranks."""

    def submit_tensorflow(self, workers):
        """Workers that tell which rank they are."""
        return self.submit(self.command(LINE), "--conf", "tony.application.framework=tensorflow", workers=workers)

    def test_several_tasks_are_told_what_to_set(self):
        job = self.submit_tensorflow(workers=2)
        self.assert_ends(job, 1, "TASK_FAILED")
        said = "".join(job.log(f"worker:{index}", "stderr").decode() for index in range(2))
        self.assertRegex(said, "worker:[01] is one of 2 tasks, and nothing says which rank it is: set "
                               "tony.application.framework to horovod")
        self.assertNotIn("rank 0 of 1", "".join(self.lines(job, 2)))

    def test_a_task_that_is_alone_is_the_only_rank(self):
        job = self.submit_tensorflow(workers=1)
        self.assert_succeeds(job)
        self.assertEqual(self.lines(job, 1), ["rank 0 of 1 [0]"])


class KeyTest(CollectiveCase):
    """Ranks that share no memory, each in a user namespace of its own, so that they connect by TCP."""

    def setUp(self):
        super().setUp()
        tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"no namespaces for this user: {tried.stderr}")

    def apart(self, body, before=""):
        """The command of such ranks, each of which runs `before` first."""
        return f"{before} exec {' '.join(APART)} {self.command(body).removeprefix('exec ')}"

    def test_they_know_each_other_by_the_job_s_key(self):
        job = self.submit_ranks(self.apart(LINE), workers=3)
        self.assert_succeeds(job)
        self.assertEqual(self.lines(job, 3), [f"rank {rank} of 3 [0, 1, 2]" for rank in range(3)])

    def test_another_key_is_refused(self):
        job = self.submit_ranks(
            self.apart(LINE, before=f"[ $HOROVOD_RANK != 1 ] || export {KEY}=another;"), workers=2)
        self.assert_ends(job, 1, "TASK_FAILED")
        said = "".join(job.log(f"worker:{index}", "stderr").decode() for index in range(2))
        self.assertIn("in the job's store is not believed to be of rank", said)
        self.assertIn("another TONY_COLLECTIVE_KEY", said)


class StoreTest(CollectiveCase):
    """A process of the same user that reaches the job's store, and does not know the key."""

    def test_what_it_writes_is_not_believed(self):
        job = self.submit_ranks(f"{PYTHON} {self.attacked()}", workers=2)
        self.assert_ends(job, 1, "TASK_FAILED")
        said = "".join(job.log(f"worker:{index}", "stderr").decode() for index in range(2))
        self.assertIn("'host/1' in the job's store is not believed to be of rank 1: it is not signed", said)
        self.assertNotIn("of 2", "".join(self.lines(job, 2)))

    def attacked(self):
        """The program of ranks, of which the first one meets another host's rank 1 in the store."""
        program = self.site.folder / "rank.py"
        program.write_text(textwrap.dedent("""
            import os, time, urllib.error, urllib.request
            import tony.collective as hvd
            scope = "http://{HOROVOD_GLOO_RENDEZVOUS_ADDR}:{HOROVOD_GLOO_RENDEZVOUS_PORT}/tony_collective_0_0_0/"
            scope = scope.format(**os.environ)
            if os.environ["HOROVOD_RANK"] == "0":
                urllib.request.urlopen(urllib.request.Request(
                    scope + "host.1", data=b"mallory's host\\nnetwork", method="PUT")).close()
            else:
                deadline = time.monotonic() + 120
                while time.monotonic() < deadline:  # until rank 0 has decided
                    try:
                        urllib.request.urlopen(scope + "plan").close()
                        break
                    except urllib.error.HTTPError:
                        time.sleep(0.01)
            hvd.init()
            """) + LINE)
        return program


class PackageTest(CollectiveCase):
    """Which programs find the package, and which of two packages is found first."""

    # Whether it is there, and where.
    LOOK = """
        import importlib.util, os
        try:
            found = importlib.util.find_spec("tony.collective")
        except ModuleNotFoundError:
            found = None
        print(os.environ.get("PYTHONPATH"), found and found.origin)
        """

    def test_jobs_find_it(self):
        self.write(self.LOOK)
        for framework in ("horovod", "pytorch", "standalone", "tensorflow"):
            with self.subTest(framework):
                self.assertEqual(self.run_program(framework=framework),
                                 f"{self.paths} {self.package}/tony/collective/__init__.py\n")

    def test_it_can_be_turned_off(self):
        self.write(self.LOOK)
        self.assertEqual(self.run_program(*OFF, "--conf", "tony.task.stacks=false"), "None None\n")

    def test_the_user_s_folders_come_first(self):
        self.write(self.LOOK)
        self.write("", "mine/tony/collective/__init__.py")
        mine = self.site.folder / "src/mine"
        self.assertEqual(self.run_program("--shell_env", f"PYTHONPATH={mine}:/elsewhere"),
                         f"{self.stacks}:{mine}:/elsewhere:{self.package} {mine}/tony/collective/__init__.py\n")


class NameTest(CollectiveCase):
    """A program that has something of its own called tony."""

    # A module of the user's, and then ours.
    USE = """
        import tony{0}
        print(tony{0}.WHOSE)
        try:
            import tony.collective
            print("found")
        except ModuleNotFoundError as error:
            print(error)
        """

    def test_a_module(self):
        self.write(self.USE.format(""))
        self.write("WHOSE = 'mine'", "tony.py")
        self.assertEqual(self.run_program(),
                         "mine\nNo module named 'tony.collective'; 'tony' is not a package\n")

    def test_a_package(self):
        self.write(self.USE.format(".part"))
        self.write("", "tony/__init__.py")
        self.write("WHOSE = 'mine'", "tony/part.py")
        self.assertEqual(self.run_program(), "mine\nNo module named 'tony.collective'\n")

    def test_a_package_behind_it(self):
        """Its modules are found beside ours, which come first."""
        self.write("import sys\nsys.path.append('late')\n" + textwrap.dedent(self.USE.format(".part")))
        self.write("", "late/tony/__init__.py")
        self.write("WHOSE = 'mine'", "late/tony/part.py")
        self.assertEqual(self.run_program(), "mine\nfound\n")

    def test_a_folder(self):
        self.write(self.USE.format(".part"))
        self.write("WHOSE = 'mine'", "tony/part.py")
        self.assertEqual(self.run_program(), "mine\nfound\n")


if __name__ == "__main__":
    integration_case.main()
