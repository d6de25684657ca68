#!/usr/bin/env python3
"""Many tabs of tony's pages at once, in a real browser, which opens six connections to a server and no more.

`page_tabs_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers
import integration_case
from integration_case import conf

TABS = 9
# A page without a connection waits for ever.
SOON_MILLIS = 60_000
HIDE = """
    (hidden) => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
    }
"""


class PageTabsTest(page_test.Visits):
    """All tabs are visible, as windows side by side are."""

    def open_tab(self, page, address):
        """A further tab of the same visitor; returns it with the milliseconds until its job's state was there."""
        tab = page.context.new_page()
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.set_default_timeout(DEADLINE_MILLIS)
        begin = time.monotonic()
        tab.goto(address, timeout=SOON_MILLIS)
        browsers.expect(tab.locator("body.live h1")).to_contain_text("RUNNING", timeout=SOON_MILLIS)
        return tab, round(1_000 * (time.monotonic() - begin))

    def test_nine_tabs_of_a_job_are_live_and_answer(self):
        job = self.start(*conf(am__retry_count=1))
        first = self.visit(job)
        address = first.url.split("?")[0]
        opened = [self.open_tab(first, address) for _ in range(TABS - 1)]
        tabs = [first, *(tab for tab, _ in opened)]
        print("ready after ms:", *(millis for _, millis in opened), file=sys.stderr)
        os.kill(self.pid(job, "worker:1"), signal.SIGKILL)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        for tab in tabs:
            browsers.expect(self.row(tab, "worker:1").locator(".attempt")).to_have_text("2", timeout=SOON_MILLIS)
            browsers.expect(tab.locator(".fresh.live")).to_be_visible()
        streams = [tab.locator(".fresh.live").inner_text() for tab in tabs].count("live")
        self.assertIn(streams, (1, 2, 3), "some are streamed to, and connections are left for the others")
        for tab in tabs:
            tab.fill("#logs input[list]", "worker:0")
            browsers.expect(tab.locator("#logs .lines")).to_contain_text("here is the needle", timeout=SOON_MILLIS)
        # Others get the places of those that are closed.
        while len(tabs) > 3:
            tabs.pop(0).close()
        for tab in tabs:
            browsers.expect(tab.locator(".fresh.live")).to_have_text("live", timeout=SOON_MILLIS)
        tabs[-1].click("text=Stop …")
        tabs[-1].click("text=Stop the job")
        self.assert_ends(job, 4)
        for tab in tabs:
            browsers.expect(tab.locator("h1")).to_contain_text("KILLED", timeout=SOON_MILLIS)
        self.assertEqual(self.complaints, [])

    def test_a_tab_in_the_background_leaves_its_place_to_others_and_misses_nothing(self):
        job = self.start(*conf(am__retry_count=1))
        hidden = self.visit(job)
        fresh = hidden.locator(".fresh.live")
        browsers.expect(fresh).to_have_text("live")
        hidden.click("text=The timeline as text")
        # A headless browser shows all its tabs, so this one is told that it is not.
        hidden.evaluate(HIDE, True)
        tabs = [self.open_tab(hidden, hidden.url.split("?")[0])[0] for _ in range(3)]
        for tab in tabs:
            browsers.expect(tab.locator(".fresh.live")).to_have_text("live", timeout=SOON_MILLIS)
        browsers.expect(fresh).to_have_text("renewed every 2 s", timeout=DEADLINE_MILLIS)
        os.kill(self.pid(job, "worker:1"), signal.SIGKILL)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        twin = hidden.locator(".twin", has_text="worker:1")
        browsers.expect(twin).to_contain_text("failed at run 1", timeout=DEADLINE_MILLIS)
        self.gate.write(2)
        self.assert_succeeds(job)
        hidden.wait_for_function("() => document.title.startsWith('SUCCEEDED')")
        # Its ApplicationMaster has left, and what is seen is the end of the job all the same.
        hidden.evaluate(HIDE, False)
        browsers.expect(hidden.locator("h1")).to_contain_text("SUCCEEDED")
        browsers.expect(self.row(hidden, "worker:1")).to_contain_text("SUCCEEDED")
        browsers.expect(self.row(hidden, "worker:1").locator(".attempt")).to_have_text("2")
        browsers.expect(hidden.locator(".fresh")).to_contain_text("has ended", timeout=DEADLINE_MILLIS)
        self.assertEqual(hidden.evaluate("() => window.violations"), [])

    def test_nine_tabs_of_a_portal_are_live_and_answer(self):
        jobs = [self.start(*conf(application__name=name), workers=1) for name in ("left", "right")]
        page = self.enter(self.start_portal())
        names = page.locator(".job .name")
        browsers.expect(names).to_have_text(["right", "left"], timeout=DEADLINE_MILLIS)
        addresses = [link.evaluate("(link) => link.href") for link in page.locator(".job .name a").all()]
        tabs = [self.open_tab(page, addresses[number % 2])[0] for number in range(TABS - 1)]
        for tab in tabs:
            tab.fill("#logs input[list]", "am")
            browsers.expect(tab.locator("#logs .lines")).to_contain_text("the journal is open", timeout=SOON_MILLIS)
        page.get_by_role("searchbox").fill("left")
        browsers.expect(names).to_have_text(["left"], timeout=SOON_MILLIS)
        self.gate.write(2)
        for job in jobs:
            self.assert_succeeds(job)
        for tab in tabs:
            browsers.expect(tab.locator("h1")).to_contain_text("SUCCEEDED", timeout=DEADLINE_MILLIS)
        browsers.expect(page.locator(".job .state")).to_have_text(["SUCCEEDED"], timeout=DEADLINE_MILLIS)
        self.assertEqual(self.complaints, [])


if __name__ == "__main__":
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
