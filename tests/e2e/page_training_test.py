#!/usr/bin/env python3
"""The live page of a real training, an example and its TensorBoard, in a real browser.

`page_training_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers

import examples
import integration_case
import machine

# TensorFlow is imported by four tasks at once, and again when the job begins anew.
PATIENCE_MILLIS = 6 * DEADLINE_MILLIS
TENSORBOARD = ('exec {python} -m tensorboard.main --logdir "$TB_LOG_DIR" --host 127.0.0.1 --port "$TB_PORT" '
               "--reload_interval 1")
TASKS = ("chief:0", "worker:0", "worker:1", "ps:0")


class TrainingTest(examples.TensorFlowParameterServer, page_test.Visits):
    """One job, and one visitor."""

    def make_site(self):
        return self.site

    def assert_runs(self, page, attempt):
        """All tasks are shown as running, for the time `attempt`."""
        for task in TASKS:
            row = self.row(page, task)
            browsers.expect(row).to_contain_text("RUNNING", timeout=PATIENCE_MILLIS)
            browsers.expect(row.locator(".attempt")).to_have_text(str(attempt), timeout=PATIENCE_MILLIS)

    def test_a_training_is_watched_loses_a_worker_goes_on_and_is_stopped(self):
        # In a task of its own: the example's chief starts it with nice, and a busy machine lets it wait.
        job = self.start("--slow-step-seconds 0.5", retries=1, conf=(
            f"tony.application.tensorboard-log-dir={self.site.folder}/checkpoints/tensorboard",
            "tony.tensorboard.memory=1g", f"tony.tensorboard.command={TENSORBOARD.format(python=self.python)}"))
        page = self.enter(self.open_page(job))
        self.assert_runs(page, 1)
        # The example's own summaries, in TensorBoard's frame: it asks for no news by itself.
        self.wait_for_steps(job, examples.CHECKPOINT_EVERY + 1)
        page.get_by_role("button", name="Show it here").click(timeout=PATIENCE_MILLIS)
        frame = page.frame_locator("#program iframe")
        browsers.expect(frame.locator("scalar-card").first).to_contain_text("loss", timeout=PATIENCE_MILLIS)
        browsers.expect(frame.locator("scalar-card line-chart canvas, scalar-card line-chart svg").first).to_be_visible(
            timeout=PATIENCE_MILLIS)
        self.picture(page, "training")

        # Python says on its way out where it was.
        (worker,) = job.wait_until_running("worker:1")
        os.kill(worker, signal.SIGABRT)
        self.assert_runs(page, 2)
        browsers.expect(page.locator("#past")).to_contain_text("worker:1", timeout=DEADLINE_MILLIS)
        browsers.expect(page.locator("main")).to_contain_text("Fatal Python error: Aborted", timeout=DEADLINE_MILLIS)
        page.click("text=The timeline as text")
        twin = page.locator(".twin", has_text="worker:1")
        browsers.expect(twin).to_contain_text("failed at run 1", timeout=DEADLINE_MILLIS)
        browsers.expect(page.locator("#timeline")).to_contain_text("the job began anew", timeout=DEADLINE_MILLIS)
        self.assert_charts_mark_the_restart(page)
        self.picture(page, "training-restarted")

        # An ApplicationMaster that is lost does not end the visit either.
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        browsers.expect(page.locator("#past")).to_contain_text("ApplicationMaster", timeout=DEADLINE_MILLIS)
        self.assert_runs(page, 2)
        self.assertTrue(page.evaluate("() => window.kept"), "the page was loaded again")

        self.assert_stop_asks_and_stops(page, job)
        # The two times at which nobody answered: while the ApplicationMaster was lost, and at the end.
        self.assertEqual([one for one in self.complaints if "Failed to load resource" not in one], [])

    def open_page(self, job):
        """The address of the job's page, as soon as it has one."""
        job.wait_for_task("chief:0", "RUNNING")
        return self.site.verb("open", job.id)["url"]


if __name__ == "__main__":
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
