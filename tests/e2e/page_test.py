#!/usr/bin/env python3
"""The live page of real jobs in a real browser: Debian's Chromium, controlled by Playwright.

`page_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

# pylint: disable=wrong-import-position
import integration_case
import machine
import tony_cli
from integration_case import JobTest, conf

try:
    import playwright.sync_api as browsers
except ImportError:  # this is not the interpreter with the packages yet
    interpreter = tony_cli.examples_python(HERE / "requirements/browser.txt")
    os.execv(interpreter, [interpreter, "-B", *sys.argv])

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
DEADLINE_MILLIS = 30_000
browsers.expect.set_options(timeout=DEADLINE_MILLIS)  # its own is 5 s
# Prints more than one block of the log view, with one line to be found, and waits.
TALK = 'for i in $(seq 3000); do echo "step=$i loss=0.$i"; done; echo "here is the needle"; echo > {said}; read < {gate}'
# Three ranks train; then rank 1 loads a batch that never comes, and the others wait for it.
TRAIN = """
import os, time
import tony

RANK = int(os.environ["TASK_INDEX"])
GATE = os.open("{gate}", os.O_RDONLY)

def load_batch(step):
    if RANK == 1 and step == 20:
        os.read(GATE, 3)

def all_reduce(step):
    if RANK != 1 and step == 20:
        os.read(GATE, 3)

for step in range(1, 21):
    load_batch(step)
    all_reduce(step)
    tony.report(step=step)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
"""
# Imports TensorFlow, as TensorBoard does, which takes its time.
TENSORBOARD_MILLIS = 120_000
WRITE_SCALARS = """
import sys
from tensorboard.summary import Writer
writer = Writer(sys.argv[1])
for step in range(100):
    writer.add_scalar("wondrous_loss", 1 / (step + 1), step)
writer.flush()
"""
# What a finger would miss: WCAG 2.2 asks for 24 pixels each way. A box to check has its label, too.
SMALL_TARGETS = """
    () => [...document.querySelectorAll("button, select, nav a, summary, label, input:not([type=checkbox])")]
        .map((element) => ({text: element.textContent || element.ariaLabel, box: element.getBoundingClientRect()}))
        .filter(({box}) => box.width > 0 && Math.min(box.width, box.height) < 24)
        .map(({text, box}) => `${text} ${box.width} x ${box.height}`)
"""
WATCH_POLICY = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation",
                              (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


def is_foreign(message, url):
    """Whether what the console shows comes from the page of a program, which has another origin."""
    place = message.location["url"]
    return place.startswith("http") and place.split("/")[:3] != url.split("/")[:3]


def go_on(process):
    """Lets a process that was stopped run again, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


