#!/usr/bin/env python3
"""The live page of a real job in Debian's Firefox, which Playwright controls by WebDriver BiDi.

`page_firefox_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Firefox.
"""

import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers
import integration_case
from integration_case import conf

FIREFOX = shutil.which("firefox-esr")
# Prints, and reports until it may end.
TALK = ('for i in $(seq 3000); do echo "step=$i loss=0.$i"; done; echo "here is the needle"; echo > {said}; '
        'i=0; while ! read -t 0.3 < {gate}; do i=$((i + 1)); echo "step=$i loss=0.$i" > "$TONY_PROGRESS"; done')
# Whether the element, a canvas, has something on it that is not transparent.
IS_DRAWN = """
    (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)
"""


class FirefoxTest(page_test.Visits):
    """One job, and one visitor, who does all that the page can."""

    def launch(self, driver):
        return driver.firefox.launch(channel="moz-firefox", executable_path=FIREFOX)

    def assert_drawn(self, canvases, least):
        """There are so many canvases, and each is drawn on."""
        browsers.expect(canvases.nth(least - 1)).to_be_visible(timeout=DEADLINE_MILLIS)
        for canvas in canvases.all():
            self.assertTrue(canvas.evaluate(IS_DRAWN))

    def test_all_that_the_page_can(self):
        job = self.submit(TALK.format(said=self.said.path, gate=self.gate.path), workers=2,
                          *conf(am__retry_count=1, task__metrics_interval_ms=100))
        for _ in range(2):
            self.said.read()
        page = self.enter(self.site.verb("open", job.id)["url"], viewport={"width": 1280, "height": 900})
        expect = browsers.expect
        expect(page.locator("h1")).to_contain_text("RUNNING")
        expect(page.locator(".fresh.live")).to_have_text("live")
        self.assert_drawn(page.locator(".plot canvas"), 3)
        self.assert_drawn(page.locator(".timeline canvas"), 1)
        # Firefox may let a request wait for another one of the same address.
        second = page.context.new_page()
        second.goto(page.url.split("?")[0])
        expect(second.locator(".fresh.live")).to_have_text("live", timeout=DEADLINE_MILLIS)
        # A change comes without the page being loaded again.
        os.kill(self.pid(job, "worker:1"), signal.SIGKILL)
        expect(self.row(page, "worker:1").locator(".attempt")).to_have_text("2", timeout=DEADLINE_MILLIS)
        expect(page.locator("#past")).to_contain_text("worker:1", timeout=DEADLINE_MILLIS)
        last_words = page.locator("[aria-label=Verdict] pre")
        expect(last_words).to_contain_text("needle", timeout=DEADLINE_MILLIS)
        self.assertIn("step=3000 loss=0.3000\nhere is the needle", last_words.inner_text())
        # The keyboard opens a log and moves in it.
        for _ in range(2):
            self.said.read()
        page.focus("#tasks .rows")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page.locator("#logs input[list]")).to_have_value("worker:1")
        lines = page.locator("#logs .lines")
        expect(lines).to_contain_text("here is the needle", timeout=DEADLINE_MILLIS)
        page.fill("#logs input.pattern", r"step=77\d loss")
        page.keyboard.press("Enter")
        expect(page.locator("#logs [role=status]").first).to_contain_text("1 / 10", timeout=DEADLINE_MILLIS)
        expect(page.locator(".line.current")).to_have_text("step=770 loss=0.770")
        lines.focus()
        page.keyboard.press("Home")
        expect(lines).to_contain_text("step=1 loss=0.1", timeout=DEADLINE_MILLIS)
        page.keyboard.press("End")
        expect(lines).to_contain_text("here is the needle", timeout=DEADLINE_MILLIS)
        expect(self.row(second, "worker:1").locator(".attempt")).to_have_text("2")
        for tab in page, second:
            expect(tab.locator(".fresh.live")).to_have_text("live")
        self.assertEqual(self.complaints, [])
        second.close()
        # Escape leaves the question, and Enter answers it.
        page.get_by_role("button", name="Stop …").focus()
        page.keyboard.press("Enter")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        page.keyboard.press("Enter")
        page.fill("dialog input", "seen enough")
        page.get_by_role("button", name="Stop the job").press("Enter")
        self.assert_ends(job, 4)
        expect(page.locator("h1")).to_contain_text("KILLED", timeout=DEADLINE_MILLIS)
        expect(page.locator(".fresh")).to_contain_text("has ended", timeout=DEADLINE_MILLIS)
        self.assertTrue(page.evaluate("() => window.kept"), "the page was loaded again")
        self.assertEqual(page.evaluate("() => window.violations"), [])


if __name__ == "__main__":
    if FIREFOX is None:
        print("firefox-esr is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
