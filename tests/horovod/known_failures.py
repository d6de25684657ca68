"""known_failures.txt: which of Horovod's tests fail, and why."""

import fnmatch
import pathlib

KINDS = ("difference", "horovod", "timing", "missing", "internal")


class Entry:
    """One line of it."""

    def __init__(self, line):
        """ValueError: it is none."""
        words = line.split(maxsplit=3)
        if len(words) < 4 or words[2] not in KINDS or not (words[1] == "*" or words[1].isdigit()):
            raise ValueError(f"'{line}' is not TEST RANKS KIND WHY, with one of {', '.join(KINDS)}")
        self.test, self.ranks, self.kind, self.why = words
        # Whether it never passes.
        self.always = self.kind != "timing"

    def fits(self, test, ranks):
        """``test``: file::function. ``ranks``: how many."""
        return fnmatch.fnmatchcase(test, self.test) and self.ranks in ("*", str(ranks))


class Known:
    """All of them; immutable."""

    def __init__(self, lines=None):
        """``lines``: instead of the file's. ValueError."""
        if lines is None:
            text = (pathlib.Path(__file__).resolve().parent / "known_failures.txt").read_text(encoding="utf-8")
            lines = text.splitlines()
        self.entries = [Entry(line) for line in lines if line.strip() and not line.startswith("#")]

    def find(self, test, ranks):
        """The first entry that fits, or None."""
        return next((entry for entry in self.entries if entry.fits(test, ranks)), None)
