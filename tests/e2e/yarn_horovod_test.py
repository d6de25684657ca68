#!/usr/bin/env python3
"""Horovod jobs on a real YARN cluster, with light ranks that meet across its nodes.

    yarn_horovod_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions, with the runtime bundle built beside it.
Exits with 77 where Hadoop cannot run. horovod_test.py is the same with Horovod itself.
"""

import os
import pathlib
import re
import signal
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

# pylint: disable=wrong-import-position
import horovod_job
import machine
import tony_cli
import yarn_cluster
from horovod_job import ranks

DEADLINE_SECONDS = 180
RANKS = 4
WORKERS = [f"worker:{index}" for index in range(RANKS)]
# A node has 4096 MiB, so not all workers are on one of them.
SMALL = ("--conf", f"tony.worker.instances={RANKS}", "--conf", "tony.worker.memory=1200m",
         "--conf", "tony.am.memory=256m")
# Two of these fit on a node.
ELASTIC = ("--conf", "tony.worker.instances=3", "--conf", "tony.worker.memory=1500m",
           "--conf", "tony.am.memory=256m")
# The node with the label takes nobody who does not ask for it.
DRIVER_APART = ("--conf", "tony.yarn.queue=train", "--conf", "tony.driver.node-label=gpu")

programs = None  # pylint: disable=invalid-name


