#!/usr/bin/env python3
"""libtony_collective.so is for other machines than the one that built it, and for processes that are not ours.

    library_test.py LIBRARY
"""

import pathlib
import re
import subprocess
import sys
import unittest

NEWEST = (2, 28)  # glibc's version
NEEDED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/tony/collective.h"


def readelf(*options):
    """Lines about the library."""
    return subprocess.run(["readelf", "--wide", *options, LIBRARY], stdout=subprocess.PIPE, check=True,
                          text=True).stdout.splitlines()


class LibraryTest(unittest.TestCase):
    """The symbols and libraries that the dynamic linker is asked for, and the exported ones."""

    def symbols(self):
        """(name with its version, whether it is of another library)"""
        for line in readelf("--dyn-syms"):
            found = re.fullmatch(r"\s*\d+:\s+[0-9a-f]+\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)\s+(\S+).*", line)
            if found and found.group(2) != "Name":
                yield found.group(2), found.group(1) == "UND"

    def test_no_symbol_is_newer_than_glibc_2_28(self):
        versions = {}
        for name, _ in self.symbols():
            found = re.search(r"@GLIBC_([0-9.]+)", name)
            if found:
                versions[name] = tuple(int(part) for part in found.group(1).split("."))
        self.assertGreater(len(versions), 30)
        self.assertEqual([name for name, version in versions.items() if version > NEWEST], [])

    def test_it_needs_glibc_only(self):
        needed = {re.search(r"\[(.*)\]", line).group(1) for line in readelf("--dynamic") if "(NEEDED)" in line}
        self.assertIn("libc.so.6", needed)
        self.assertLessEqual(needed, NEEDED)

    def test_what_others_have_to_define_is_of_glibc(self):
        without_version = [name for name, undefined in self.symbols() if undefined and "@" not in name]
        allowed = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__", "__cxa_finalize",
                   "__pthread_key_create"}
        self.assertLessEqual(set(without_version), allowed)

    def test_it_shows_what_its_header_declares(self):
        declared = set(re.findall(r"\b(tony_collective_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(),
                                                                       flags=re.DOTALL)))
        shown = {name for name, undefined in self.symbols() if not undefined}
        self.assertGreater(len(declared), 15)
        self.assertEqual(shown, declared)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
