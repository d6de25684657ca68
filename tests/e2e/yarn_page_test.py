#!/usr/bin/env python3
"""The page of a job on a real YARN cluster, in a real browser: through the proxy of its ResourceManager while the job
runs, and in the portal when job and cluster are gone.

`yarn_page_test.py PROGRAMS [unittest's arguments]`. Exit status 77: Hadoop cannot run here, or there is no Chromium.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers
from integration_case import conf

import tony_cli
import yarn_cluster

# Two ranks train: each step takes a while and has a loss. Behind the tenth they wait, so that the test sees the change.
TRAIN = """
import os, threading, time
import tony

RANK = int(os.environ["TASK_INDEX"])
GATE = os.open("{gate}", os.O_RDONLY)

for step in range(1, 31):
    if step in (11, 21):
        os.read(GATE, 3)
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        pass
    print(f"step={{step}} loss={{1 / step:.3f}}", flush=True)
    tony.report(step=step, loss=1 / step)
"""
# A server where TensorBoard would be; it ends with the job.
BOARD = 'exec python3 -m http.server "$TB_PORT" --bind 127.0.0.1'
# YARN's nodes take a while to start containers.
PATIENCE_MILLIS = 4 * DEADLINE_MILLIS

cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster, which a test may stop."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster()


def tearDownModule():  # pylint: disable=invalid-name
    """Stops it, with all that runs there."""
    cluster.stop()


class YarnPageTest(page_test.Visits):
    """One job, and one visitor."""

    @staticmethod
    def yarn_cluster():
        return cluster

    def train(self):
        """A job of two ranks which have made ten steps, and what looks like TensorBoard."""
        program = self.site.folder / "train.py"
        program.write_text(TRAIN.format(gate=self.gate.path), encoding="utf-8")
        job = self.submit(f"python3 {program}", *conf(
            application__name="trained on YARN", am__memory="256m", task__metrics_interval_ms=500,
            tensorboard__instances=1, tensorboard__memory="128m", tensorboard__command=BOARD), workers=2)
        job.wait_until_running("worker:0", "worker:1", "tensorboard:0")
        job.wait_for_visualization()
        return job

    def picture(self, page, name):
        """For people, where the environment says so."""
        folder = os.environ.get("TONY_TEST_PICTURES")
        if folder:
            page.screenshot(path=f"{folder}/{name}.png", full_page=True)

    def assert_page(self, page):
        """All parts of the job's page are there, but for the logs."""
        expect = browsers.expect
        expect(page.locator("h1")).to_contain_text("trained on YARN")
        for task in ("worker:0", "worker:1", "tensorboard:0"):
            expect(self.row(page, task)).to_be_visible(timeout=DEADLINE_MILLIS)
        page.click("text=The timeline as text")
        expect(page.locator(".twin", has_text="worker:1").first).to_contain_text("running", timeout=DEADLINE_MILLIS)
        expect(page.locator("#charts canvas").first).to_be_visible(timeout=DEADLINE_MILLIS)
        expect(page.locator("#charts")).to_contain_text("loss")
        expect(page.locator("#config")).to_contain_text("tony.worker.instances")
        self.assertEqual(page.locator("button.danger").count(), 0, "it can be stopped here")

    def assert_quiet(self, page):
        """The browser has had nothing to complain about."""
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])

    def watch(self, page):
        """The requests of a page, as (method, headers, address), and the statuses of their answers."""
        requests, statuses = [], set()
        page.on("request", lambda request: requests.append((request.method, request.headers, request.url)))
        page.on("response", lambda answer: statuses.add(answer.status))
        return requests, statuses

    def test_through_the_proxy_and_from_the_portal_when_the_cluster_is_gone(self):
        expect = browsers.expect
        job = self.train()
        url = cluster.ask(f"apps/{job.id}")["app"]["trackingUrl"]
        self.assertEqual(url, f"http://{cluster.environment['RM_WEB']}/proxy/{job.id}/")
        page = self.enter(url)
        requests, statuses = self.watch(page)
        steps = self.row(page, "worker:0")
        expect(steps).to_contain_text("10", timeout=PATIENCE_MILLIS)
        self.assert_page(page)
        expect(page.locator("main, header")).to_contain_text([f"tony kill {job.id}"])
        # Its executor reads the log in the task's container.
        expect(page.locator("#logs input[list]")).not_to_have_value("")
        page.fill("#logs input[list]", "worker:0")
        expect(page.locator("#logs .lines")).to_contain_text("step=10 loss=0.100", timeout=PATIENCE_MILLIS)
        # TensorBoard's own requests do not pass this proxy.
        expect(page.locator("#program")).to_contain_text(f"tony open {job.id} --tensorboard")
        self.assertEqual(page.locator("#program a, #program button").count(), 0)
        self.picture(page, "proxy")

        # It changes without being loaded again.
        self.gate.write(2)
        expect(steps).to_contain_text("20", timeout=PATIENCE_MILLIS)
        self.assert_content(page)
        self.assertEqual({method for method, _, _ in requests}, {"GET"})
        for _, headers, address in requests:
            self.assertFalse({"range", "if-none-match"} & set(headers), address)
        self.assertEqual(statuses, {200})
        page.close()

        # The portal follows the job to its end.
        portal = self.enter(self.start_portal())
        expect(portal.locator(".job .name")).to_have_text(["trained on YARN"], timeout=PATIENCE_MILLIS)
        portal.get_by_role("link", name="trained on YARN").click()
        expect(portal.locator("h1")).to_contain_text("RUNNING", timeout=PATIENCE_MILLIS)
        self.gate.write(2)
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), 0, job.describe())
        expect(portal.locator("h1")).to_contain_text("SUCCEEDED", timeout=PATIENCE_MILLIS)
        expect(portal.get_by_text("from the job's history")).to_be_visible(timeout=PATIENCE_MILLIS)
        self.assert_quiet(portal)

        portal.close()
        self.portal.terminate()
        self.portal.wait(tony_cli.DEADLINE_SECONDS)

        # Nothing of the cluster is left but what the portal has copied.
        cluster.run_script("stop", cluster.folder)
        late = self.enter(self.start_portal())
        expect(late.locator(".job .name")).to_have_text(["trained on YARN"], timeout=PATIENCE_MILLIS)
        expect(late.locator(".fresh")).to_contain_text("as they were when it last answered", timeout=PATIENCE_MILLIS)
        self.picture(late, "portal-list")
        late.get_by_role("link", name="trained on YARN").click()
        expect(late.locator("h1")).to_contain_text("SUCCEEDED", timeout=PATIENCE_MILLIS)
        self.assert_page(late)
        self.picture(late, "portal-job")
        self.assert_quiet(late)


if __name__ == "__main__":
    yarn_cluster.skip_without()
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    page_test.integration_case.main()
