#!/usr/bin/env python3
"""The first error of real jobs on their pages, in a real browser: its link leads to the very line of the log.

`page_errors_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers
import integration_case
from integration_case import conf

# The error lies a block of the log view away from both ends. The second run prints on and waits.
FAIL_ONCE = """
if [ $TASK_INDEX = 1 ] && [ $TONY_ATTEMPT = 1 ]; then
  seq -f 'warming up, step %g' 6000 >&2
  echo "ValueError: bad batch 17" >&2
  seq -f 'cooling down, step %g' 6000 >&2
  exit 7
fi
seq 3000; echo > {said}; read < {gate}
"""
LINE = "ValueError: bad batch 17"


class PageErrorsTest(page_test.Visits):
    """One job each, and one visitor."""

    def fail_once(self, retries):
        """A job whose worker:1 fails in its first run."""
        command = FAIL_ONCE.format(said=self.said.path, gate=self.gate.path)
        return self.submit(command, *conf(am__retry_count=retries), workers=2)

    def assert_leads_to_the_line(self, page):
        """The link in the verdict opens the log of the failed run where the error stands, and marks that line."""
        expect = browsers.expect
        page.get_by_role("button", name="worker:1, stderr, line 6001").click(timeout=DEADLINE_MILLIS)
        current = page.locator("#logs .line.current")
        expect(current).to_have_text(LINE, timeout=DEADLINE_MILLIS)
        expect(current).to_be_in_viewport()
        expect(page.locator("#logs .lines")).to_contain_text("warming up, step 6000")
        expect(page.locator("#logs .lines")).to_contain_text("cooling down, step 1")
        expect(page.locator("#logs .lines")).to_be_focused()
        expect(page.locator("#logs input[list]")).to_have_value("worker:1")
        expect(page.locator("#logs select[aria-label=Stream]")).to_have_value("stderr")
        expect(page.get_by_label("follow")).not_to_be_checked()

    def assert_found_by_pattern_and_level(self, page):
        """A pattern within the word that makes the line an error, in one log and in merged ones."""
        expect = browsers.expect
        lines = page.locator("#logs .line")
        page.fill("#logs input.pattern", "ValueError|step 17$")
        page.select_option("#logs select[aria-label=Level]", label="errors")
        page.check("text=hide others")
        expect(lines).to_have_count(1, timeout=DEADLINE_MILLIS)
        expect(lines.first).to_contain_text(LINE)
        page.fill("#logs input[list]", "worker*")
        page.select_option("#logs select[aria-label=Stream]", label="stdout and stderr")
        expect(lines).to_have_count(1, timeout=DEADLINE_MILLIS)
        expect(lines.first).to_contain_text(LINE)
        # Among the others it is a hit as well, the only one.
        page.uncheck("text=hide others")
        page.press("#logs input.pattern", "Enter")
        expect(page.locator("#logs [role=status]").first).to_contain_text("1 / 1", timeout=DEADLINE_MILLIS)
        expect(page.locator("#logs .line.current")).to_contain_text(LINE)

    def test_the_link_of_an_error_leads_to_its_line_while_the_job_runs_and_in_the_portal(self):
        job = self.fail_once(retries=1)
        job.wait_until_running("worker:0", "worker:1", epoch=1)
        page = self.visit(job)
        self.assert_leads_to_the_line(page)
        browsers.expect(page.locator("#logs select[aria-label=Run]")).to_have_value("1")
        self.picture(page, "error-line")
        # Elsewhere in between; the same link leads there again.
        page.locator("#logs .lines").press("End")
        browsers.expect(page.locator("#logs .lines")).to_contain_text("cooling down, step 6000",
                                                                      timeout=DEADLINE_MILLIS)
        self.assert_leads_to_the_line(page)
        page.fill("#logs input[list]", "worker:0")
        browsers.expect(page.locator("#logs .line.current")).to_have_count(0)
        self.assert_leads_to_the_line(page)
        self.assert_found_by_pattern_and_level(page)
        self.assert_content(page)
        self.gate.write(2)
        self.assert_succeeds(job)

    def test_a_job_of_the_past_has_the_same_links(self):
        job = self.fail_once(retries=0)
        self.assert_ends(job, 1)
        page = self.enter(self.start_portal())
        page.locator(".job .name a").click()
        self.assert_leads_to_the_line(page)
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual(self.complaints, [])


if __name__ == "__main__":
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
