#!/usr/bin/env python3
"""What goes wrong on a real YARN cluster, and what the user is told then.

    yarn_faults_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, with the runtime bundle built beside it.
Exits with 77 where Hadoop cannot run.
"""

import contextlib
import functools
import getpass
import http.server
import io
import json
import os
import pathlib
import shutil
import signal
import sys
import threading
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import machine
import tony_cli
import yarn_cluster
from tony_cli import DEADLINE_SECONDS

NODES = 2
SUCCEEDED, FAILED, REFUSED, INFRASTRUCTURE, KILLED = 0, 1, 2, 3, 4
# The time limit for every answer.
SOON = ("--conf", "tony.yarn.timeout-ms=1000")
ONCE = ("--conf", "tony.am.max-restarts=0", "--conf", "tony.am.infrastructure-retry-count=0")
# A node has 4096 MiB, so two of them are all that fits.
GANG = ("--conf", "tony.worker.instances=2", "--conf", "tony.worker.memory=2500m")

programs = None  # pylint: disable=invalid-name
cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster for all."""
    global cluster  # pylint: disable=global-statement
    connect = "yarn:yarn.resourcemanager.connect"
    cluster = yarn_cluster.YarnCluster(
        *("--distinct-hosts", "--nodes", str(NODES)),
        # NodeManagers wait for a ResourceManager that was restarted.
        *("--property", f"{connect}.retry-interval.ms=500"),
        *("--property", f"{connect}.max-wait.ms=-1"),
        # Without it the NameNode is in safe mode.
        *("--property", "hdfs:dfs.namenode.safemode.min.datanodes=1"),
    )


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class FaultTest(unittest.TestCase):
    """For a test case: submissions of a small job to the cluster."""

    def setUp(self):
        self.user = getpass.getuser()
        self.site = tony_cli.Site(self, programs, cluster)
        self.site.environment.pop("HADOOP_USER_NAME", None)
        properties = {
            "tony.worker.instances": "1",
            "tony.worker.memory": "256m",
            "tony.am.memory": "256m",
            "tony.containers.command": "true",
        }
        rows = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in properties.items()
        )
        (self.site.folder / "job.xml").write_text(f"<configuration>{rows}</configuration>")

    def submit(self, *arguments):
        """Runs tony-submit to its end; returns its exit code and what it said."""
        result = self.site.run("tony-submit", *arguments, "job.xml")
        return result.returncode, result.stderr + result.stdout

    def start(self, *arguments):
        """Returns the job, which runs."""
        return self.site.submit(*arguments, "job.xml")

    def assert_told(self, told, code, *words):
        """That tony-submit ended with `code` and said all of `words`."""
        self.assertEqual(told[0], code, told[1])
        for word in words:
            self.assertIn(word, told[1])

    def assert_ended(self, job, code, *words):
        """The same of a job that runs."""
        self.assert_told((job.wait(), job.describe()), code, *words)

    def assert_works_again(self):
        """That what was put right lets jobs run."""
        self.assert_told(self.submit(), SUCCEEDED)

    def assert_nothing_staged(self):
        """That nothing of a job is left on this machine."""
        staging = self.site.local_dir / "staging"
        self.assertEqual(list(staging.iterdir()) if staging.exists() else [], [])

    def stage_in(self, name, **quotas):
        """The options for a folder of our own in HDFS, with nothing in it, and its path."""
        folder = f"/user/{self.user}/{name}"
        cluster.web_hdfs("PUT", folder, "MKDIRS")
        self.addCleanup(cluster.web_hdfs, "DELETE", folder, "DELETE", recursive="true")
        if quotas:
            cluster.web_hdfs("PUT", folder, "SETQUOTA", **quotas)
        return ("--conf", f"tony.yarn.staging-dir={folder}"), f"{folder}/{self.user}"

    @contextlib.contextmanager
    def nodes_held(self, *numbers):
        """Inside, no container of these nodes, or of any, is given to anybody."""
        pids = [
            int((cluster.folder / f"pid/nodemanager{number}").read_text())
            for number in numbers or range(1, NODES + 1)
        ]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def start_held(self, *arguments):
        """A job that was submitted while the nodes are held."""
        job = self.start("--conf", "tony.am.waiting-notice-ms=0", *ONCE, *arguments)
        waits = machine.wait_until(
            lambda: "waiting for YARN to start" in job.errors() or job.client.poll() is not None,
            DEADLINE_SECONDS,
        )
        self.assertTrue(waits, job.describe())
        return job


class Servers(FaultTest):
    """Somebody is not there, or somewhere else."""

    def configure(self, name, value):
        """A configuration of this site alone."""
        folder = self.site.folder / "conf"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(cluster.environment["HADOOP_CONF_DIR"], folder)
        file = folder / "yarn-site.xml"
        added = f"<property><name>{name}</name><value>{value}</value></property>"
        end = "</configuration>"
        file.write_text(file.read_text().replace(end, added + end))
        self.site.environment["HADOOP_CONF_DIR"] = str(folder)

    def test_resource_manager_down(self):
        self.addCleanup(cluster.wait_for_nodes, NODES)
        cluster.kill("resourcemanager")
        began = time.monotonic()
        try:
            told = self.submit(*SOON)
        finally:
            cluster.launch("resourcemanager")
        self.assertLess(time.monotonic() - began, 10)
        address = cluster.environment["RM_ADDRESS"]
        self.assert_told(told, INFRASTRUCTURE, f"cannot connect to {address}", "for 1 s")
        self.assertEqual(told[1].count("getNewApplication"), 1, told[1])
        self.assert_nothing_staged()
        cluster.wait_for_nodes(NODES)
        self.assert_works_again()

    def test_wrong_address_of_the_resource_manager(self):
        environment = cluster.environment
        for address, words in {
            "localhost:1": "cannot connect to localhost:1",
            "nobody.invalid:8032": "cannot find the address of nobody.invalid",
            environment["SCHEDULER_ADDRESS"]: "SIMPLE authentication is not enabled",
            environment["RM_WEB"]: "does not speak Hadoop's RPC",
        }.items():
            with self.subTest(address=address):
                self.configure("yarn.resourcemanager.address", address)
                self.assert_told(self.submit(*SOON), INFRASTRUCTURE, words)
        self.assert_nothing_staged()

    def test_name_node_down_and_in_safe_mode(self):
        # Whatever becomes of this test.
        self.addCleanup(cluster.wait_for_hdfs, "operational")
        cluster.kill("datanode")
        cluster.kill("namenode")
        try:
            try:
                told = self.submit(*SOON)
            finally:
                cluster.launch("namenode")
            address = cluster.environment["NAMENODE_WEB"]
            self.assert_told(told, INFRASTRUCTURE, "HDFS GETHOMEDIRECTORY", address)
            cluster.wait_for_hdfs("safe mode")
            cluster.list_hdfs("/", self.user)  # the first answer of a new process takes long
            told = self.submit("--conf", "tony.yarn.timeout-ms=10000")
        finally:
            cluster.launch("datanode")
        self.assert_told(told, INFRASTRUCTURE, "Name node is in safe mode")
        self.assertEqual(told[1].count("SafeModeException"), 1, told[1])
        self.assert_nothing_staged()
        cluster.wait_for_hdfs("operational")
        self.assert_works_again()


class Storage(FaultTest):
    """HDFS does not keep what it is given."""

    def test_no_permission(self):
        self.site.environment["HADOOP_USER_NAME"] = "alice"
        told = self.submit("--conf", "tony.yarn.staging-dir=/user/bob/tony")
        self.assert_told(told, INFRASTRUCTURE, "Permission denied: user=alice", "/user/bob")
        self.assertEqual(told[1].count("Permission denied"), 1, told[1])
        self.assert_nothing_staged()

    def test_no_room_for_archives(self):
        conf, folder = self.stage_in("small", storagespacequota=1_000_000)
        told = self.submit(*conf)
        self.assert_told(told, INFRASTRUCTURE, "quota", f"{folder}/cache/")
        self.assertEqual(cluster.list_hdfs(f"{folder}/cache", self.user), [])
        self.assertEqual(cluster.list_hdfs(f"{folder}/jobs", self.user), [])
        self.assert_nothing_staged()

    def test_no_names_for_archives(self):
        conf, folder = self.stage_in("narrow", namespacequota=2)
        told = self.submit(*conf)
        self.assert_told(told, INFRASTRUCTURE, "NSQuotaExceededException", folder)

    def test_no_names_for_the_journal(self):
        # The folder, the user's in it, "cache" with the runtime, and "used" with its mark.
        conf, folder = self.stage_in("full", namespacequota=6)
        told = self.submit(*ONCE, *conf)
        self.assert_told(told, INFRASTRUCTURE, "NSQuotaExceededException", folder)


class Localization(FaultTest):
    """Nodes fetch something else than what was staged."""

    def runtime(self, folder):
        """The path of the only archive that is kept."""
        (name,) = cluster.list_hdfs(f"{folder}/cache", self.user)
        return f"{folder}/cache/{name}"

    def test_runtime_that_is_gone(self):
        conf, folder = self.stage_in("gone")
        with self.nodes_held():
            job = self.start_held(*conf)
            path = self.runtime(folder)
            cluster.web_hdfs("DELETE", path, "DELETE")
        self.assert_ended(job, INFRASTRUCTURE, path, "File does not exist")

    def test_runtime_that_was_replaced(self):
        conf, folder = self.stage_in("replaced")
        with self.nodes_held():
            job = self.start_held(*conf)
            path = self.runtime(folder)
            cluster.web_hdfs("PUT", path, "SETTIMES", modificationtime=1_700_000_000_000)
        self.assert_ended(job, INFRASTRUCTURE, path, "changed on src filesystem")

    def test_program_that_is_gone(self):
        conf, folder = self.stage_in("program")
        (self.site.folder / "src").mkdir()
        (self.site.folder / "src/train.py").write_text("pass\n")
        with self.nodes_held():
            job = self.start_held("--src_dir", "src", *conf)
            (job_id,) = cluster.list_hdfs(f"{folder}/jobs", self.user)
            staged = f"{folder}/jobs/{job_id}/staged"
            (name,) = cluster.list_hdfs(staged, self.user)
            cluster.web_hdfs("DELETE", f"{staged}/{name}", "DELETE")
        self.assert_ended(job, INFRASTRUCTURE, f"{staged}/{name}", "File does not exist")
        self.assertEqual(job.verdict["reason"], "TASK_LOST")

    def test_large_resource(self):
        block = os.urandom(1 << 20)
        with (self.site.folder / "data").open("wb") as file:
            for _ in range(200):
                file.write(block)
        told = self.submit(
            *("--conf", f"tony.containers.resources={self.site.folder}/data"),
            *("--executes", f"cmp data {self.site.folder}/data"),
        )
        self.assert_told(told, SUCCEEDED)


class RemoteFiles(FaultTest):
    """Nodes fetch files from their original place."""

    def store(self, name, data):
        """Writes a file into a folder of ours in HDFS; returns its path."""
        path = f"/user/{self.user}/remote/{name}"
        self.addCleanup(cluster.web_hdfs, "DELETE", path, "DELETE")
        cluster.write_hdfs(path, self.user, data)
        return path

    def serve(self, folder):
        """Serves a folder by HTTP; returns its URL."""
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0),
            functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder))
        threading.Thread(target=server.serve_forever).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_each_scheme(self):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as contents:
            contents.writestr("inside", "of the archive")
        one = self.store("one", b"one")
        two = self.store("two", b"two")
        packed = self.store("packed.zip", archive.getvalue())
        (self.site.folder / "served").mkdir()
        (self.site.folder / "served/three").write_text("three")
        resources = ",".join([
            f"hdfs://{one}", f"webhdfs://{cluster.environment['NAMENODE_WEB']}{two}::second",
            f"hdfs://{packed}#archive", f"{self.serve(self.site.folder / 'served')}/three"])
        told = self.submit(
            *("--conf", f"tony.containers.resources={resources}"),
            *("--executes", 'test "$(cat one second packed.zip/inside three)" = '
                            '"onetwoof the archivethree"'))
        self.assert_told(told, SUCCEEDED)

    def test_what_is_not_there(self):
        path = self.store("there", b"")
        nowhere = self.serve(self.site.folder)
        for url, code, *words in (
                (f"hdfs://{path}-not", REFUSED, f"{path}-not", "does not exist"),
                (f"hdfs://{pathlib.Path(path).parent}", REFUSED, "is a folder", "#archive"),
                (f"hdfs://elsewhere:8020{path}", REFUSED, "tony.yarn.staging-dir"),
                (f"{nowhere}/nothing", INFRASTRUCTURE, f"{nowhere}/nothing"),
        ):
            with self.subTest(url):
                told = self.submit(*ONCE, "--conf", f"tony.containers.resources={url}")
                self.assert_told(told, code, *words)
                self.assert_nothing_staged()


class Running(FaultTest):
    """Jobs that are not left alone."""

    def assert_all_gone(self, job_id):
        """That no process of a job is left, wherever it ran."""
        machine.wait_until(lambda: not machine.processes_with(job_id), DEADLINE_SECONDS)
        self.assertEqual(machine.processes_with(job_id), {})

    def report(self, job_id):
        """The ResourceManager's report of the job's application, once that has ended."""
        def ended():
            app = cluster.ask(f"apps/{job_id}")["app"]
            # Its final status is known before its diagnostics are.
            return app if app["state"] in ("FINISHED", "FAILED", "KILLED") else None
        return machine.wait_until(ended, DEADLINE_SECONDS)

    def test_too_much_memory(self):
        program = "x = bytearray(400 << 20); import time; time.sleep(60)"
        job = self.start("--executes", f"python3 -c '{program}'")
        self.assert_ended(job, FAILED, "OUT_OF_MEMORY", "256 MiB", "tony.worker.memory", "peak")

    def test_killed_by_yarn(self):
        job = self.start("--executes", "sleep 600")
        job.wait_until_running("worker:0")
        cluster.ask(f"apps/{job.id}/state", {"state": "KILLED"}, user=self.user, method="PUT")
        self.assert_ended(job, KILLED)
        self.assertEqual(job.verdict["reason"], "KILLED_BY_USER")
        self.assertIn("YARN has killed the application: ", job.verdict["sentence"])
        self.assert_all_gone(job.id)

    def test_a_node_that_forgot_its_containers(self):
        """Its processes live on, and YARN lets go of them: ours end, and another takes their place."""
        begun = self.site.folder / "begun"
        job = self.start(
            *("--executes", f"test -e {begun} || {{ touch {begun}; sleep 600; }}"),
            # Does not fit beside the ApplicationMaster.
            *("--conf", "tony.worker.memory=4000m"),
        )
        (pid,) = job.wait_until_running("worker:0")
        node = cluster.node_of(pid)
        self.assertTrue(machine.wait_until(begun.exists, DEADLINE_SECONDS), job.describe())
        cluster.start_again(node)
        self.assert_ended(job, SUCCEEDED)
        (opened,) = job.events("epoch_opened")
        self.assertEqual(tony_cli.task_name(opened["guilty"]), "worker:0")
        self.assert_all_gone(job.id)

    def test_client_killed(self):
        job = self.start("--executes", "sleep 600", "--conf", "tony.client.lease=1000")
        job.wait_until_running("worker:0")
        job.client.kill()
        report = self.report(job.id)
        self.assertEqual(report["finalStatus"], "KILLED", report)
        self.assertIn("client", report["diagnostics"])
        self.assert_all_gone(job.id)

    def test_verbs_from_anywhere(self):
        result = self.site.run(
            "tony-submit", "--detach", "--json", "--executes", "sleep 600", "job.xml"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        job_id = json.loads(result.stdout)["job_id"]
        self.addCleanup(self.site.run, "tony", "kill", job_id)
        elsewhere = tony_cli.Site(self, programs, cluster)
        elsewhere.environment = {"HADOOP_CONF_DIR": cluster.environment["HADOOP_CONF_DIR"]}
        running = machine.wait_until(
            lambda: elsewhere.verb("status", job_id).get("state") == "RUNNING", DEADLINE_SECONDS
        )
        self.assertTrue(running, elsewhere.verb("status", job_id))
        self.assertIn(job_id, [job["id"] for job in elsewhere.verb("list")])
        killed = elsewhere.run("tony", "kill", job_id)
        self.assertEqual(killed.returncode, 0, killed.stderr)
        self.assertEqual(elsewhere.verb("status", job_id)["verdict"]["outcome"], "KILLED")
        self.assert_all_gone(job_id)

    def assert_in_turn(self, *jobs):
        """That all succeed, one after the other."""
        times = []
        for job in jobs:
            self.assert_ended(job, SUCCEEDED)
            states = {
                event["state_changed"]["state"]: int(event["unix_millis"])
                for event in job.raw_events("state_changed")
            }
            times.append((states["RUNNING"], states["STOPPING"]))
        times.sort()
        for before, after in zip(times, times[1:]):
            self.assertLessEqual(before[1], after[0])

    def test_gangs_in_turn(self):
        # When both ask at once each may get a half, and then the younger lets go.
        gang = (*GANG, "--executes", "sleep 1", "--conf", "tony.container.hold-timeout-ms=5000")
        self.assert_in_turn(*(self.start(*gang) for _ in range(2)))

    def test_gangs_that_hold_half_each(self):
        gang = (*GANG, "--executes", "sleep 1", "--conf", "tony.container.hold-timeout-ms=10000")
        # Of two queues, the one that has less gets the next node.
        with self.nodes_held(2):
            first = self.start(*gang, "--conf", "tony.yarn.queue=default")
            first.wait_for_task("worker:0", "READY")
            second = self.start(*gang, "--conf", "tony.yarn.queue=train")
            second.wait_for(
                lambda events: any(
                    event["state_changed"]["state"] == "ALLOCATING"
                    for event in events
                    if "state_changed" in event
                ),
                "second gang that waits",
            )
        self.assert_in_turn(first, second)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    yarn_cluster.skip_without()
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
