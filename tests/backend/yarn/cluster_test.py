#!/usr/bin/env python3
"""What becomes of the YARN backend's calls on a real cluster.

    cluster_test.py YARN_BACKEND_MASTER [UNITTEST-ARGUMENT…]

The program is an ApplicationMaster that this test moves. Exits with 77 where Hadoop cannot run.
"""

import os
import pathlib
import re
import signal
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import machine  # noqa: E402
import yarn_cluster  # noqa: E402

PATIENCE = 60  # seconds; a test that works waits much less
GPU_NODE_MB = 4096


class Application:
    """An application, and the lines of its ApplicationMaster."""

    def __init__(self, cluster, program, *arguments, attempts=1, queue="train"):
        self.cluster = cluster
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(PATIENCE)
        self.connection = None
        self.lines = []
        self.id = cluster.ask("apps/new-application", {})["application-id"]
        scheduler = cluster.environment["SCHEDULER_ADDRESS"]
        words = [str(program), scheduler, str(self.server.getsockname()[1]), *arguments]
        cluster.ask("apps", {
            "application-id": self.id, "application-name": "backend test",
            "application-type": "TONY", "queue": queue, "max-app-attempts": attempts,
            "keep-containers-across-application-attempts": attempts > 1,
            "resource": {"memory": 128, "vCores": 1},
            "am-container-spec": {
                "commands": {"command": " ".join(words) + " 1><LOG_DIR>/master 2>&1"}}})
        self.connect()

    def connect(self):
        """The next ApplicationMaster's lines from here on; returns its process id."""
        self.disconnect()
        self.connection, _ = self.server.accept()
        self.connection.settimeout(PATIENCE)
        self.input = self.connection.makefile("r")
        return int(self.expect(r"began (\d+)").group(1))

    def say(self, line):
        self.connection.sendall((line + "\n").encode())

    def expect(self, pattern):
        """The first line that fits, taken out of those that came; they may come in any order."""
        while True:
            for i, line in enumerate(self.lines):
                match = re.fullmatch(pattern, line)
                if match:
                    del self.lines[i]
                    return match
            try:
                line = self.input.readline()
            except TimeoutError:
                line = ""
            if not line:
                raise AssertionError(f"no line “{pattern}”, but {self.lines}")
            self.lines.append(line.rstrip("\n"))

    def register(self):
        self.say("start")
        return self.expect(r"registered (\S+) (\d+) (\d+)")

    def granted(self, kind):
        return self.expect(rf"granted (\S+) {kind} (\S+) (\d+) (\d+)")

    def ended(self, container):
        """"lost" or "exited", "seen" or "unseen", and the sentence."""
        return self.expect(rf"ended {container} (\w+) (\w+) (.*)").groups()

    def run(self, container, command):
        """Returns the shell's process id once it has begun."""
        path = self.cluster.folder / f"begun-{container}"
        self.say(f"launch {container} echo $$ >{path}.new; mv {path}.new {path}; {command}")
        if not machine.wait_until(path.exists, PATIENCE, pause_seconds=0.02):
            raise AssertionError(f"{container} does not begin: {self.lines}")
        return int(path.read_text())

    def finish(self):
        self.say("finish")
        self.expect("finished OK")
        self.close()

    def disconnect(self):
        if self.connection is not None:
            self.input.close()
            self.connection.close()

    def close(self):
        self.disconnect()
        self.server.close()