class YarnHorovodTest(unittest.TestCase):
    """Workers on two nodes; the driver is on one of these, or on a third one."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = yarn_cluster.YarnCluster("--recovery", "--distinct-hosts", "--nodes", "3")
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        self.site = tony_cli.Site(self, programs, self.cluster)

    def start(self, command, *arguments):
        """Returns the job, its workers' process ids and the node of each, and the driver's node."""
        self.job = self.site.submit(
            *horovod_job.CONF, *SMALL, "--executes", command, *arguments)
        driver, *self.workers = self.job.wait_until_running("driver:0", *WORKERS)
        self.nodes = [self.cluster.node_of(pid) for pid in self.workers]
        self.assertEqual(len(set(self.nodes)), 2)
        self.driver_node = self.cluster.node_of(driver)
        said = self.job.log("driver:0", "stderr").decode()
        self.driver_port = int(re.search(r"the rendezvous server's port is (\d+)", said)[1])

    def assert_places(self):
        """Ranks on the driver's node meet the others there, all other ranks at their executors."""
        ports = [horovod_job.port_of(pid) for pid in self.workers]
        for node, port in zip(self.nodes, ports):
            self.assertEqual(node == self.driver_node, port == self.driver_port, (node, port))
        away = [port for port in ports if port != self.driver_port]
        self.assertEqual(len(set(away)), len(away))

    def assert_connected(self):
        """It ends well in its first attempt; ranks count through the hosts, and reach all."""
        self.assertEqual(self.job.wait(DEADLINE_SECONDS), 0, self.job.describe())
        self.assertEqual(self.job.events("epoch_opened"), [])
        order = list(dict.fromkeys(self.nodes))  # as the workers first need them
        by_rank = sorted(zip(self.nodes, WORKERS), key=lambda place: order.index(place[0]))
        said = b"".join(self.job.log(worker) for _, worker in by_rank).decode()
        sizes = map(self.nodes.count, order)
        self.assertEqual(said.splitlines(), horovod_job.expected_lines(*sizes))
        machine.wait_until(lambda: not machine.processes_with(self.job.id), DEADLINE_SECONDS)
        self.assertEqual(machine.processes_with(self.job.id), {})

    def held(self):
        """A command whose ranks stay when they are connected, and the pipe that lets them go."""
        gate = tony_cli.Line(self, self.site.folder / "gate")
        return ranks(always=f"--hold {gate.path}"), gate

    def wait_until_yarn_keeps_all(self):
        """With its ApplicationMaster a job loses those containers of which their nodes have not
        told yet, in their next heartbeat, that they run."""
        log = self.cluster.folder / "log/resourcemanager.log"
        containers = [self.job.wait_for_task(task, "RUNNING")["container"]
                      for task in ("driver:0", *WORKERS)]

        def known():
            text = log.read_text()
            return all(f"{container} Container Transitioned from ACQUIRED to RUNNING" in text
                       for container in containers)

        self.assertTrue(machine.wait_until(known, DEADLINE_SECONDS, pause_seconds=0.1))

    def test_some_are_on_the_driver_s_node(self):
        command, gate = self.held()
        self.start(command)
        self.assertIn(self.driver_node, self.nodes)
        self.assert_places()
        gate.write(RANKS)
        self.assert_connected()

    def test_nobody_is_on_the_driver_s_node(self):
        command, gate = self.held()
        self.start(command, *DRIVER_APART)
        self.assertNotIn(self.driver_node, self.nodes)
        self.assert_places()
        gate.write(RANKS)
        self.assert_connected()

    def test_goes_on_without_its_master(self):
        """Replicas lose the way to the driver, which leads through the ApplicationMaster, while
        ranks wait; what the last one puts meanwhile is brought there later."""
        gate = tony_cli.Line(self, self.site.folder / "gate")
        self.start(f"[ $HOROVOD_RANK != 0 ] || read < {gate.path}; {ranks()}", *DRIVER_APART)
        # At the one that comes late: its replica knows by now what all others have put.
        port = horovod_job.port_of(self.workers[0])
        for rank in range(1, RANKS):
            horovod_job.wait_until_put(port, f"/global/{rank}")
        self.wait_until_yarn_keeps_all()
        (master,) = machine.programs_of(self.job.id, "tony-am")
        gone = machine.Processes(self, [master])
        os.kill(master, signal.SIGKILL)
        gone.wait_until_gone(DEADLINE_SECONDS)
        gate.write()
        self.assert_connected()
        self.assertEqual(len(self.job.events("master_restarted")), 1)

    def test_a_rank_that_dies_elsewhere(self):
        """All ranks start over, with another driver."""
        gate = tony_cli.Line(self, self.site.folder / "gate")
        self.start(f"[ $HOROVOD_RANK != 3 ] || read < {gate.path}; {ranks('3.0:--die-in 2')}",
                   *DRIVER_APART, "--conf", "tony.am.retry-count=1")
        gate.write(2)  # once in each epoch
        self.assert_begins_anew(r"^worker:\d \(rank 3 on 127.0.0.\d+\) exited with code 3$")

    def test_a_driver_that_is_lost(self):
        """The values that ranks await at replicas are not there in the next epoch."""
        self.start(ranks("0.0:--never"), *DRIVER_APART)
        horovod_job.wait_until_put(horovod_job.port_of(self.workers[0]), "/global/3")
        container = self.job.wait_for_task("driver:0", "RUNNING")["container"]
        machine.kill_programs_of(container, "tony-executor")
        self.assert_begins_anew("^driver:0 was lost")

    def test_an_elastic_job_loses_a_container(self):
        """The others go on, and take in who comes in another one. The lost one has had rank 0, so
        others are to be told by rendezvous and notifications elsewhere."""
        rounds = horovod_job.ElasticRounds(self, self.site.folder)
        self.job = self.site.submit(
            *horovod_job.CONF, *ELASTIC, *horovod_job.TWO_ARE_ENOUGH, "--executes", rounds.command)
        begun, begin = rounds.wait_for(3)
        self.assertEqual((sorted(begun), begin), (WORKERS[:3], 0))
        pids = self.job.wait_until_running(*WORKERS[:3])
        self.assertEqual(len({self.cluster.node_of(pid) for pid in pids}), 2)

        lost, *left = begun
        container = self.job.wait_for_task(lost, "RUNNING")["container"]
        machine.kill_programs_of(container, "tony-executor")
        two, begin = rounds.wait_for(2)
        self.assertEqual(sorted(two), sorted(left))
        self.assertGreater(begin, 0)
        three, later = rounds.wait_for(3)
        self.assertEqual(sorted(three), WORKERS[:3])
        self.assertIn(three[0], left, "rank 0 has the state")
        self.assertGreater(later, begin)
        containers = {change["container"] for change in self.job.events("task_changed")
                      if tony_cli.task_name(change["task"]) == lost and change.get("container")}
        self.assertEqual(len(containers), 2)

        rounds.end()
        self.assertEqual(self.job.wait(DEADLINE_SECONDS), 0, self.job.describe())
        self.assertEqual(self.job.events("epoch_opened"), [])

    def assert_begins_anew(self, why):
        """In another epoch all ranks find each other."""
        self.assertEqual(self.job.wait(DEADLINE_SECONDS), 0, self.job.describe())
        (opened,) = self.job.events("epoch_opened")
        self.assertRegex(opened["cause"], why)
        said = b"".join(self.job.log(worker, attempt=2) for worker in WORKERS).decode()
        self.assertEqual(said.count(f": sum {RANKS * (RANKS + 1) // 2}\n"), RANKS, said)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    yarn_cluster.skip_without()
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
