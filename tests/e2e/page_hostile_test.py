#!/usr/bin/env python3
"""The live page of a job whose name, output and reports are made to harm who looks at it, in a real browser.

`page_hostile_test.py PROGRAMS [unittest's arguments]`. Exit status 77: there is no Chromium.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import page_test
from page_test import DEADLINE_MILLIS, browsers

import integration_case
from integration_case import conf

# Also what a terminal would obey, and what turns the direction of a text.
NAME = "{markup} \u202egpj.harmless\u2066"
# Whatever of it were run would be seen by the page: in its title, its address or its console.
MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
PROGRAM = """
import os, sys

markup = {markup!r}
out = sys.stdout.buffer
out.write(markup.encode() + b"\\n")
out.write(b"\\x1b]0;a title\\x07\\x1b[2J\\x1b]8;;http://elsewhere/\\x1b\\\\a link\\x1b]8;;\\x1b\\\\\\n")
out.write("invoice\\u202etxt.exe".encode() + b"\\n")
out.write(b"not \\xff\\xfe\\xc3 text\\n")
out.write(b"a" * (1 << 20) + b" the end of a long line\\n")
out.write(b"\\r".join(b"%d%%" % i for i in range(10000)) + b"\\n")
out.write(b"=" * 60 + b"\\nsafe and sound\\n")
out.flush()
print("Error: " + markup, file=sys.stderr, flush=True)
with open(os.environ["TONY_PROGRESS"], "wb") as reports:
    reports.write(b"step=1 loss=nan <b>bold</b>=3 \\xff=1 x=\\xfe \\x1b]0;y=2\\n")
with open({said!r}, "w") as said:
    said.write("\\n")
with open({gate!r}) as gate:
    gate.readline()
sys.exit(3)
"""


class HostileTest(page_test.Visits):
    """One job, and one visitor."""

    def assert_harmless(self, page, but=None):
        """Nothing of it has become part of the page; `but`: what the browser may complain about."""
        self.assertNotEqual(page.title(), "taken")
        self.assertEqual(page.locator("img[src=x], main script, b >> text=bold").count(), 0)
        self.assertEqual(page.evaluate("() => window.violations"), [])
        self.assertEqual([one for one in self.complaints if but is None or but not in one], [])

    def assert_nothing_unseen(self, page):
        """No name turns the direction of what is behind it."""
        for unseen in ("\u202e", "\u2066"):
            self.assertNotIn(unseen, page.title() + page.locator("body").inner_text())
            self.assertEqual(page.locator(f"[aria-label*='{unseen}'], [title*='{unseen}']").count(), 0)

    def test_nothing_of_it_is_obeyed(self):
        program = self.site.folder / "hostile.py"
        program.write_text(PROGRAM.format(markup=MARKUP, said=str(self.said.path), gate=str(self.gate.path)),
                           encoding="utf-8")
        job = self.submit(f"python3 {program}", *conf(application__name=NAME.format(markup=MARKUP), task__metrics_interval_ms=200))
        self.said.read()
        page = self.enter(self.site.verb("open", job.id)["url"])
        expect = browsers.expect
        expect(page.locator("h1")).to_contain_text("<img src=x", timeout=DEADLINE_MILLIS)
        expect(page.locator("h1")).to_contain_text("\ufffdgpj.harmless\ufffd")
        self.assert_nothing_unseen(page)
        lines = page.locator("#logs .lines")
        expect(lines).to_contain_text("safe and sound", timeout=DEADLINE_MILLIS)
        lines.focus()
        page.keyboard.press("Home")
        expect(lines).to_contain_text("<script>document.title='taken'</script>", timeout=DEADLINE_MILLIS)
        expect(lines).to_contain_text("a link")
        expect(lines).to_contain_text("invoice\ufffdtxt.exe")
        expect(lines).to_contain_text("not \ufffd")
        shown = lines.inner_text()
        for unseen in ("\x1b", "\u202e", "a title", "elsewhere"):
            self.assertNotIn(unseen, shown)
        # A pattern that a browser's own expressions would search for hours.
        page.fill("#logs input.pattern", "(a+)+[0-9]$")
        page.keyboard.press("Enter")
        expect(page.locator("#logs [role=status]").first).to_contain_text("not found", timeout=DEADLINE_MILLIS)
        page.fill("#logs input.pattern", "(s+a*)+fe")
        page.keyboard.press("Enter")
        expect(page.locator(".line.current")).to_have_text("safe and sound", timeout=DEADLINE_MILLIS)
        self.assert_harmless(page)

        self.gate.write()
        self.assert_ends(job, 1)
        expect(page.locator("h1")).to_contain_text("FAILED", timeout=DEADLINE_MILLIS)
        expect(page.locator("main")).to_contain_text("Error: <img src=x", timeout=DEADLINE_MILLIS)
        self.assert_harmless(page, but="Failed to load resource")  # it goes on asking the job that is over
        page.close()
        self.complaints.clear()
        portal = self.enter(self.start_portal())
        expect(portal.locator(".job .name")).to_contain_text("<img src=x", timeout=DEADLINE_MILLIS)
        self.assert_nothing_unseen(portal)
        self.assert_harmless(portal)


if __name__ == "__main__":
    if page_test.CHROMIUM is None:
        print("chromium is missing; scripts/setup --for test installs it")
        sys.exit(77)
    integration_case.main()
