#!/usr/bin/env python3
"""The page of a job with the keyboard alone, in a real browser: the question before a job is stopped, the timeline, the
stacks, and the frame of another program.

`page_keyboard_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers
import integration_case
from integration_case import conf

# More stops of the Tab key than any page of these jobs has.
MOST_STOPS = 150
# A program's own page where TensorBoard would be.
BOARD = 'exec python3 -m http.server "$TB_PORT" --bind 127.0.0.1 --directory {folder}'
BOARD_PAGE = "<!doctype html><title>board</title><button>inner</button>"
HAS_FOCUS = "(element) => element === document.activeElement"
# The part of the page in which the focus is.
PLACE = """
    () => {
      const part = document.activeElement.closest("header, nav, section, footer");
      return part === null ? "" : part.id || part.tagName.toLowerCase();
    }
"""


class PageKeyboardTest(page_test.Visits):
    """One job each, and one visitor without a mouse."""

    def tab_to(self, page, element, key="Tab"):
        """Presses Tab until the element has the focus."""
        for _ in range(MOST_STOPS):
            page.keyboard.press(key)
            if element.evaluate(HAS_FOCUS):
                return
        self.fail(f"the key {key} does not lead to {element}")

    def test_the_question_before_a_stop(self):
        job = self.start(workers=1)
        page = self.visit(job)
        expect = browsers.expect
        stop, dialog = page.get_by_role("button", name="Stop …"), page.locator("dialog")
        self.tab_to(page, stop)
        page.keyboard.press("Enter")
        expect(dialog).to_be_visible()
        # From the reason to the two answers, the harmless one first.
        expect(dialog.locator("input")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Keep it running")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Stop the job")).to_be_focused()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(stop).to_be_focused()
        # A "no" leads back as well.
        page.keyboard.press("Space")
        expect(dialog.locator("input")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(dialog).to_have_count(0)
        expect(stop).to_be_focused()
        expect(page.locator("h1")).to_contain_text("RUNNING")
        page.keyboard.press("Enter")
        expect(dialog.locator("input")).to_be_focused()
        page.keyboard.type("seen enough")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        self.assertIn("seen enough", self.assert_ends(job, 4))
        expect(page.locator("h1")).to_contain_text("KILLED", timeout=DEADLINE_MILLIS)
        self.assertEqual(page.evaluate("() => window.violations"), [])

    def test_the_timeline_the_logs_and_the_stacks(self):
        job = self.start(*conf(task__metrics_interval_ms=100))
        page = self.visit(job)
        expect = browsers.expect
        expect(page.locator("#charts .plot").first).to_be_visible(timeout=DEADLINE_MILLIS)
        expect(page.locator("#config select")).to_be_visible(timeout=DEADLINE_MILLIS)
        # Whoever presses Tab goes through the parts in the order in which they are seen.
        timeline = page.locator("#timeline .timeline")
        places = []
        for _ in range(MOST_STOPS):
            page.keyboard.press("Tab")
            place = page.evaluate(PLACE)
            if place == "":
                break
            if not places or places[-1] != place:
                places.append(place)
        parts = page.evaluate("""() => [...document.querySelectorAll("header, nav, section")]
                                 .map((part) => part.id || part.tagName.toLowerCase())""")
        self.assertEqual(places, [part for part in parts if part in places])
        self.assertLessEqual({"header", "nav", "tasks", "timeline", "charts", "logs", "stacks", "config"}, set(places))

        self.tab_to(page, timeline)
        hint = page.locator("#timeline .hint")
        page.keyboard.press("ArrowDown")
        expect(hint).to_contain_text("worker:0")
        page.keyboard.press("ArrowDown")
        expect(hint).to_contain_text("worker:1")
        page.keyboard.press("+")
        page.keyboard.press("0")
        page.keyboard.press("Enter")
        expect(page.locator("#logs input[list]")).to_have_value("worker:1")
        # The focus has gone along, so the next key moves in the log.
        lines = page.locator("#logs .lines")
        expect(lines).to_be_focused()
        expect(lines).to_contain_text("here is the needle", timeout=DEADLINE_MILLIS)
        page.keyboard.press("Home")
        expect(lines).to_contain_text("step=1 loss=0.1", timeout=DEADLINE_MILLIS)

        take = page.get_by_role("button", name="Take the stacks of all tasks")
        self.tab_to(page, take)
        with page.expect_response(lambda answer: answer.request.method == "POST") as taken:
            page.keyboard.press("Enter")
        self.assertEqual(taken.value.status, 200)
        expect(page.locator("#stacks pre").first).to_be_visible(timeout=DEADLINE_MILLIS)
        expect(take).to_have_text("Take the stacks of all tasks")
        expect(take).to_be_focused()
        page.keyboard.press("Tab")
        first = page.locator("#stacks details").first
        expect(first.locator("summary")).to_be_focused()
        page.keyboard.press("Space")
        expect(first).not_to_have_attribute("open", "")
        page.keyboard.press("Space")
        expect(first.locator("pre")).to_be_visible()
        self.assert_content(page)
        self.gate.write(2)
        self.assert_succeeds(job)

    def test_one_of_many_tasks_is_drawn_above_their_band(self):
        job = self.submit(f"read < {self.gate.path}", workers=9, *conf(task__metrics_interval_ms=100))
        job.wait_until_running(*(f"worker:{index}" for index in range(9)))
        page = self.visit(job)
        expect = browsers.expect
        chart = page.locator("#charts [role=img]").first
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("aria-label", re.compile("p50"), timeout=DEADLINE_MILLIS)
        box = page.get_by_label("Task whose line is drawn as well")
        self.tab_to(page, box)
        page.keyboard.type("worker:99")
        page.keyboard.press("Enter")
        expect(box).to_have_attribute("aria-invalid", "true")
        page.keyboard.press("Backspace")
        # The browser's list of names, if it is open, keeps the first Enter.
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        remove = page.get_by_role("button", name="Remove the line of worker:9")
        expect(remove).to_have_count(0)
        page.keyboard.press("Backspace")
        page.keyboard.type("7")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(chart).to_have_attribute("aria-label", re.compile("p50.*worker:7"), timeout=DEADLINE_MILLIS)
        self.assertTrue(page.url.endswith("#lines=worker-7"), page.url)
        self.picture(page, "line-above-band")
        # A link to a section does not take it away, and the address brings it back.
        page.get_by_role("navigation").get_by_role("link", name="Timeline").click()
        page.wait_for_function("() => location.hash === '#timeline&lines=worker-7'")
        page.reload()
        page.wait_for_selector("body.live")
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("aria-label", re.compile("p50.*worker:7"), timeout=DEADLINE_MILLIS)
        remove = page.get_by_role("button", name="Remove the line of worker:7")
        self.tab_to(page, remove)
        page.keyboard.press("Enter")
        expect(remove).to_have_count(0)
        expect(chart).not_to_have_attribute("aria-label", re.compile("worker:7"), timeout=DEADLINE_MILLIS)
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])
        self.gate.write(9)
        self.assert_succeeds(job)

    def test_the_frame_of_a_program_is_entered_and_left(self):
        folder = self.site.folder / "board"
        folder.mkdir()
        (folder / "index.html").write_text(BOARD_PAGE, encoding="utf-8")
        job = self.start(*conf(tensorboard__instances=1, tensorboard__memory="128m",
                               tensorboard__command=BOARD.format(folder=folder)), workers=1)
        page = self.visit(job)
        expect = browsers.expect
        show = page.locator("#program button")
        expect(show).to_have_text("Show it here", timeout=DEADLINE_MILLIS)
        self.tab_to(page, show)
        page.keyboard.press("Enter")
        inner = page.frame_locator("#program iframe").get_by_role("button", name="inner")
        expect(inner).to_be_visible(timeout=DEADLINE_MILLIS)
        expect(show).to_be_focused()
        expect(show).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Tab")
        expect(inner).to_be_focused()
        page.keyboard.press("Tab")
        self.assertNotIn(page.evaluate(PLACE), ("", "program"))
        self.tab_to(page, show, "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#program iframe")).to_have_count(0)
        expect(show).to_be_focused()
        self.assert_content(page)
        self.gate.write()
        self.assert_succeeds(job)


if __name__ == "__main__":
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
