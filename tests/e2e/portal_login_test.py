#!/usr/bin/env python3
"""The login of a portal of several users, in a real browser.

`portal_login_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
import portal_shared_test
from page_test import DEADLINE_MILLIS, browsers
from integration_case import conf

# What a browser notes of an answer that is no page for everybody: it is told so by its status.
REFUSED = "the server responded with a status of 403"
# Asks, as a script of the page could, for the end of a job.
STOP = """async (id) => (await fetch(`/api/v1/jobs/${id}/stop`, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"})).status"""


class PortalLoginTest(page_test.Visits, portal_shared_test.SharedPortalCase):
    """Two users, one running job, one browser."""

    def open_portal(self):
        """A browser's page on the portal, which it has not logged in to."""
        certificate, key = self.make_certificate()
        lines = (self.line("alice:control", "correct horse"), self.line("bob:view", "battery staple"))
        users = self.file("users", "".join(lines))
        portal_shared_test.SharedPortalCase.start(self, "--certificate", certificate, "--key", key, "--users", users)
        page = self.browser.new_context(ignore_https_errors=True, viewport={"width": 900, "height": 600}).new_page()
        page.set_default_timeout(DEADLINE_MILLIS)
        page.on("console", lambda message: self.complaints.append(message.text)
                if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.add_init_script(page_test.WATCH_POLICY)
        page.goto(f"https://localhost:{self.port}/")
        return page

    def log_in(self, page, name, password):
        """As a person does it: with the keyboard."""
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(password)
        page.keyboard.press("Enter")

    def assert_quiet(self, page):
        """The browser has had nothing to complain about but refusals."""
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual([text for text in self.complaints if REFUSED not in text], [])

    def test_who_may_look_cannot_stop_a_job_and_who_may_control_can(self):
        expect = browsers.expect
        job = self.submit(f"read word < {self.gate.path}", *conf(application__name="seen"))
        job.wait_until_running("worker:0")
        page = self.open_portal()
        expect(page.get_by_label("Name")).to_be_focused()
        self.picture(page, "login")
        self.log_in(page, "bob", "correct horse")
        expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        self.assertEqual(page.get_by_label("Password").input_value(), "")
        self.picture(page, "login-wrong")
        self.assert_quiet(page)

        self.log_in(page, "bob", "battery staple")
        page.wait_for_selector("body.live")
        expect(page.locator(".job .name")).to_have_text(["seen"], timeout=DEADLINE_MILLIS)
        self.picture(page, "login-list")
        cookies = page.context.cookies()
        self.assertEqual([(each["secure"], each["httpOnly"], each["sameSite"]) for each in cookies],
                         [(True, True, "Strict")])
        page.get_by_role("link", name="seen").click()
        expect(page.locator("h1")).to_contain_text("RUNNING", timeout=DEADLINE_MILLIS)
        self.assertEqual(page.get_by_role("button", name="Stop").count(), 0)
        self.assertEqual(page.evaluate(STOP, job.id), 403)
        self.assert_quiet(page)

        page.get_by_role("link", name="All jobs").click()
        page.get_by_role("link", name="Log out").click()
        expect(page.locator("main")).to_contain_text("You are logged in as bob.")
        self.picture(page, "logout")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Password")).to_be_visible()
        self.assertEqual(page.context.cookies(), [])
        # Going back shows nothing of what was there.
        page.goto(f"https://localhost:{self.port}/jobs/{job.id}/")
        expect(page.get_by_label("Password")).to_be_visible()
        self.assertNotIn("RUNNING", page.content())
        # The login leads to where the visitor was going.
        self.log_in(page, "alice", "correct horse")
        expect(page.locator("h1")).to_contain_text("RUNNING", timeout=DEADLINE_MILLIS)
        # She may end the job, after a question.
        page.get_by_role("button", name="Stop …").click()
        self.picture(page, "portal-stop")
        page.get_by_label("Reason").fill("enough")
        page.get_by_role("button", name="Stop the job").click()
        expect(page.locator("h1")).to_contain_text("KILLED", timeout=DEADLINE_MILLIS)
        expect(page.get_by_text("by alice in the portal: enough").first).to_be_visible()
        self.assertEqual(page.get_by_role("button", name="Stop …").count(), 0)
        self.assert_ends(job, 4, "KILLED_BY_USER")
        self.assert_quiet(page)

    def test_the_page_of_a_past_job_has_its_kept_stacks(self):
        expect = browsers.expect
        program = self.site.folder / "wait.py"
        program.write_text("import os\ndef load_batch():\n    os.read(os.pipe()[0], 1)\nload_batch()\n")
        job = self.submit(f"python3 {program}", "--conf", "tony.task.executor.execution-timeout-ms=10000")
        self.assert_ends(job, 3, "TASK_TIMED_OUT")
        page = self.open_portal()
        self.log_in(page, "bob", "battery staple")
        page.wait_for_selector("body.live")
        page.goto(f"https://localhost:{self.port}/jobs/{job.id}/")
        page.get_by_role("navigation", name="Sections").get_by_role("link", name="Stacks").click()
        expect(page.get_by_text("worker:0, attempt 1, before it was ended")).to_be_visible(timeout=DEADLINE_MILLIS)
        expect(page.locator("#stacks pre").first).to_contain_text("load_batch")
        self.picture(page, "portal-stacks")
        self.assert_quiet(page)


if __name__ == "__main__":
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    page_test.integration_case.main()