class YarnBackend(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        preemption = "yarn:yarn.resourcemanager.monitor.capacity.preemption."
        cls.cluster = yarn_cluster.YarnCluster(
            "--no-hdfs", "--recovery", "--gpus", "0,4",
            # Without control groups nobody would hold containers to their memory.
            "--property", "yarn:yarn.nodemanager.resource.memory.enforced=false",
            "--property", "yarn:yarn.resourcemanager.scheduler.monitor.enable=true",
            "--property", preemption + "monitoring_interval=500",
            "--property", preemption + "max_wait_before_kill=2000",
            "--property", preemption + "total_preemption_per_round=1.0",
            "--property", preemption + "natural_termination_factor=1.0")
        cls.addClassCleanup(cls.cluster.stop)

    def submit(self, *arguments, **options):
        application = Application(self.cluster, self.program, *arguments, **options)
        self.addCleanup(application.close)
        return application

    def log_of(self, application, container):
        (path,) = self.cluster.folder.glob(f"data/node*/log/{application.id}/{container}/executor.log")
        return path.read_text()

    def node_of(self, container):
        """The NodeManager that runs it: its number."""
        (path,) = self.cluster.folder.glob(f"data/node*/log/*/{container}")
        return int(re.search(r"/node(\d+)/", str(path)).group(1))

    def test_two_sizes_are_granted_and_run(self):
        application = self.submit("worker=gpu")
        registered = application.register()
        self.assertEqual(registered.groups(), ("root.train", str(GPU_NODE_MB), "4"))
        application.say("request worker 2 256 1 2 ps 1 128 1 0")
        workers = [application.granted("worker") for _ in range(2)]
        ps = application.granted("ps")
        self.assertEqual({match.group(3, 4) for match in workers}, {("256", "2")})
        self.assertEqual(ps.group(3, 4), ("128", "0"))
        good, bad, kill = (match.group(1) for match in (*workers, ps))
        application.say(f'launch {good} echo "$0"; echo "$1"; echo "$BASE"; echo "$ODD" >&2')
        application.say(f"launch {bad} exit 7")
        pid = application.run(kill, "sleep 1000 & wait")
        self.assertEqual(application.ended(good),
                         ("exited", "seen", "tony-executor exited with code 0"))
        self.assertEqual(application.ended(bad),
                         ("exited", "seen", "tony-executor exited with code 7"))
        self.assertEqual(
            self.log_of(application, good),
            "it's\n{{HOME}}\nfrom the template\n$HOME `date` \"quoted\" \\ {{x}} <LOG_DIR>\n")
        application.say(f"kill {kill}")
        self.assertEqual(application.ended(kill), ("lost", "seen", "tony-am had it stopped"))
        self.assertFalse(machine.lives(pid))
        application.finish()
        report = self.cluster.ask(f"apps/{application.id}")["app"]
        self.assertEqual((report["state"], report["finalStatus"]), ("FINISHED", "SUCCEEDED"))

    def test_what_never_fits_is_refused_and_the_rest_goes_on(self):
        application = self.submit("nowhere=none")
        application.say("request worker 1 8000 1 0")  # before it has registered
        application.register()
        self.assertEqual(
            application.expect("refused never (.*)").group(1),
            "worker asks for 8000 MiB of memory, where 4096 MiB is the largest that any node has "
            "for applications of queue root.train")
        application.say("request worker 1 100 1 5")
        application.expect("refused never worker asks for 5 yarn.io/gpu, where 4 is the largest .*")
        application.say("request nowhere 1 128 1 0")
        application.expect("refused now YARN refuses the request: .*InvalidLabel.*=none.*")
        application.say("request worker 1 128 1 0")
        container = application.granted("worker").group(1)
        application.say(f"kill {container}")
        application.finish()

    def test_what_has_to_wait_says_so_and_can_be_taken_back(self):
        application = self.submit()
        application.register()
        application.say("request worker 3 3000 1 0")
        for _ in range(2):
            application.granted("worker")
        self.assertEqual(
            application.expect(r"waiting (.*) \| .*").group(1),
            "from YARN's queue root.train are still to come: 1 worker (3000 MiB, 1 core)")
        application.say("cancel")
        application.say("request ps 1 128 1 0")
        application.granted("ps")
        application.finish()

    def nodes_of(self, granted):
        """The nodes that granted containers are on, in order; they need not be launched."""
        log = self.cluster.folder / "log" / "resourcemanager.log"
        return sorted(re.search(rf"Assigned container {container} .* on host (\S+)",
                                log.read_text()).group(1) for container in granted)

    def test_containers_keep_apart_and_together(self):
        """A node would hold all of them, and no more than two of them have more than one tag."""
        application = self.submit("worker@w=notin,node,w", "near@n=in,node,w", "ps@ps=",
                                  "'both@b=and(in,node,w:cardinality,node,b,0,0)'")
        application.register()
        application.say("request worker 2 128 1 0")
        workers = [application.granted("worker").group(1) for _ in range(2)]
        self.assertEqual(len(set(self.nodes_of(workers))), 2)
        application.say("request near 1 128 1 0 both 2 128 1 0 ps 1 128 1 0")
        both = [application.granted("both").group(1) for _ in range(2)]
        self.assertEqual(self.nodes_of(both), self.nodes_of(workers))
        application.granted("near")
        application.granted("ps")
        application.run(workers[0], "sleep 1000 & wait")
        application.say("request worker 1 128 1 0")
        self.assertEqual(
            application.expect(r"waiting (.*) \| .*").group(1),
            "from YARN's queue root.train are still to come: "
            "1 worker (128 MiB, 1 core, placed notin,node,w)")
        application.say(f"kill {workers[0]}")
        application.ended(workers[0])
        application.granted("worker")
        application.say("request worker 1 128 1 0")
        application.expect("waiting .*")
        application.say("cancel")
        application.say("request ps 1 128 1 0")
        application.granted("ps")
        self.assertEqual([line for line in application.lines if "refused" in line], [])
        application.finish()

    def test_a_label_goes_with_a_constraint_and_with_a_tag(self):
        application = self.submit("worker=gpu", "worker@w=notin,node,w", "ps=gpu", "ps@p=")
        application.register()
        application.say("request worker 1 128 1 0 ps 2 128 1 0")
        granted = [application.granted(kind).group(1) for kind in ("worker", "ps", "ps")]
        (node,) = set(self.nodes_of(granted))
        application.run(granted[0], "sleep 1000 & wait")
        self.assertEqual(self.node_of(granted[0]), 2, node)
        application.say("request worker 1 128 1 0")
        application.expect(r"waiting .* 1 worker \(128 MiB, 1 core, label gpu, placed notin,node,w\).*")
        application.finish()

    def test_any_resource_type_is_counted(self):
        application = self.submit("worker+trainer.io/tpu=2", "ps+trainer.io/cup=1")
        application.register()
        application.say("request worker 2 128 1 0")
        workers = [application.granted("worker").group(1) for _ in range(2)]
        self.assertEqual(len(set(self.nodes_of(workers))), 2)
        application.say("request ps 1 128 1 0")
        application.expect("refused never ps asks for 1 trainer.io/cup, a resource type that the "
                           "cluster does not have .*")
        application.finish()

    def test_a_signal_and_a_failed_launch_are_told(self):
        application = self.submit()
        application.register()
        application.say("request worker 2 128 1 0")
        signaled, expected = (application.granted("worker").group(1) for _ in range(2))
        application.say(f"launch {signaled} kill -9 $$")
        self.assertEqual(
            application.ended(signaled),
            ("lost", "seen", "tony-executor was killed by signal 9 (SIGKILL)"))
        application.run(expected, f"until [ -e {self.cluster.folder}/go ]; do sleep 0.05; done")
        application.say(f"expect {expected}")
        (self.cluster.folder / "go").touch()
        self.assertEqual(application.ended(expected)[0], "exited")
        application.finish()

    def test_memory_and_files_that_are_not_there_are_told(self):
        application = self.submit()
        application.register()
        application.say("request worker 1 128 1 0")
        container = application.granted("worker").group(1)
        program = 'x = b"x" * (300 << 20); import time; time.sleep(1000)'
        application.say(f"launch {container} exec {sys.executable} -c '{program}'")
        state, seen, sentence = application.ended(container)
        self.assertEqual((state, seen), ("lost", "seen"))
        self.assertRegex(sentence, "its processes used more physical memory than YARN allows: "
                         ".* of 128 MB; ask for more memory")
        application.finish()

        application = self.submit("worker=gpu", "/nonexistent/file")
        application.register()
        application.say("request worker 2 128 1 0")
        for _ in range(2):
            container = application.granted("worker").group(1)
            application.say(f"launch {container} true")
            self.assertEqual(
                application.ended(container),
                ("lost", "seen", "its node could not prepare what it needs: "
                 "File file:/nonexistent/file does not exist"))
        application.expect("warning node localhost:.* is left out from now on, .*")
        application.say("request worker 1 128 1 0")
        application.expect("waiting .*; left out for failed launches: localhost:.*")
        application.finish()

    def test_preemption_is_warned_of(self):
        """An application of the other queue wants what this one has beyond its share."""
        application = self.submit()
        application.register()
        application.say("request worker 1 3500 1 0")
        first = application.granted("worker").group(1)
        application.run(first, "sleep 1000 & wait")
        application.say("request worker 1 3500 1 0")
        second = application.granted("worker").group(1)
        application.run(second, "sleep 1000 & wait")
        other = self.submit(queue="default")
        other.register()
        other.say("request worker 1 2000 1 0")
        warned = application.expect("warning YARN (?:may|will) take back container (\\S+) .*")
        taken = warned.group(1)
        self.assertIn("(preemption)", application.ended(taken)[2])
        other.granted("worker")
        other.finish()
        application.finish()

    def test_resource_manager_killed_and_started_again(self):
        application = self.submit()
        application.register()
        application.say("request worker 2 256 1 0")
        first, second = (application.granted("worker").group(1) for _ in range(2))
        pids = [application.run(container, "sleep 1000 & wait") for container in (first, second)]
        self.cluster.kill("resourcemanager")
        # What is asked for, and killed, while it is away.
        application.say("request ps 1 128 1 0")
        application.say(f"kill {first}")
        self.assertEqual(application.ended(first), ("lost", "seen", "tony-am had it stopped"))
        self.cluster.launch("resourcemanager")
        ps = application.granted("ps").group(1)
        self.assertEqual([machine.lives(pid) for pid in pids], [False, True])
        application.say(f"launch {ps} exit 3")
        self.assertEqual(application.ended(ps)[2], "tony-executor exited with code 3")
        application.say(f"kill {second}")
        self.assertEqual(application.ended(second)[:2], ("lost", "seen"))
        application.finish()

    def test_the_next_attempt_takes_its_containers_over(self):
        application = self.submit(attempts=2)
        application.register()
        application.say("request worker 4 128 1 0")
        kept, ends, dropped, gone = (application.granted("worker").group(1) for _ in range(4))
        pids = {container: application.run(container, "sleep 1000 & wait")
                for container in (kept, ends, dropped)}
        self.await_known(pids)
        os.kill(self.master_pid(application), signal.SIGKILL)
        os.kill(pids[ends], signal.SIGKILL)
        application.connect()
        application.say(f"reclaim {kept} worker {ends} worker {gone} worker "
                        "container_1_0001_01_000099 worker nonsense worker")
        application.register()
        self.assertEqual(application.ended("nonsense")[2], "nonsense is no container of YARN")
        self.assertEqual(application.ended(ends),
                         ("lost", "seen", "tony-executor was killed by signal 9 (SIGKILL)"))
        self.await_end(pids[dropped])
        self.assertTrue(machine.lives(pids[kept]))
        application.say(f"kill {kept}")
        self.assertEqual(application.ended(kept), ("lost", "seen", "tony-am had it stopped"))
        self.assertFalse(machine.lives(pids[kept]))
        application.say("kill container_1_0001_01_000099")
        self.assertEqual(application.ended("container_1_0001_01_000099")[:2], ("lost", "unseen"))
        application.finish()

    def test_a_node_is_killed(self):
        """Its processes live on, and nobody has seen the end of them."""
        application = self.submit("worker=gpu")
        application.register()
        application.say("request worker 2 128 1 1")
        lost, killed = (application.granted("worker").group(1) for _ in range(2))
        pids = [application.run(container, "exec sleep 1000") for container in (lost, killed)]
        for pid in pids:
            self.addCleanup(self.end, pid)
        number = self.node_of(lost)
        if self.node_of(killed) != number:
            self.fail("the label is on one node")
        self.cluster.kill(f"nodemanager{number}")
        self.addCleanup(self.bring_back, f"nodemanager{number}")
        application.say(f"kill {killed}")
        self.assertEqual(application.ended(killed)[:2], ("lost", "unseen"))
        state, seen, sentence = application.ended(lost)
        self.assertEqual((state, seen), ("lost", "unseen"))
        self.assertIn("its node was lost", sentence)
        self.assertEqual([machine.lives(pid) for pid in pids], [True, True])
        application.finish()

    def master_pid(self, application):
        attempts = self.cluster.ask(f"apps/{application.id}/appattempts")
        container = attempts["appAttempts"]["appAttempt"][-1]["containerId"]
        (path,) = self.cluster.folder.glob(f"data/node*/local/nmPrivate/*/{container}/*.pid")
        return int(path.read_text())

    def await_known(self, containers):
        """Until the ResourceManager has heard from the nodes that they run.

        It takes all others back when an ApplicationMaster is lost.
        """
        log = self.cluster.folder / "log" / "resourcemanager.log"
        known = machine.wait_until(
            lambda: all(f"{container} Container Transitioned from ACQUIRED to RUNNING" in
                        log.read_text() for container in containers),
            PATIENCE, pause_seconds=0.05)
        self.assertTrue(known, "it does not hear of them")

    def await_end(self, pid):
        ended = machine.wait_until(lambda: not machine.lives(pid), PATIENCE, pause_seconds=0.05)
        self.assertTrue(ended, f"process {pid} does not end")

    def bring_back(self, daemon):
        self.cluster.launch(daemon)
        back = machine.wait_until(
            lambda: self.cluster.ask("metrics")["clusterMetrics"]["activeNodes"] >= 2,
            PATIENCE, pause_seconds=0.2)
        self.assertTrue(back, f"{daemon} does not come back")

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def main():
    yarn_cluster.skip_without()
    YarnBackend.program = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
