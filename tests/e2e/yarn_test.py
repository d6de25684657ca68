#!/usr/bin/env python3
"""Jobs on a real YARN cluster through the real programs: the examples, and what goes wrong.

    yarn_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, with the runtime bundle built beside it.
Exits with 77 where Hadoop cannot run.
"""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import examples
import machine
import tony_cli
import yarn_cluster
from examples import CHECKPOINT_EVERY, DEADLINE_SECONDS

SMALL = ("--conf", "tony.am.memory=256m")  # what two small nodes have
KEPT = ["cluster", "events", "job.xml", "metrics.bin", "summary.json"]  # in HDFS, of each job
# Who is stopped counts as lost soon.
SOON_LOST = ("tony.task.heartbeat-interval-ms=100", "tony.task.max-missed-heartbeats=100")

# Steps between checkpoints in HDFS, each of which takes a second.
SELDOM = 5 * CHECKPOINT_EVERY

programs = None  # pylint: disable=invalid-name
cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster for all."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster(
        *("--recovery", "--distinct-hosts", "--nodes", "3"),
        *("--property", "yarn:yarn.resourcemanager.am.max-attempts=4"),
        *("--property", "yarn:yarn.log-aggregation-enable=true"),
        *("--property", "yarn:yarn.nodemanager.log-aggregation.compression-type=gz"),
        # Each node has two disks.
        *("--property", "yarn:yarn.nodemanager.log-dirs=" + ",".join(
            f"${{cluster.folder}}/data/node${{nm.id}}/{name}" for name in ("log", "log2"))),
    )


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class OnYarn:
    """For a test case: where its jobs are, and what the cluster says of them."""

    def make_site(self):
        """A folder of its own; the files on the cluster are all tests'."""
        return tony_cli.Site(self, programs, cluster)

    def report(self, job):
        """The ResourceManager's report of the job's application."""
        return cluster.ask(f"apps/{job.id}")["app"]

    def left_in_hdfs(self, job, folder=""):
        """The names in the job's folder there, or in a folder in it."""
        path = f"/user/{getpass.getuser()}/.tony/jobs/{job.id}/{folder}"
        return sorted(cluster.list_hdfs(path, getpass.getuser()))


class ExampleTests(OnYarn):
    """Tests for every example."""

    apart = ()  # configuration with which the tasks do not all fit on one node
    gpus = 0  # that they use of the node with the label
    tasks = ("worker:0", "worker:1")

    def test_trains_as_one(self):
        job = self.start(conf=("tony.am.memory=256m", "tony.yarn.queue=train", *self.apart))
        nodes = {cluster.node_of(pid) for pid in job.wait_until_running(*self.tasks)}
        self.assertGreater(len(nodes), 1, nodes)
        report = self.report(job)
        self.assertEqual((report["state"], report["queue"]), ("RUNNING", "root.train"))
        self.assertTrue(report["trackingUrl"].endswith(f"/proxy/{job.id}/"), report)
        self.assertEqual(self.labelled_gpus(report), self.gpus)
        self.assert_trained_in_one_epoch(job)
        report = self.report(job)
        self.assertEqual((report["state"], report["finalStatus"]), ("FINISHED", "SUCCEEDED"))
        self.assertEqual(self.left_in_hdfs(job), KEPT)

    @staticmethod
    def labelled_gpus(report):
        """How many an application uses of the nodes with the label."""
        return sum(
            resource["value"]
            for usage in report["resourceInfo"]["resourceUsagesByPartition"]
            for resource in usage["used"]["resourceInformations"]["resourceInformation"]
            if (usage["partitionName"], resource["name"]) == ("gpu", "yarn.io/gpu")
        )

    def test_goes_on_without_its_masters(self):
        job = self.start("--slow-step-seconds 0.03", conf=("tony.am.memory=256m",))
        pids = job.wait_until_running(*self.tasks)
        self.wait_for_steps(job, CHECKPOINT_EVERY)
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        cluster.kill("resourcemanager")
        self.wait_for_steps(job, 2 * CHECKPOINT_EVERY)
        cluster.launch("resourcemanager")
        job.wait_for(
            lambda events: any("master_restarted" in event for event in events),
            "second ApplicationMaster",
            DEADLINE_SECONDS,
        )
        self.assertEqual(job.wait_until_running(*self.tasks), pids)
        self.assert_trained_in_one_epoch(job)


