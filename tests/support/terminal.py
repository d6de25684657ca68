"""A terminal for tests: runs a program in it, types, changes its size, and keeps what it shows.

The screen understands what tony writes: text, line ends, and the sequences of its table.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import tony_cli

SEQUENCE = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])")


class Screen:
    """What a terminal of a given size shows, with the lines that have left it at the top."""

    def __init__(self, columns, rows):
        self.columns = columns
        self.rows = rows
        self.lines = [""]  # all lines; the screen is the last `rows` of them
        self._row = 0
        self._column = 0
        self._wraps = True
        self._pending = ""

    def text(self):
        """All lines, without spaces at their ends and without empty ones at the end."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n") + "\n"

    def feed(self, data):
        """Takes the bytes that were written to the terminal, as text."""
        data = self._pending + data
        self._pending = ""
        position = 0
        while position < len(data):
            character = data[position]
            if character == "\x1b":
                found = SEQUENCE.match(data, position)
                if not found:
                    self._pending = data[position:]
                    assert len(self._pending) < 20, f"unknown sequence {self._pending!r}"
                    return
                self._sequence(*found.groups())
                position = found.end()
                continue
            position += 1
            if character == "\n":
                self._down()
            elif character == "\r":
                self._column = 0
            else:
                self._put(character)

    def _down(self):
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append("")

    def _put(self, character):
        if self._column == self.columns and self._wraps:
            self._down()
            self._column = 0
        column = min(self._column, self.columns - 1)
        line = self.lines[self._row].ljust(column)
        self.lines[self._row] = line[:column] + character + line[column + 1 :]
        self._column = min(self._column + 1, self.columns)

    def _sequence(self, private, number, kind):
        count = int(number or 1)
        if private:
            assert number == "7" and kind in "hl", (number, kind)
            self._wraps = kind == "h"
        elif kind == "A":
            self._row = max(self._row - count, len(self.lines) - self.rows, 0)
        elif kind == "B":
            self._row = min(self._row + count, len(self.lines) - 1)
        elif kind == "J":
            assert not number
            del self.lines[self._row + 1 :]
            self.lines[self._row] = self.lines[self._row][: self._column]
        else:
            assert kind == "m", (number, kind)


class Terminal:
    """A program in a terminal of its own. Not thread safe."""

    def __init__(self, test, command, *, columns=80, rows=24, **options):
        """Starts `command`; `options` are those of subprocess.Popen."""
        self.screen = Screen(columns, rows)
        self.shown = ""  # everything that was written
        self._master, slave = pty.openpty()
        # At Ctrl-C the kernel throws away what was written and not yet read: a terminal of a person has
        # read it long before, a test may be in the middle of a table.
        settings = termios.tcgetattr(slave)
        settings[3] |= termios.NOFLSH
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        self.resize(columns, rows)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            command, stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal, **options
        )
        os.close(slave)
        test.addCleanup(os.close, self._master)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def resize(self, columns, rows):
        """Gives the terminal another size, of which the kernel tells the program."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.columns, self.screen.rows = columns, rows

    def type(self, text):
        """Types `text`; "\\x03" is Ctrl-C."""
        os.write(self._master, text.encode())

    def _read(self, end):
        """Reads what there is; returns False when nothing more can come."""
        ready, _, _ = select.select([self._master], [], [], max(0, end - time.monotonic()))
        if not ready:
            raise AssertionError(f"no more output; the screen:\n{self.screen.text()}")
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # all of its other ends are closed
            return False
        text = data.decode(errors="replace")
        self.shown += text
        self.screen.feed(text)
        return bool(data)

    def wait_for(self, find, deadline_seconds=tony_cli.DEADLINE_SECONDS):
        """Waits until `find(text of the screen)` is true; a string is searched for."""
        if isinstance(find, str):
            wanted = find
            find = lambda text: wanted in text  # pylint: disable=unnecessary-lambda-assignment
        end = time.monotonic() + deadline_seconds
        while not find(self.screen.text()):
            if not self._read(end):
                raise AssertionError(f"the program ended; the screen:\n{self.screen.text()}")
        return self.screen.text()

    def wait(self, deadline_seconds=tony_cli.DEADLINE_SECONDS):
        """Reads to the program's end; returns its exit code."""
        end = time.monotonic() + deadline_seconds
        while self._read(end):
            pass
        return self.process.wait(max(0.1, end - time.monotonic()))