class Visits(JobTest):
    """A browser, and what its pages have to keep to."""

    def setUp(self):
        super().setUp()
        self.said, self.gate = self.pipe("said"), self.pipe("gate")
        driver = browsers.sync_playwright().start()
        self.addCleanup(driver.stop)
        self.browser = self.launch(driver)
        self.addCleanup(self.browser.close)
        self.complaints = []

    def launch(self, driver):
        """A browser, controlled by the given Playwright."""
        return driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

    def enter(self, url, **context):
        """A visitor's page, with everything that the browser complains about in self.complaints."""
        page = self.browser.new_context(**context).new_page()
        page.set_default_timeout(DEADLINE_MILLIS)
        page.on("console", lambda message: self.complaints.append(message.text)
                if message.type in ("error", "warning") and not is_foreign(message, url) else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.add_init_script(WATCH_POLICY)
        page.goto(url)
        page.wait_for_selector("body.live")
        page.evaluate("() => { window.kept = true; }")
        return page

    def start(self, *arguments, workers=2):
        """A job whose workers have printed all they have to say."""
        job = self.submit(TALK.format(said=self.said.path, gate=self.gate.path), *arguments, workers=workers)
        for _ in range(workers):
            self.said.read()
        job.wait_until_running(*(f"worker:{index}" for index in range(workers)))
        return job

    def visit(self, job, **context):
        """A visitor's page of the job."""
        return self.enter(self.site.verb("open", job.id)["url"], **context)

    def pid(self, job, task):
        """The process of the task's program."""
        tasks = self.site.verb("status", job.id)["tasks"]
        return next(one["pid"] for one in tasks if one["task"] == task)

    def assert_content(self, page):
        """It is the page that was opened, and the browser has had nothing to complain about."""
        self.assertTrue(page.evaluate("() => window.kept"), "the page was loaded again")
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])

    def picture(self, page, name):
        """A picture for a person, in the folder TONY_PICTURES if there is one."""
        if os.environ.get("TONY_PICTURES"):
            page.screenshot(path=f"{os.environ['TONY_PICTURES']}/{name}.png", full_page=True)

    def assert_stop_asks_and_stops(self, page, job):
        """Stop takes no for an answer; after a yes the job ends, and its page says so."""
        page.click("text=Stop …")
        page.click("text=Keep it running")
        browsers.expect(page.locator("dialog")).to_have_count(0)
        browsers.expect(page.locator("h1")).to_contain_text("RUNNING")
        page.click("text=Stop …")
        page.fill("dialog input", "seen enough")
        page.click("text=Stop the job")
        self.assert_ends(job, 4)
        browsers.expect(page.locator("h1")).to_contain_text("KILLED")
        self.assertEqual(page.evaluate("() => window.violations"), [])

    def assert_charts_mark_the_restart(self, page):
        """Charts say that the job began anew once: the legend, and the text of the canvas with the mark."""
        chart = page.locator("#charts [role=img]").first
        chart.scroll_into_view_if_needed(timeout=DEADLINE_MILLIS)
        browsers.expect(chart).to_have_attribute("aria-label", re.compile("; 1 restart of the job$"))
        browsers.expect(page.locator("#charts .legend")).to_have_text("job restarted")

    def row(self, page, task):
        """The row of a task in the table."""
        return page.locator("#tasks .task", has=page.get_by_role("rowheader", name=task, exact=True))