class TensorFlowParameterServer(
    ExampleTests, examples.TensorFlowParameterServer, unittest.TestCase
):
    """On the cluster."""

    apart = ("tony.worker.gpus=2", "tony.worker.node-label=gpu")
    gpus = 4
    tasks = ("chief:0", "worker:0", "worker:1", "ps:0")


class PyTorchDistributedDataParallel(
    ExampleTests, examples.PyTorchDistributedDataParallel, unittest.TestCase
):
    """On the cluster."""

    apart = ("tony.worker.memory=2500m",)

    def test_a_lost_node_s_task_goes_on_elsewhere(self):
        """The node's processes live on, but their executor fences itself."""
        job = self.start(
            "--slow-step-seconds 0.05",
            conf=("tony.am.memory=256m", *self.apart, *SOON_LOST),
        )
        job.wait_until_running("worker:0", "worker:1")
        self.wait_for_steps(job, 5 * CHECKPOINT_EVERY // 2)
        changes = {
            tony_cli.task_name(change["task"]): change
            for change in job.events("task_changed")
            if change["state"] == "RUNNING"
        }
        (master,) = machine.programs_of(job.id, "tony-am")
        own = cluster.node_of(master)
        lost = next(c for c in changes.values() if cluster.node_of(int(c["pid"])) != own)
        tree = machine.Processes(self, machine.processes_with(lost["container"]))
        node = cluster.node_of(int(lost["pid"]))
        self.addCleanup(cluster.launch, node)
        cluster.kill(node)
        self.assert_succeeds(job)
        self.assert_trained(job)
        tree.wait_until_gone(DEADLINE_SECONDS)
        # Also by the processes that nobody could end.
        for task in self.loggers:
            self.assert_each_step_once(task)
        code, said = self.run_check()
        self.assertEqual(code, 0, said)


class Looking(OnYarn, unittest.TestCase):
    """The job as its page and `tony` show it."""

    SERVER = "echo hello from $TASK_INDEX; exec python3 -m http.server $TB_PORT --bind 127.0.0.1"

    def start(self):
        site = self.make_site()
        job = site.submit(
            *SMALL,
            *("--conf", "tony.application.name=<look>", "--conf", "tony.worker.instances=2"),
            *("--conf", "tony.worker.memory=256m", "--executes", self.SERVER),
        )
        job.wait_until_running("worker:0", "worker:1")
        return site, job

    def wait_until_shown(self, site, job):
        """The output of `tony status` once it shows that both run, which may take two seconds."""
        status = machine.wait_until(
            lambda: (s := site.verb("status", job.id))
            and [task["state"] for task in s["tasks"]] == ["RUNNING"] * 2
            and s,
            DEADLINE_SECONDS,
        )
        self.assertTrue(status)
        return status

    def test_the_page_through_the_proxy(self):
        _, job = self.start()
        url = self.report(job)["trackingUrl"]
        self.assertEqual(url, f"http://{cluster.environment['RM_WEB']}/proxy/{job.id}/")
        with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as page:
            text = page.read().decode()
        self.assertIn("&lt;look&gt;", text)
        self.assertIn("worker:1", text)
        (link,) = set(re.findall(r'href="([^"]*containerlogs[^"]*_000002/[^"]*)"', text))
        with urllib.request.urlopen(link, timeout=DEADLINE_SECONDS) as page:
            self.assertIn("executor.log", page.read().decode())

    def test_verbs(self):
        site, job = self.start()
        (first, *_) = site.verb("list")
        self.assertEqual((first["id"], first["name"]), (job.id, "<look>"))
        status = self.wait_until_shown(site, job)
        self.assertEqual(len(status["tasks"]), 2)
        logs = site.run("tony", "logs", job.id, "worker:1", "--stdout")
        self.assertEqual((logs.returncode, logs.stdout), (0, "hello from 1\n"), logs.stderr)
        self.assertEqual(site.run("tony", "wait", job.id, "--timeout", "0").returncode, 6)
        self.assertIn(f"job {job.id} runs", site.run("tony", "rm", job.id).stderr)
        attached = site.start(self, "tony", "attach", job.id, deadline_seconds=DEADLINE_SECONDS)
        self.assertIn(f"Job {job.id} ", attached.stdout.readline())
        killed = site.run("tony", "kill", job.id)
        self.assertEqual(killed.returncode, 0, killed.stderr)
        self.assertIn("KILLED (KILLED_BY_USER): tony kill by", killed.stdout)
        self.assertEqual(job.wait(DEADLINE_SECONDS), 4)
        attached.communicate()
        ended = site.run("tony", "wait", job.id)
        self.assertEqual((attached.returncode, ended.returncode), (4, 4))
        self.assertRegex(site.run("tony", "rm", job.id).stderr, rf"hdfs dfs -rm -r /\S+/jobs/{job.id}\n$")

    def follow_logs(self, site, *arguments):
        """A `tony logs -f` that runs."""
        return site.start(self, "tony", "logs", "-f", *arguments, deadline_seconds=DEADLINE_SECONDS)

    def test_logs_are_followed_to_the_job_s_end(self):
        site = self.make_site()
        turns = [site.folder / f"turn-{index}" for index in range(2)]
        for turn in turns:
            os.mkfifo(turn)
        job = site.submit(
            *(*SMALL, "--conf", "tony.worker.instances=2", "--conf", "tony.worker.memory=256m"),
            *("--executes", f"echo $TASK_INDEX begins; read x < {site.folder}/turn-$TASK_INDEX; "
              "echo $TASK_INDEX goes on; echo $TASK_INDEX complains >&2"),
        )
        job.wait_until_running("worker:0", "worker:1")
        one = self.follow_logs(site, job.id, "worker:0", "--stdout")
        everything = self.follow_logs(site, job.id)
        self.assertEqual(one.stdout.readline(), "0 begins\n")
        begun = {everything.stdout.readline() for _ in turns}
        self.assertEqual(begun, {"worker:0 | 0 begins\n", "worker:1 | 1 begins\n"})
        master = site.run("tony", "logs", job.id, "am")
        self.assertIn("RUNNING", master.stdout, master.stderr)
        turns[0].write_text("\n")
        self.assertEqual(one.stdout.readline(), "0 goes on\n")
        said = {everything.stdout.readline() for _ in turns}
        self.assertEqual(said, {"worker:0 | 0 goes on\n", "worker:0 | 0 complains\n"})
        turns[1].write_text("\n")
        # What is printed last comes, too, and then the end.
        rest = set(everything.stdout.read().splitlines())
        self.assertEqual(rest, {"worker:1 | 1 goes on", "worker:1 | 1 complains"})
        self.assertEqual(one.stdout.read(), "")
        for follower in (one, everything):
            self.assertEqual((follower.wait(), follower.stderr.read()), (0, ""))
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0)
        # By now it is the node that has it. Between the two, for a moment, it may be nobody ("yet").
        def logs():
            return site.run("tony", "logs", job.id, "am")

        found = machine.wait_until(lambda: "RUNNING" in logs().stdout, DEADLINE_SECONDS, pause_seconds=0.5)
        self.assertTrue(found, logs())

    def test_logs_are_followed_across_applicationmasters_until_ctrl_c(self):
        site = self.make_site()
        turn = site.folder / "turn"
        os.mkfifo(turn)
        copies = site.folder / "copies"
        copies.mkdir()
        site.environment["TMPDIR"] = str(copies)
        job = site.submit(
            *(*SMALL, "--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=256m"),
            *("--executes", f"echo begins; read x < {turn}; echo goes on; sleep 600"),
        )
        job.wait_until_running("worker:0")
        follower = self.follow_logs(site, job.id, "worker:0")
        self.assertEqual(follower.stdout.readline(), "begins\n")
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        turn.write_text("\n")
        self.assertEqual(follower.stdout.readline(), "goes on\n")
        self.assertEqual(len(list(copies.glob("tony-logs-*"))), 1)
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(), -signal.SIGINT)
        self.assertEqual(list(copies.iterdir()), [])
        self.assertEqual(site.run("tony", "kill", job.id).returncode, 0)

    def test_logs_of_a_task_that_starts_again_in_another_container(self):
        site = self.make_site()
        job = site.submit(
            *(*SMALL, "--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=256m"),
            *("--executes", "echo attempt $TONY_ATTEMPT of $$; [ $TONY_ATTEMPT -gt 1 ] || sleep 600"),
        )
        (worker,) = job.wait_until_running("worker:0")
        follower = self.follow_logs(site, job.id, "worker:0", "--stdout")
        self.assertEqual(follower.stdout.readline(), f"attempt 1 of {worker}\n")
        # The executor and its keeper: nobody is left to answer for the container.
        machine.kill_programs_of(job.id, "tony-executor")
        self.assertRegex(follower.stdout.readline(), r"^attempt 2 of \d+\n$")
        self.assertEqual(follower.stdout.read(), "")
        self.assertEqual(follower.wait(), 0)
        self.assertEqual(job.wait(DEADLINE_SECONDS), 0)

    def test_a_task_s_page_through_the_tunnel(self):
        site, job = self.start()
        self.wait_until_shown(site, job)
        self.assertTrue(machine.wait_until(
            lambda: site.verb("status", job.id)["visualization"], DEADLINE_SECONDS))
        opened = subprocess.Popen(
            site.command("tony", "open", job.id, "--tensorboard"), env=site.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        self.addCleanup(opened.stdout.close)
        self.addCleanup(opened.wait)
        self.addCleanup(opened.terminate)
        with urllib.request.urlopen(opened.stdout.readline(), timeout=DEADLINE_SECONDS) as page:
            self.assertIn("Directory listing", page.read().decode())


class CollectedLogs(OnYarn, unittest.TestCase):
    """Logs of an ended job, when its nodes have uploaded them and no longer know the job."""

    FAILS = "echo hello; echo trouble >&2; python3 -c 'raise ValueError(42)'; exit 3"

    def test_of_a_failed_job(self):
        site = self.make_site()
        one = ("--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=256m")
        job = site.submit(*SMALL, *one, "--executes", self.FAILS)
        self.assertEqual(job.wait(DEADLINE_SECONDS), 1, job.describe())

        def collected():
            return self.report(job)["logAggregationStatus"] == "SUCCEEDED"

        self.assertTrue(machine.wait_until(collected, DEADLINE_SECONDS, pause_seconds=0.1))
        for folder in cluster.folder.glob(f"data/node*/log*/{job.id}"):
            shutil.rmtree(folder)

        def logs(*arguments):
            result = site.run("tony", "logs", job.id, *arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return result.stdout

        self.assertIn("worker:0 | hello\nworker:0 | trouble\n", logs())
        self.assertEqual(logs("worker:0", "--stdout"), "hello\n")
        errors = logs("worker:0", "--stderr")
        self.assertRegex(errors, r"^trouble\nTraceback [^$]*\nValueError: 42\n$")
        self.assertIn("info job is RUNNING", logs("am"))
        self.assertIn("assigned to worker:0", logs("--executor"))
        self.assertIn("  > ValueError: 42\n", logs("--first-error"))


class WithCheckpointsInHdfs(OnYarn):
    """The job files as they are: the programs get, by default, a folder that nobody has made yet.

    For a test case of an example. Nodes have no libhdfs, and need none.
    """

    def start(self, *task_params):
        """Starts the example with options for its program; returns the job."""
        self.site = self.make_site()
        job = self.site.submit(
            *("--python_binary_path", self.python, "--executes", "train.py", *SMALL),
            *("--task_params", " ".join((f"--checkpoint-every {SELDOM}", *task_params))),
            ROOT / "examples" / self.example / "job.xml",
        )
        folder = f"/user/{getpass.getuser()}/.tony/jobs/{job.id}/checkpoints"
        self.checkpoints = f"hdfs://{folder}"
        return job

    def logged_steps(self, task):
        path = self.checkpoints.removeprefix("hdfs://") + f"/steps-{task}.jsonl"
        return list(map(json.loads, cluster.read_hdfs(path, getpass.getuser()).splitlines()))


class TensorFlowParameterServerInHdfs(
    WithCheckpointsInHdfs, examples.TensorFlowParameterServer, unittest.TestCase
):
    """On the cluster."""

    def test_trains_as_one(self):
        job = self.start()
        self.assert_trained_in_one_epoch(job)
        self.assertEqual(self.left_in_hdfs(job), ["checkpoints", *KEPT])
        left = self.left_in_hdfs(job, "checkpoints")
        self.assertIn("checkpoint.npz", left)
        self.assertEqual([name for name in left if name.endswith(".part")], [])
        (summaries,) = self.left_in_hdfs(job, "checkpoints/tensorboard")
        self.assertIn("tfevents", summaries)


class PyTorchInHdfs(
    WithCheckpointsInHdfs, examples.PyTorchDistributedDataParallel, unittest.TestCase
):
    """On the cluster."""

    def test_resumes_after_a_killed_worker(self):
        job = self.start("--slow-step-seconds 0.03")
        (worker,) = job.wait_until_running("worker:1")
        machine.wait_until(
            lambda: "checkpoint.pt" in self.left_in_hdfs(job, "checkpoints"),
            DEADLINE_SECONDS,
            pause_seconds=0.1,
        )
        os.kill(worker, signal.SIGKILL)
        self.assert_succeeds(job)
        self.assert_trained(job)
        self.assert_one_restart(job, "signal 9")
        code, said = self.run_check()
        self.assertEqual(code, 0, said)


class BadInput(OnYarn, unittest.TestCase):
    """Each mistake is reported at once, with its remedy."""

    def submit(self, *arguments, **environment):
        """Runs tony-submit to its end; returns its exit code and what it said."""
        site = self.make_site()
        site.environment.update(environment)
        (site.folder / "job.xml").write_text(
            "<configuration><property><name>tony.worker.instances</name><value>1</value>"
            "</property></configuration>"
        )
        result = site.run(
            *("tony-submit", *SMALL, "--conf", "tony.containers.command=true"),
            *("--conf", "tony.worker.memory=256m", *arguments, "job.xml"),
        )
        return result.returncode, result.stderr + result.stdout

    def assert_told(self, told, code, *words):
        self.assertEqual(told[0], code, told[1])
        for word in words:
            self.assertIn(word, told[1])

    def test_no_configuration(self):
        told = self.submit(HADOOP_CONF_DIR="", YARN_CONF_DIR="")
        self.assert_told(told, 2, "set HADOOP_CONF_DIR")
        told = self.submit(HADOOP_CONF_DIR="/nowhere")
        self.assert_told(told, 2, "/nowhere, which does not exist")

    def test_unknown_queue(self):
        told = self.submit("--conf", "tony.yarn.queue=nobody")
        self.assert_told(told, 2, "unknown queue: nobody")

    def test_label_that_is_not_there(self):
        told = self.submit("--conf", "tony.am.node-label=nobody")
        self.assert_told(told, 2, "the ApplicationMaster is to run on nodes with the label nobody")
        told = self.submit("--conf", "tony.worker.node-label=nobody",
                           "--conf", "tony.worker.placement-spec=in,node,worker")
        self.assert_told(told, 2, "worker is to run on nodes with the label nobody", "are: gpu")

    def test_docker_that_the_cluster_lacks(self):
        docker = ("--conf", "tony.docker.enabled=true",
                  "--conf", "tony.docker.containers.image=image:1")
        told = self.submit(*docker)
        self.assert_told(told, 2, "yarn-site.xml:", "DefaultContainerExecutor runs no Docker")
        # As a client whose configuration does not say it.
        told = self.submit("--container_env", "YARN_CONTAINER_RUNTIME_TYPE=docker")
        self.assert_told(told, 1, "worker:0", "is not the Docker container",
                         "container-executor.class has to be LinuxContainerExecutor")

    def test_a_constraint_that_no_node_fulfils(self):
        told = self.submit("--conf", "tony.worker.instances=4",
                           "--conf", "tony.worker.placement-spec=notin,node,worker",
                           "--conf", "tony.am.waiting-notice-ms=1000",
                           "--conf", "tony.container.allocation.timeout=4000")
        self.assert_told(told, 3, "Only 3 of 4 containers were held after 4 s",
                         "1 worker (256 MiB, 1 core, placed notin,node,worker)")
        told = self.submit("--conf", "tony.worker.placement-spec=notin,host,worker")
        self.assert_told(told, 2, "'host' is neither node nor rack")

    def test_more_than_any_node_has(self):
        told = self.submit("--conf", "tony.worker.gpus=9")
        self.assert_told(told, 5, "worker asks for 9 GPUs", "has 4")
        told = self.submit("--conf", "tony.worker.memory=900g")
        self.assert_told(told, 5, "worker asks for 921600 MiB")
        told = self.submit("--conf", "tony.worker.yarn-resources=trainer.io/tpu=9")
        self.assert_told(told, 5, "worker asks for 9 trainer.io/tpu", "has 2; ask for less")
        told = self.submit("--conf", "tony.worker.yarn-resources=trainer.io/cup=1")
        self.assert_told(told, 5, "worker asks for 1 trainer.io/cup, a resource type that the",
                         "correct tony.worker.yarn-resources")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    yarn_cluster.skip_without()
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
