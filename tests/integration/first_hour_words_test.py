#!/usr/bin/env python3
"""The words in which jobs tell what they show, why they began again, and where they failed."""

import integration_case  # first: it finds what tests share
from integration_case import JobTest

# Listens at TB_PORT from one line of the first pipe to the next, and ends after a third.
SHOW = (
    "import os, socket, sys\n"
    "def wait(): open(sys.argv[1]).readline()\n"
    "def say(): print('done', file=open(sys.argv[2], 'w'), flush=True)\n"
    "wait()\n"
    "server = socket.create_server(('127.0.0.1', int(os.environ['TB_PORT'])))\n"
    "say()\n"
    "wait()\n"
    "server.close()\n"
    "say()\n"
    "wait()\n"
)


class VisualizationTest(JobTest):
    """Visualization is shown only while something listens."""

    def start_show(self, *arguments):
        """A job that listens at TB_PORT when told to, with the pipes to it and from it."""
        (self.site.folder / "show.py").write_text(SHOW)
        order, answer = self.pipe("order"), self.pipe("answer")
        job = self.submit(
            f"python3 {self.site.folder}/show.py {order.path} {answer.path}",
            *("--conf", "tony.task.heartbeat-interval-ms=100", "--conf", "tony.worker.memory=128m"),
            *arguments)
        job.wait_until_running("worker:0")
        return job, order, answer

    def shown(self):
        """What `tony status` shows: as text, which must agree, and as JSON."""
        url = self.site.verb("status")["visualization"]
        text = self.site.run("tony", "status").stdout
        if url:
            self.assertIn(f"Visualization: {url} (worker:0)\n", text)
        else:
            self.assertNotIn("Visualization", text)
        return url

    def test_it_is_told_and_withdrawn(self):
        job, order, answer = self.start_show()
        self.assertIsNone(self.shown())
        result = self.site.run("tony", "open", "--tensorboard")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (
            1, "", "tony: nothing listens at TB_PORT of worker:0; "
                   "start TensorBoard there or give --sidecar_tensorboard_log_dir\n"))

        order.write()
        answer.read()
        url = job.wait_for_visualization()
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+$")
        self.assertEqual(self.shown(), url)

        order.write()
        answer.read()
        job.wait_for(
            lambda events: any(event.get("visualization_ready") and
                               not event["visualization_ready"].get("url") for event in events),
            "end of the visualization")
        self.assertIsNone(self.shown())
        order.write()
        self.assert_succeeds(job)
        self.assertEqual(len(job.events("visualization_ready")), 2)

    def test_it_ends_with_the_task(self):
        job, order, answer = self.start_show()
        order.write()
        answer.read()
        job.wait_for_visualization()
        # Both: the program stops listening and ends, or is seen to end first.
        order.write()
        answer.read()
        order.write()
        self.assert_succeeds(job)
        self.assertIsNone(self.shown())

    def test_a_program_that_never_listens_is_never_shown(self):
        result = self.site.run(
            *("tony-submit", "--executes", "true", "--conf", "tony.worker.instances=1"),
            *integration_case.SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("Visualization", result.stdout)

    def test_a_sidecar_that_does_not_listen_yet_is_named(self):
        line = self.pipe("line")
        job = self.submit(
            f"read word < {line.path}", "--sidecar_tensorboard_log_dir", self.site.folder / "summaries",
            *("--conf", "tony.tensorboard.command=exec sleep 600", "--conf", "tony.tensorboard.memory=64m"))
        job.wait_until_running("worker:0", "tensorboard:0")
        result = self.site.run("tony", "open", "--tensorboard")
        self.assertEqual((result.returncode, result.stderr), (
            1, f"tony: nothing listens at TB_PORT of tensorboard:0 yet; tony logs {job.id} tensorboard "
               "shows what it does\n"))
        line.write()
        self.assert_succeeds(job)


if __name__ == "__main__":
    integration_case.main()
