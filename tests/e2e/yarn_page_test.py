#!/usr/bin/env python3
"""The page of a job on a real YARN cluster, in a real browser: through the proxy of its ResourceManager while the job
runs, and in the portal when job and cluster are gone.

`yarn_page_test.py PROGRAMS [unittest's arguments]`. Exit status 77: Hadoop cannot run here, or there is no Chromium.
"""

import contextlib
import json
import os
import pathlib
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers
from integration_case import conf

import integration_case
import machine
import tony_cli
import webhook
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
# The first run of rank 1 fails. Then both say hello, and rank 0 prints 200 MB.
PRINT_MUCH = """
if [ "$TASK_INDEX" = 1 ] && mkdir {folder}/failed 2> /dev/null; then
  echo before it; python3 -c 'raise ValueError("bad batch 17")'; exit 1
fi
echo "hello from $TASK_INDEX"
[ "$TASK_INDEX" = 1 ] || yes "{line}" | head -c {bytes}
echo "done by $TASK_INDEX"; read word < {gate}
"""
MUCH_LINE, MUCH_BYTES = "x" * 99, 200_000_000
# A download holds some pieces of 256 KiB: in the AM's buffers, in gRPC's, and in the kernel's.
MOST_GROWTH_KB = 24 * 1024
# YARN's nodes take a while to start containers.
PATIENCE_MILLIS = 4 * DEADLINE_MILLIS

cluster = None  # pylint: disable=invalid-name


