#!/usr/bin/env python3
"""A step on YARN whose client loses the network to the cluster: it follows the job on, or the job's lease ends it.

    yarn_network_test.py PROGRAMS [unittest's arguments]

The client runs on a host of its own, whose link is cut. Exits with 77 where Hadoop cannot run, or where there can be
no network namespaces.
"""

import contextlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration")]

# pylint: disable=wrong-import-position
import integration_case
import machine
import network_hosts
import yarn_cluster
from integration_case import JobTest

# The ApplicationMaster notices the silence after 20 seconds, and the client, unless it hears from it before, after 40.
SILENT_SECONDS = 120
END_SECONDS = 120
# The cluster is on its own host's loopback, which the client's host finds at its own.
LOOPBACK_HERE = ("sysctl -qw net.ipv4.conf.all.route_localnet=1",
                 "iptables -t nat -A PREROUTING -i bridge -j DNAT --to-destination 127.0.0.1")
LOOPBACK_THERE = ("sysctl -qw net.ipv4.conf.all.route_localnet=1",
                  "iptables -t nat -A OUTPUT -o lo -d 127.0.0.1 -j DNAT --to-destination {own}",
                  "iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE")

hosts = None  # pylint: disable=invalid-name
cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """A cluster, and another host that reaches it."""
    global hosts, cluster  # pylint: disable=global-statement
    hosts = network_hosts.Hosts(1)
    for command in LOOPBACK_HERE:
        subprocess.run(command.split(), check=True)
    for command in LOOPBACK_THERE:
        subprocess.run(hosts.on(0, *command.format(own=hosts.own).split()), check=True)
    cluster = yarn_cluster.YarnCluster("--heartbeat", "200")


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class YarnNetworkTest(JobTest):
    """A step whose client is on a host of its own."""

    @staticmethod
    def yarn_cluster():
        return cluster

    def setUp(self):
        super().setUp()
        self.summary = self.site.folder / "summary.json"

    def start(self, lease):
        """Starts the client of a step; returns it, its gate and its application, once the task runs."""
        ready, gate = self.pipe("ready"), self.pipe("gate")
        words = self.site.command(
            "tony-submit", "--executes", f"echo > {ready.path}; read < {gate.path}",
            *integration_case.conf(worker__instances=1, worker__memory="256m", am__memory="256m", client__lease=lease),
            "--step-key", f"flow|{self.id()}|train", "--summary", str(self.summary))
        client = subprocess.Popen(
            hosts.on(0, *words), env=self.site.environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        try:
            ready.read(END_SECONDS)
        except AssertionError:
            client.kill()
            self.fail(client.communicate()[0])
        return client, gate, json.loads(self.summary.read_text(encoding="utf-8"))["application_id"]

    @contextlib.contextmanager
    def cut(self):
        """Within this, nothing reaches the client's host, and nothing comes from it."""
        network_hosts.ip("link", "set", "port0", "down")
        try:
            yield
        finally:
            network_hosts.ip("link", "set", "port0", "up")

    def await_in_masters_log(self, sentence):
        """Waits for a line of the ApplicationMaster's log."""
        def find():
            return any(sentence in path.read_text(errors="replace") for path in cluster.logs("container_*/amstderr.log"))
        self.assertTrue(machine.wait_until(find, SILENT_SECONDS, 0.25), f"no {sentence}")

    def test_a_cut_that_is_shorter_than_the_lease(self):
        client, gate, job = self.start(lease=600_000)
        with self.cut():
            self.await_in_masters_log("the stream of the client that owns the job broke")
        gate.write()
        text, _ = client.communicate(timeout=END_SECONDS)
        self.assertEqual(client.returncode, 0, text)
        summary = json.loads(self.summary.read_text(encoding="utf-8"))
        self.assertEqual((summary["application_id"], summary["verdict"]), (job, "SUCCEEDED"), text)

    def test_a_cut_that_is_longer_than_the_lease(self):
        client, _, job = self.start(lease=1000)
        with self.cut():
            over = machine.wait_until(
                lambda: cluster.ask(f"apps/{job}")["app"]["state"] == "FINISHED", SILENT_SECONDS, 0.25)
            self.assertTrue(over, cluster.ask(f"apps/{job}"))
        verdict = self.site.verb("status", job)["verdict"]
        self.assertEqual(verdict["reason"], "CLIENT_GONE")
        self.assertIn("nobody came back (tony.client.lease)", verdict["sentence"])
        text, _ = client.communicate(timeout=END_SECONDS)
        self.assertIn(client.returncode, (3, 4), text)


if __name__ == "__main__":
    yarn_cluster.skip_without("ip", "unshare", "setpriv", "iptables")
    reason = network_hosts.refusal()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(yarn_cluster.SKIPPED)
    network_hosts.go_inside("yarn_network_test")
    integration_case.main()