class PageTest(Visits):
    """One job each, and one visitor."""

    def test_a_killed_worker_and_the_restart_are_seen_and_stop_asks_and_stops(self):
        job = self.start(*conf(am__retry_count=1))
        page = self.visit(job)
        page.wait_for_selector("h1 >> text=RUNNING")
        os.kill(self.pid(job, "worker:1"), signal.SIGKILL)
        for _ in range(2):
            self.said.read()
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        # Without being loaded again: the second run, whose fault it was, and the timeline.
        browsers.expect(self.row(page, "worker:1").locator(".attempt")).to_have_text("2")
        browsers.expect(self.row(page, "worker:1")).to_contain_text("RUNNING")
        browsers.expect(page.locator("#past")).to_contain_text("worker:1")
        page.click("text=The timeline as text")
        twin = page.locator(".twin", has_text="worker:1")
        browsers.expect(twin).to_contain_text("failed at run 1")
        browsers.expect(page.locator("#timeline")).to_contain_text("the job began anew")
        self.assert_charts_mark_the_restart(page)

        self.assert_stop_asks_and_stops(page, job)

    def test_a_task_that_starts_again_alone_is_marked_in_charts_and_the_timeline_says_where_the_time_went(self):
        job = self.submit(f'echo step=1 > "$TONY_PROGRESS"; read < {self.gate.path}', workers=2,
                          *conf(task__metrics_interval_ms=100, am__retry_count=1, worker__restart_scope="task"))
        job.wait_until_running("worker:0", "worker:1")
        page = self.visit(job)
        chart = page.locator("#charts [role=img]").first
        chart.scroll_into_view_if_needed()
        browsers.expect(chart).to_have_attribute("aria-label", re.compile("worker:1"))
        self.assertNotIn("restart", chart.get_attribute("aria-label"))
        os.kill(self.pid(job, "worker:1"), signal.SIGKILL)
        browsers.expect(chart).to_have_attribute(
            "aria-label", re.compile(r"; 1 restart of single tasks \(worker:1\)$"))
        browsers.expect(page.locator("#charts .legend")).to_have_text("task restarted")
        page.click("text=The timeline as text")
        twin = page.locator(".twin", has_text="worker:1")
        browsers.expect(twin).to_contain_text(re.compile("first step after .* of run 2"))
        browsers.expect(twin).to_contain_text("failed at run 1")
        browsers.expect(page.locator("#timeline .legend")).to_contain_text("first step")
        # Too short to judge, which is said.
        browsers.expect(page.locator("#advice")).to_contain_text("too short to judge", timeout=2 * DEADLINE_MILLIS)
        self.picture(page, "restarts-wide-light")
        page.emulate_media(color_scheme="dark")
        self.picture(page, "restarts-wide-dark")
        self.assert_content(page)
        self.gate.write(2)
        self.assert_succeeds(job)

    def test_a_rank_that_hangs_is_named_and_new_stacks_are_taken(self):
        program = self.site.folder / "train.py"
        program.write_text(TRAIN.format(gate=self.gate.path), encoding="utf-8")
        job = self.submit(f"python3 {program}", *conf(task__hang_limit_ms=3000, task__metrics_interval_ms=100), workers=3)
        job.wait_until_running(*(f"worker:{index}" for index in range(3)))
        page = self.visit(job)
        # Nobody has asked for these: the limit is over.
        suspect = page.locator("#stacks p b")
        browsers.expect(suspect).to_contain_text("worker:1 is in load_batch (train.py:10) while 2 others are in "
                                                 "all_reduce (train.py:14)", timeout=2 * DEADLINE_MILLIS)
        browsers.expect(page.locator("#past")).to_contain_text("worker:1 is in load_batch")
        browsers.expect(page.locator("#stacks details").first).to_contain_text("the suspect")
        browsers.expect(page.locator("#stacks pre").first).to_contain_text("load_batch")
        with page.expect_response(lambda answer: answer.request.method == "POST") as taken:
            page.click("text=Take the stacks of all tasks")
        self.assertEqual(taken.value.status, 200)
        browsers.expect(suspect).to_contain_text("worker:1 is in load_batch")
        self.assert_content(page)
        self.gate.write(3)
        self.assert_succeeds(job)

    def test_the_log_is_searched_and_followed(self):
        job = self.start(workers=1)
        page = self.visit(job)
        lines = page.locator("#logs .lines")
        browsers.expect(lines).to_contain_text("here is the needle")
        page.fill("#logs input.pattern", r"step=77\d loss")
        page.keyboard.press("Enter")
        browsers.expect(page.locator("#logs [role=status]").first).to_contain_text("1 / 10")
        browsers.expect(page.locator(".line.current")).to_have_text("step=770 loss=0.770")
        page.click("text=next ▸")
        browsers.expect(page.locator(".line.current")).to_have_text("step=771 loss=0.771")
        browsers.expect(lines).to_contain_text("step=765 ")  # its surroundings
        page.check("text=hide others")
        browsers.expect(page.locator("#logs .line")).to_have_count(10)
        page.uncheck("text=hide others")
        page.fill("#logs input.pattern", "")
        lines.focus()
        page.keyboard.press("Home")
        browsers.expect(lines).to_contain_text("step=1 loss=0.1")
        page.keyboard.press("End")
        browsers.expect(lines).to_contain_text("here is the needle")
        self.assert_content(page)
        self.gate.write()
        self.assert_succeeds(job)

    def test_logs_of_all_tasks_are_one_by_time(self):
        job = self.start(workers=3)
        page = self.visit(job)
        expect, lines, place = browsers.expect, page.locator("#logs .lines"), page.locator("#logs .place")
        expect(page.locator("#logs input[list]")).not_to_have_value("")
        page.fill("#logs input[list]", "worker*")
        # A follower is at the end of 9,003 lines, of which those in view exist.
        expect(place).to_contain_text("9,003 lines")
        expect(lines).to_contain_text("here is the needle")
        self.assertLess(page.locator("#logs .line").count(), 100)
        # Each task has its name before its lines, and a colour.
        page.fill("#logs input.pattern", "needle")
        page.check("text=hide others")
        names = page.locator("#logs .line .by")
        expect(names).to_have_count(3)
        self.assertEqual({name.strip() for name in names.all_inner_texts()}, {"worker:0", "worker:1", "worker:2"})
        colors = names.evaluate_all("(names) => names.map((name) => getComputedStyle(name).color)")
        self.assertEqual(len(set(colors)), 3)
        page.uncheck("text=hide others")
        page.keyboard.press("Tab")
        page.fill("#logs input.pattern", "")
        # What is looked for is read for, and a pattern follows what is typed with a delay.
        expect(page.locator("#logs [role=status] .group")).to_have_count(0)
        # From the start on only as much is read as somebody looks at.
        page.select_option("#logs select[aria-label=Time]", label="all")
        expect(place).to_contain_text("2,000 lines, and more below")
        expect(lines).to_contain_text("step=1 loss=0.1")
        lines.evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
        expect(place).to_contain_text("4,000 lines")
        self.picture(page, "merged")
        page.check("#logs .place input[type=checkbox]")
        expect(place).to_contain_text("9,003 lines")
        expect(lines).to_contain_text("here is the needle")
        self.assert_content(page)
        self.gate.write(3)
        self.assert_succeeds(job)

    def test_a_job_ends_and_its_page_keeps_what_it_showed(self):
        job = self.start()
        page = self.visit(job)
        browsers.expect(self.row(page, "worker:0")).to_contain_text("RUNNING")
        self.assert_content(page)
        self.gate.write(2)
        self.assert_succeeds(job)
        browsers.expect(page.locator("h1")).to_contain_text("SUCCEEDED")
        browsers.expect(page.locator(".fresh")).to_contain_text("has ended")
        browsers.expect(self.row(page, "worker:1")).to_be_visible()
        self.assertTrue(page.evaluate("() => window.kept"))
        self.assertEqual(page.evaluate("() => window.violations"), [])

    def test_an_application_master_that_falls_silent_is_noticed_and_so_is_its_return(self):
        job = self.start(*conf(task__max_missed_heartbeats=300), workers=1)
        page = self.visit(job)
        expect, fresh = browsers.expect, page.locator(".fresh")
        expect(fresh).to_have_text("live")
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGSTOP)
        self.addCleanup(go_on, master)
        expect(fresh).to_contain_text("Nothing has been heard for", timeout=2 * DEADLINE_MILLIS)
        expect(page.locator(".fresh.gone")).to_contain_text("does not answer. What you see is as of",
                                                        timeout=2 * DEADLINE_MILLIS)
        go_on(master)
        expect(fresh).to_have_text("live", timeout=2 * DEADLINE_MILLIS)
        self.assert_content(page)
        self.gate.write()
        self.assert_succeeds(job)

    def test_a_phone_shows_everything_without_scrolling_sideways(self):
        job = self.start()
        page = self.visit(job, viewport={"width": 390, "height": 844}, color_scheme="dark")
        browsers.expect(self.row(page, "worker:1")).to_contain_text("RUNNING")
        self.assertEqual(page.evaluate("() => document.documentElement.scrollWidth"), 390)
        self.assertEqual(page.evaluate(SMALL_TARGETS), [])
        self.assertLess(page.locator(".log-tools").bounding_box()["height"], 160, "three rows")
        page.focus("#tasks .rows")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        browsers.expect(page.locator("#logs input[list]")).to_have_value("worker:1")
        browsers.expect(page.locator("#logs .lines")).to_contain_text("here is the needle")
        self.assert_content(page)
        self.gate.write(2)
        self.assert_succeeds(job)

    def test_tensorboards_own_scalars_are_seen_in_its_frame_and_in_a_tab(self):
        python, folder = tony_cli.examples_python(), self.site.folder / "scalars"
        subprocess.run([python, "-c", WRITE_SCALARS, folder], check=True, stderr=subprocess.DEVNULL)
        job = self.start(*conf(application__tensorboard_log_dir=folder, tensorboard__memory="1g",
                               tensorboard__command=f'exec {python} -m tensorboard.main --logdir "$TB_LOG_DIR" '
                                                    '--host 127.0.0.1 --port "$TB_PORT"'), workers=1)
        page = self.visit(job)
        page.get_by_role("button", name="Show it here").click(timeout=TENSORBOARD_MILLIS)
        frame = page.frame_locator("#program iframe")
        browsers.expect(frame.locator("scalar-card").first).to_contain_text("wondrous_loss", timeout=TENSORBOARD_MILLIS)
        browsers.expect(frame.locator("scalar-card line-chart canvas, scalar-card line-chart svg").first).to_be_visible(
            timeout=TENSORBOARD_MILLIS)
        # Its address is not ours: what runs there has another origin.
        (inner,) = page.frames[1:]
        self.assertNotEqual(inner.evaluate("() => location.origin"), page.evaluate("() => location.origin"))
        self.assertEqual(inner.evaluate("() => document.cookie"), "")
        with page.expect_popup() as opened:
            page.get_by_role("link", name="open in a new tab").click()
        browsers.expect(opened.value.locator("scalar-card").first).to_contain_text("wondrous_loss",
                                                                                timeout=TENSORBOARD_MILLIS)
        self.assertTrue(page.evaluate("() => window.kept"), "the page was loaded again")
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.gate.write()
        self.assert_succeeds(job)

    def test_without_scripts_there_is_a_page_too(self):
        job = self.start()
        page = self.browser.new_context(java_script_enabled=False).new_page()
        page.goto(self.site.verb("open", job.id)["url"])
        browsers.expect(page.locator("body.plain h1")).to_contain_text("RUNNING")
        self.assertRegex(page.content(), re.compile('http-equiv="refresh"'))
        self.gate.write(2)
        self.assert_succeeds(job)

    def test_the_portal_lists_jobs_and_shows_those_of_the_past(self):
        good = self.submit("true", *conf(application__name="fine"))
        self.assert_succeeds(good)
        bad = self.submit("echo 'ValueError: no batch' >&2; exit 7", *conf(application__name="broken"))
        self.assert_ends(bad, 1)
        page = self.enter(self.start_portal())
        names = page.locator(".job .name")
        expect = browsers.expect
        expect(names).to_have_text(["broken", "fine"])
        # Search, a filter and an order, which the address keeps.
        page.get_by_role("searchbox").fill("CODE 7")
        expect(names).to_have_text(["broken"])
        page.get_by_role("searchbox").fill("")
        page.get_by_role("button", name="SUCCEEDED").click()
        expect(names).to_have_text(["fine"])
        page.get_by_role("button", name="SUCCEEDED").click()
        page.get_by_role("button", name="Submitted").click()
        expect(names).to_have_text(["fine", "broken"])
        self.assertIn("sort=submitted", page.url)
        # A job that comes is there by itself.
        running = self.start(*conf(application__name="running"))
        expect(names).to_have_text(["fine", "broken", "running"])
        # The keyboard alone opens a job of the past, with its first error.
        page.locator(".jobs .rows").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text("broken")
        expect(page.get_by_text("from the job's history")).to_be_visible(timeout=DEADLINE_MILLIS)
        expect(page.locator("main")).to_contain_text("ValueError: no batch")
        self.assertEqual(page.get_by_role("button", name="Stop").count(), 0)
        page.get_by_role("link", name="All jobs").click()
        expect(names).to_have_count(3)
        # A running one is followed until its end.
        page.get_by_role("link", name="running").click()
        expect(page.locator("h1")).to_contain_text("RUNNING")
        self.gate.write(2)
        self.assert_succeeds(running)
        expect(page.locator("h1")).to_contain_text("SUCCEEDED")
        expect(page.get_by_text("from the job's history")).to_be_visible(timeout=DEADLINE_MILLIS)
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])

    def test_the_portal_compares_two_jobs(self):
        for name, batch, code in (("slow", 32, 0), ("fast", 64, 3)):
            report = f'for i in 1 2 3; do echo "step=$i loss=0.{batch}" > "$TONY_PROGRESS"; sleep 0.3; done; exit {code}'
            job = self.submit(report, *conf(application__name=name, task__metrics_interval_ms=200,
                                            worker__env=f"BATCH={batch}"))
            self.assert_ends(job, 1 if code else 0)
        page = self.enter(self.start_portal())
        expect = browsers.expect
        expect(page.locator(".job .name")).to_have_text(["fast", "slow"])
        # The keyboard chooses one, the mouse the other one.
        page.locator(".jobs .rows").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        expect(page.get_by_text("One job is chosen")).to_be_visible()
        page.get_by_role("checkbox", name="Compare slow").check()
        page.get_by_role("button", name="Compare", exact=True).click()
        row = lambda name: page.locator(".compared tr", has=page.get_by_role("rowheader", name=name, exact=True))
        expect(row("State").locator("td")).to_have_text(["FAILED", "SUCCEEDED"])
        expect(row("tony.worker.env").locator("td")).to_have_text(["BATCH=64", "BATCH=32"])
        expect(row("tony.worker.instances")).to_have_count(0)
        expect(row("Tasks").locator("td")).to_have_text(["1", "1"])
        expect(row("Memory, highest of worker").locator("td").first).to_contain_text("B")
        expect(row("loss, last of worker").locator("td")).to_have_text(["0.64", "0.32"])
        self.picture(page, "compare-wide-light")
        page.emulate_media(color_scheme="dark")
        self.picture(page, "compare-wide-dark")
        page.set_viewport_size({"width": 360, "height": 700})
        self.assertLessEqual(page.evaluate("() => document.documentElement.scrollWidth"), 360)
        self.picture(page, "compare-narrow-dark")
        # The address keeps it, and Back leads to the list.
        address = page.url
        page.go_back()
        expect(page.locator(".job .name")).to_have_count(2)
        self.assert_content(page)
        page.goto(address)
        page.reload()
        expect(row("State").locator("td")).to_have_text(["FAILED", "SUCCEEDED"])
        page.get_by_role("button", name="Back to the list").click()
        expect(page.locator(".job .name")).to_have_count(2)
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])

    def test_the_portal_on_a_narrow_dark_screen(self):
        job = self.submit("exit 3", *conf(application__name="a-rather-long-name-" + "x" * 60))
        self.assert_ends(job, 1)
        page = self.enter(self.start_portal(), viewport={"width": 360, "height": 700}, color_scheme="dark")
        browsers.expect(page.locator(".job .name")).to_have_count(1)
        self.assertLessEqual(page.evaluate("() => document.documentElement.scrollWidth"), 360)
        self.assertEqual(page.evaluate(SMALL_TARGETS), [])
        later = self.submit("true", *conf(application__name="later"))
        self.assert_succeeds(later)
        names = page.locator(".job .name")
        browsers.expect(names).to_have_text([re.compile("later"), re.compile("a-rather-long-name")])
        page.get_by_label("Order").select_option("Oldest first")
        browsers.expect(names).to_have_text([re.compile("a-rather-long-name"), re.compile("later")])
        self.assertIn("sort=submitted", page.url)
        self.picture(page, "list-narrow-dark")
        self.assert_content(page)


if __name__ == "__main__":
    if CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