def setUpModule():  # pylint: disable=invalid-name
    """One cluster, which a test may stop."""
    global cluster  # pylint: disable=global-statement
    cluster = yarn_cluster.YarnCluster("--property", "yarn:yarn.log-aggregation-enable=true")


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

    @staticmethod
    def assert_log(page):
        """What a rank has printed comes into the page."""
        expect = browsers.expect
        expect(page.locator("#logs select[aria-label=Stream]")).to_be_visible(timeout=PATIENCE_MILLIS)
        page.fill("#logs input[list]", "worker:1")
        expect(page.locator("#logs .lines")).to_contain_text("step=30 loss=0.033", timeout=PATIENCE_MILLIS)

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

    def test_alerts_name_the_page(self):
        receiver = webhook.Receiver(self)
        job_file = self.write_job(("tony.alerts.urls", receiver.url), ("tony.containers.command", "true"),
                                  ("tony.worker.instances", 1), ("tony.am.memory", "256m"))
        job = self.site.submit(str(job_file), *integration_case.SMALL)
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), 0, job.describe())
        self.assertEqual(receiver.events(), ["start", "end"])
        page = cluster.ask(f"apps/{job.id}")["app"]["trackingUrl"]
        for alert in receiver.bodies():
            self.assertEqual((alert["job"]["backend"], alert["job"]["page"]), ("yarn", page))

    def test_a_run_is_compared_with_the_one_before(self):
        settings = {"application__name": "twice", "am__memory": "256m"}
        first = self.submit("true", *conf(**settings))
        self.assertEqual(first.wait(tony_cli.DEADLINE_SECONDS), 0, first.describe())
        failed = self.submit("false", *conf(**settings))
        self.assertEqual(failed.wait(tony_cli.DEADLINE_SECONDS), 1, failed.describe())
        second = self.submit(f"read word < {self.gate.path}", *conf(task__silence_note=1234, **settings))
        second.wait_until_running("worker:0")
        previous = self.api(second, "/config/previous")
        self.assertEqual(previous["job"], first.id)
        changed = {one["key"]: (one["value"], one["previous"]) for one in previous["changes"]}
        self.assertEqual(changed["tony.task.silence-note"], ("1234", None))
        self.gate.write(1)
        self.assertEqual(second.wait(tony_cli.DEADLINE_SECONDS), 0, second.describe())

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
        expect(portal.locator(".job .name")).to_contain_text(["trained on YARN"], timeout=PATIENCE_MILLIS)
        portal.get_by_role("link", name="trained on YARN").click()
        expect(portal.locator("h1")).to_contain_text("RUNNING", timeout=PATIENCE_MILLIS)
        self.gate.write(2)
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), 0, job.describe())
        expect(portal.locator("h1")).to_contain_text("SUCCEEDED", timeout=PATIENCE_MILLIS)
        expect(portal.get_by_text("from the job's history")).to_be_visible(timeout=PATIENCE_MILLIS)
        # Its logs come without the page being loaded again, as soon as YARN has collected them.
        self.assert_log(portal)
        self.picture(portal, "portal-logs")
        self.assert_quiet(portal)

        portal.close()
        self.portal.terminate()
        self.portal.wait(tony_cli.DEADLINE_SECONDS)

        # Nothing of the cluster is left but what the portal has copied.
        cluster.run_script("stop", cluster.folder)
        late = self.enter(self.start_portal())
        expect(late.locator(".job .name")).to_contain_text(["trained on YARN"], timeout=PATIENCE_MILLIS)
        expect(late.locator(".fresh")).to_contain_text("as they were when it last answered", timeout=PATIENCE_MILLIS)
        self.picture(late, "portal-list")
        late.get_by_role("link", name="trained on YARN").click()
        expect(late.locator("h1")).to_contain_text("SUCCEEDED", timeout=PATIENCE_MILLIS)
        self.assert_page(late)
        self.assert_log(late)
        self.picture(late, "portal-job")
        self.assert_quiet(late)

    def open_api(self, job, place, **parameters):
        """An answer of the API, through the proxy."""
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        url = f"http://{cluster.environment['RM_WEB']}/proxy/{job.id}/api/v1/jobs/{job.id}{place}{query}"
        return urllib.request.urlopen(url, timeout=tony_cli.DEADLINE_SECONDS)

    def api(self, job, place, **parameters):
        with self.open_api(job, place, **parameters) as answer:
            return json.load(answer)

    def merged(self, job, **parameters):
        """All lines of a merge, as (task, attempt, stream, text), and the answers' notes."""
        lines, notes, cursor = [], [], {}
        while True:
            page = self.api(job, "/logs", limit=5000, **parameters, **cursor)
            lines += [tuple(row[1:]) for row in page["rows"]]
            notes += page["notes"]
            if not page["more"]:
                return lines, notes
            cursor = {"cursor": page["next"]}

    def print_much(self):
        """A job whose second run has printed all that it has to say."""
        job = self.submit(PRINT_MUCH.format(folder=self.site.folder, line=MUCH_LINE, bytes=MUCH_BYTES,
                                            gate=self.gate.path),
                          *conf(application__name="prints much", am__memory="256m", am__retry_count=1), workers=2)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        machine.wait_until(lambda: "done by 0" in (self.tail(job, "worker-0") or ""), tony_cli.DEADLINE_SECONDS,
                           pause_seconds=0.5)
        return job

    def tail(self, job, task):
        """The last lines of a task's second run; nothing while there are none."""
        try:
            return "".join(row[1] for row in self.api(job, f"/logs/{task}/2/stdout", offset=-1000)["rows"])
        except urllib.error.HTTPError:
            return None

    def test_logs_on_other_machines_are_merged_downloaded_and_searched_for_the_first_error(self):
        job = self.print_much()
        errors = self.api(job, "/errors")
        self.assertEqual((errors["failure"]["guilty"], errors["own"]["task"]), ("worker:1", "worker:1"))
        self.assertEqual((errors["own"]["attempt"], errors["own"]["stream"]), (1, "stderr"))
        self.assertEqual(errors["own"]["lines"][-1], "ValueError: bad batch 17")
        self.assertEqual(errors["own"]["offset"], 0)

        lines, notes = self.merged(job, task="worker", match="hello|done|before")
        self.assertEqual(notes, [])
        self.assertEqual({line for line in lines if line[1] == 2},
                         {(f"worker:{rank}", 2, "stdout", f"{word} {rank}")
                          for rank in range(2) for word in ("hello from", "done by")})
        self.assertIn(("worker:1", 1, "stdout", "before it"), lines)
        self.assertEqual(len(lines), len(set(lines)))
        self.assertLess(lines.index(("worker:1", 1, "stdout", "before it")),
                        lines.index(("worker:1", 2, "stdout", "hello from 1")))

        (master,) = machine.programs_of(job.id, "tony-am")
        growth, slowest = self.watch_download(job, master)
        print(f"\n200 MB: the ApplicationMaster grew by {growth} KiB, its slowest answer took {slowest:.2f} s")
        self.assertLess(growth, MOST_GROWTH_KB)
        self.assertLess(slowest, 10)

        page = self.enter(f"http://{cluster.environment['RM_WEB']}/proxy/{job.id}/")
        expect = browsers.expect
        expect(page.locator("#logs input[list]")).not_to_have_value("")
        # The error's link leads to the line of the first run, which lies on the task's machine.
        page.get_by_role("button", name="worker:1, stderr, line 1").click()
        expect(page.locator(".line.current")).to_have_text("Traceback (most recent call last):",
                                                           timeout=PATIENCE_MILLIS)
        expect(page.locator("#logs select[aria-label=Run]")).to_have_value("1")
        page.fill("#logs input[list]", "*")
        page.select_option("#logs select[aria-label=Stream]", "stdout,stderr")
        page.fill("#logs input.pattern", "hello|done|bad batch")
        page.check("text=hide others")
        expect(page.locator("#logs .lines")).to_contain_text("done by 1", timeout=PATIENCE_MILLIS)
        expect(page.locator("#logs .lines")).to_contain_text("worker:0 out hello from 0", timeout=PATIENCE_MILLIS)
        # One executor does not answer: the lines of the other one are there, and a sentence.
        silent = machine.programs_of(job.id, "tony-executor")[0]
        os.kill(silent, signal.SIGSTOP)
        self.addCleanup(self.go_on, silent)
        expect(page.locator("#logs .missing")).to_contain_text("did not answer within 2 s", timeout=DEADLINE_MILLIS)
        lines, (note,) = self.merged(job, task="worker", match="done")
        self.go_on(silent)
        self.assertRegex(note, r"^worker:[01] did not answer within 2 s$")
        self.assertEqual(len(lines), 1)
        self.picture(page, "yarn-merged")
        expect(page.locator("#logs .missing")).to_have_count(0, timeout=DEADLINE_MILLIS)
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])
        self.gate.write(2)
        self.assertEqual(job.wait(tony_cli.DEADLINE_SECONDS), 0, job.describe())

    @staticmethod
    def go_on(pid):
        """A stopped process runs again, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def watch_download(self, job, master):
        """Downloads the large log. Returns by how many KiB the ApplicationMaster grew for it, and how many seconds its
        slowest answer to somebody else took meanwhile."""
        self.api(job, "")
        pathlib.Path(f"/proc/{master}/clear_refs").write_text("5", encoding="ascii")  # forget the peak
        before = machine.memory_kb(master)
        times, over = [], threading.Event()

        def ask():
            while not over.is_set():
                begin = time.monotonic()
                self.api(job, "")
                times.append(time.monotonic() - begin)

        other = threading.Thread(target=ask)
        other.start()
        expected = (MUCH_LINE + "\n").encode()
        try:
            with self.open_api(job, "/logs/worker-0/2/stdout/raw") as answer:
                self.assertEqual(answer.readline(), b"hello from 0\n")
                size = 0
                while size < MUCH_BYTES:
                    bytes_read = answer.read(min(1_000_000, MUCH_BYTES - size))
                    self.assertEqual(bytes_read, expected * (len(bytes_read) // len(expected)))
                    size += len(bytes_read)
                self.assertEqual(answer.read(), b"done by 0\n")
        finally:
            over.set()
            other.join()
        return machine.memory_kb(master, "VmHWM") - before, max(times)


if __name__ == "__main__":
    yarn_cluster.skip_without()
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    page_test.integration_case.main()
