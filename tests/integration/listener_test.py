#!/usr/bin/env python3
"""The ApplicationMaster's port under floods of connections, and who gets which limit on open files."""

import subprocess

import integration_case
import second_user
from integration_case import JobTest

# Opens COUNT connections to PORT, says how many it has, and keeps them until its input ends.
FLOOD = """
    import resource, socket, sys
    port, count = int(sys.argv[1]), int(sys.argv[2])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kept = []
    for _ in range(count):
        connection = socket.socket()
        connection.settimeout(20)
        try:
            connection.connect(("127.0.0.1", port))
        except OSError:
            continue
        kept.append(connection)
    print(len(kept), flush=True)
    sys.stdin.read()
"""


def with_limit(option, number):
    """The prefix of a command that runs with a limit on open files: -Sn, -Hn or -n."""
    return ["bash", "-c", f'ulimit {option} {number} && exec "$@"', "bash"]


class ListenerTest(JobTest):
    """Attacks on running jobs."""

    def start(self, *limit):
        job = self.site.submit(
            *("--executes", "sleep 600", "--conf", "tony.worker.instances=1"),
            *integration_case.SMALL,
            prefix=with_limit(*limit),
        )
        job.wait_until_running("worker:0")
        return job, int((job.folder / "am.address").read_text().split(":")[1])

    def flood(self, flooder):
        """Waits until the flooder has its connections; returns their number."""
        self.addCleanup(flooder.wait)
        self.addCleanup(flooder.kill)
        self.addCleanup(flooder.stdout.close)
        return int(flooder.stdout.readline())

    def kill(self, job):
        self.site.verb("kill", job.id)
        self.assert_ends(job, 4, "KILLED_BY_USER")

    def test_strangers_are_sent_away(self):
        second_user.require(self)
        job, port = self.start("-Sn", 1024)
        flooder = second_user.start_python(
            FLOOD, port, 3000, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(flooder.stdin.close)
        self.assertGreater(self.flood(flooder), 1000)
        # Connected by the kernel, and closed by the ApplicationMaster, which has room for its own.
        self.kill(job)
        log = (job.folder / "logs/am.log").read_text()
        self.assertIn("a program of another user of this machine", log)
        # A line at 1, 10, 100, …, not one for each.
        self.assertLess(log.count("was sent away"), 16)

    def test_a_flood_that_takes_all_descriptors_passes(self):
        # The flood comes from the job's own user, because other users are closed earlier. The job
        # cannot raise its limit.
        job, port = self.start("-n", 256)
        flooder = subprocess.Popen(
            [second_user.PYTHON, "-c", second_user.textwrap.dedent(FLOOD), str(port), "600"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.assertGreater(self.flood(flooder), 300)
        flooder.stdin.close()
        flooder.wait(30)
        self.kill(job)

    def test_programs_have_the_limit_of_the_login(self):
        ready = self.pipe("ready")
        command = f"ulimit -Sn; ulimit -Hn; echo > {ready.path}; sleep 600"
        job = self.site.submit(
            *("--executes", command, "--conf", "tony.worker.instances=2"),
            *integration_case.SMALL,
            prefix=["bash", "-c", 'ulimit -Sn 777 && ulimit -Hn 2048 && exec "$@"', "bash"],
        )
        for _ in range(2):
            ready.read()
        (master,) = (
            pid for pid in integration_case.machine.processes_with(job.id)
            if integration_case.machine.name_of(pid) == "tony-am"
        )
        limits = integration_case.pathlib.Path(f"/proc/{master}/limits").read_text()
        self.assertRegex(limits, r"Max open files +2048 +2048")
        self.kill(job)
        for task in ("worker:0", "worker:1"):
            self.assertEqual(job.log(task).split(), [b"777", b"2048"])


if __name__ == "__main__":
    integration_case.main()
