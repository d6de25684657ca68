#!/usr/bin/env python3
"""What others wrote reaches a user's terminal as text only: programs' output, names, job files."""

import os
import pty
import re
import select
import subprocess
import time

import integration_case
import tony_cli
from integration_case import SMALL, JobTest

# Commands for terminals, some behind a character of several bytes that hides them from one who
# skips bytes: titles, the clipboard, cursors, the one-character forms, a change of direction.
ATTACKS = (
    b"\033\305\201\033]0;PWNED\007",
    b"\033[6\326\222\033]0;PWNED\007",
    b"\033]52;c;UFdORUQ=\007",
    b"\033[2J\033[1;1H",
    b"\302\2332J\302\2350;PWNED\302\234",
    b"\0330\177\b\b\016",
    b"\342\200\256",
)
ATTACK = b" ".join(ATTACKS)
# The colours and the movement with which tony draws its table, whose lines are not continued.
OWN = re.compile(rb"\033\[(?:3[0-7]|0)m|\r\033\[J|\033\[\?7l|\033\[\?7h(?:\033\[\d+A)?")
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def as_argument(data):
    """Bytes as they stand in a command line of Python's."""
    return data.decode("utf-8", "surrogateescape")


def harm_of(shown):
    """The first thing in a terminal's bytes that is no text, and what stands around it; or None."""
    text = OWN.sub(b"", shown).replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    found = HARMFUL.search(text) or re.search("[\udc80-\udcff]", text)
    return found and (hex(ord(found.group())), text[max(0, found.start() - 80) : found.end() + 80])


class TerminalTextTest(JobTest):
    """Runs each program with a pseudo-terminal in place of its standard streams."""

    def setUp(self):
        super().setUp()
        self.site.environment["TERM"] = "xterm-256color"

    def show(self, *command, code=None):
        """Runs a program to its end; returns what the terminal got."""
        master, slave = pty.openpty()
        try:
            process = subprocess.Popen(
                self.site.command(*command), cwd=self.site.folder, env=self.site.environment,
                stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            )
            os.close(slave)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            shown = self.read_to_the_end(master)
        finally:
            os.close(master)
        found = process.wait(tony_cli.DEADLINE_SECONDS)
        self.assertTrue(code is None or found == code, (found, shown))
        self.assertIsNone(harm_of(shown), (command, shown))
        return shown

    def read_to_the_end(self, master):
        shown = b""
        end = time.monotonic() + tony_cli.DEADLINE_SECONDS
        while select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # all of its other ends are closed
                return shown
            if not part:
                return shown
            shown += part
        self.fail(f"the program does not end: {shown}")

    def test_output_and_names_of_a_job(self):
        (self.site.folder / "attack").write_bytes(b"before " + ATTACK + b" behind\n")
        path = self.site.folder / "attack"
        submit = (
            "tony-submit", "--executes", f"cat {path}; cat {path} >&2; echo 'ValueError: x' >&2; exit 7",
            *("--conf", "tony.application.name=" + as_argument(ATTACK) + "named"),
            *("--conf", "tony.worker.instances=1", *SMALL),
        )
        verdict = self.show(*submit, code=1)
        self.assertIn(b"named", verdict)
        self.assertRegex(verdict, rb"\| before .* behind")
        for verb in ("logs", "status", "list"):
            for more in ((), ("--json",)):
                shown = self.show("tony", verb, *more, code=0)
                self.assertIn(b"before" if verb == "logs" else b"named", shown)
        for more in (("--first-error",), ("--first-error", "--json"), ("--timestamps",)):
            self.show("tony", "logs", *more, code=0)
        # A pipe gets the program's own bytes.
        piped = self.site.run("tony", "logs", "worker:0", "--stdout").stdout
        self.assertEqual(piped.encode("utf-8", "surrogateescape"), path.read_bytes())

    def test_lines_instead_of_a_table(self):
        self.site.environment["TERM"] = "dumb"
        (self.site.folder / "attack").write_bytes(ATTACK + b"\n")
        shown = self.show(
            "tony-submit", "--executes", f"cat {self.site.folder}/attack; exit 7",
            *("--conf", "tony.application.name=" + as_argument(ATTACK) + "named"),
            *("--conf", "tony.worker.instances=1", *SMALL), code=1,
        )
        self.assertNotIn(b"\033", shown)
        self.assertIn(b"named", shown)

    def test_problems_of_a_job_file(self):
        path = self.write_job(("tony.worker.instances", 1))
        path.write_bytes(
            b"<configuration><property><name>tony.wrong" + ATTACK + b"</name><value>1</value>"
            b"</property>\n<property><name>tony.worker.gpus</name><value>" + ATTACK
            + b"</value></property></configuration>"
        )
        for command in (("tony-submit", path), ("tony", "validate", path),
                        ("tony", "validate", path, "--json")):
            shown = self.show(*command, code=2)
            self.assertIn(b"tony.wrong", shown)
            self.assertIn(b"tony.worker.gpus", shown)

    def test_words_of_the_command_line(self):
        word = as_argument(ATTACK)
        for command in (
            ("tony-submit", "--" + word), ("tony-submit", "--conf", word), ("tony-submit", word),
            ("tony", word), ("tony", "status", word), ("tony", "logs", word, word),
            ("tony", "kill", word), ("tony", "validate", word), ("tony", "list", "--" + word),
        ):
            self.assertNotEqual(self.show(*command), b"", command)


if __name__ == "__main__":
    integration_case.main()
