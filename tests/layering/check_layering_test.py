#!/usr/bin/env python3
"""Shows that check_layering.py refuses what it is there to refuse.

Each test makes a small tree, adds one thing that is forbidden, and looks for the line that says so.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# One file per folder that matters, each including what it may.
TREE = {
    "src/common/clock.h": "",
    "src/core/job/job.h": (
        '#include <string>\n'
        '#include "common/clock.h"\n'
        '#include "core/record/view.h"\n'
    ),
    "src/core/record/view.h": "",
    "src/jobfile/xml/reader.cc": (
        '#include <fstream>\n'
        '#include <tinyxml2.h>\n'
        '#include "core/job/job.h"\n'
    ),
    "src/os/files/files.cc": (
        '#include <archive.h>\n'
        '#include <unistd.h>\n'
        '#include "common/clock.h"\n'
    ),
    "src/rpc/services/server.h": '#include <grpcpp/server.h>\n#include "os/files/files.h"\n',
    "src/backend/local/backend.cc": (
        '#include "os/files/files.h"\n'
        '#include "jobfile/xml/reader.h"\n'
    ),
    "src/client/cli/environment.cc": (
        '#include <cstdlib>\n'
        'const char* home = std::getenv("HOME");\n'
    ),
    "src/client/main.cc": '#include "backend/local/backend.h"\n#include "rpc/services/server.h"\n',
    "src/executor/main.cc": '#include "rpc/services/server.h"\n#include "tony/v1/staging.pb.h"\n',
}


def run(root):
    """Runs the check on the tree at `root`; returns its exit code and its output."""
    command = [sys.executable, str(HERE / "check_layering.py"), str(root)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return result.returncode, result.stdout + result.stderr


class CheckLayeringTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, content in TREE.items():
            self.append(path, content)

    def append(self, path, content):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as stream:
            stream.write(content)

    def assert_refused(self, *fragments):
        code, output = run(self.root)
        self.assertEqual(code, 1, output)
        self.assertEqual(output.splitlines()[-1], "layering: 1 violations", output)
        for fragment in fragments:
            self.assertIn(fragment, output)

    def test_accepts_a_small_tree(self):
        self.assertEqual(run(self.root), (0, "layering: kept\n"))

    def test_refuses_a_folder_without_sources(self):
        code, output = run(self.root / "src/core")
        self.assertNotEqual(code, 0)
        self.assertIn("has no source file", output)

    def test_refuses_an_upward_include(self):
        self.append("src/os/files/files.cc", '#include "backend/local/backend.h"\n')
        self.assert_refused(
            "src/os/files/files.cc:4: src/os must not include backend/local/backend.h"
        )

    def test_refuses_an_include_from_program_to_program(self):
        self.append("src/client/main.cc", '  #  include "executor/main.h"\n')
        self.assert_refused("src/client/main.cc:3: src/client must not include executor/main.h")

    def test_refuses_an_unknown_folder(self):
        self.append("src/helpers/helper.cc", "int x;\n")
        self.assert_refused("src/helpers has no row in MAY_INCLUDE")

    def test_refuses_input_and_output_in_the_core(self):
        headers = ["thread", "mutex", "fstream", "sys/socket.h", "unistd.h", "common/logging.h"]
        for header in headers:
            self.append("src/core/job/machine.cc", f"#include <{header}>\n")
        code, output = run(self.root)
        self.assertEqual(code, 1, output)
        for line, header in enumerate(headers, 1):
            place = f"src/core/job/machine.cc:{line}"
            self.assertIn(f"{place}: src/core is pure and must not include {header}", output)

    def test_refuses_a_clock_in_the_core(self):
        self.append("src/core/job/job.h", "auto now = std::chrono::steady_clock::now();\n")
        self.assert_refused("job.h:4: src/core is pure and must not use steady_clock::now")

    def test_refuses_a_library_outside_of_its_home(self):
        self.append("src/client/main.cc", "#include <grpcpp/channel.h>\n")
        self.assert_refused("src/client/main.cc:3: grpcpp/channel.h is for src/{rpc} only")

    def test_refuses_getenv_outside_of_the_option_layer(self):
        self.append("src/os/files/files.cc", 'auto home = getenv ("HOME");\n')
        self.assert_refused("src/os/files/files.cc:4: only environment.cc")

    def test_refuses_text_for_people_that_may_steer_their_terminal(self):
        self.append("src/os/files/files.cc", 'std::fprintf (stderr, "%s", name);\n')
        self.assert_refused("src/os/files/files.cc:4: fprintf may write foreign text to a terminal")

    def test_ignores_comments_and_strings(self):
        server = '#include "rpc/services/server.h"'
        self.append("src/os/files/files.cc", f'// {server} and getenv("A")\n')
        self.append("src/os/files/files.cc", f'auto text = "getenv(";\n/*\n{server}\n*/\n')
        self.assertEqual(run(self.root), (0, "layering: kept\n"))

    def test_refuses_a_cycle_of_files(self):
        self.append("src/core/job/job.h", '#include "core/job/task.h"\n')
        self.append("src/core/job/task.h", '#include "core/job/job.h"\n')
        job, task = "src/core/job/job.h", "src/core/job/task.h"
        self.assert_refused(f"cycle of files: {job} → {task} → {job}")

    def test_refuses_a_cycle_of_folders(self):
        self.append("src/logs/here/a.h", '#include "logs/there/b.h"\n')
        self.append("src/logs/there/b.h", '#include "logs/here/c.h"\n')
        self.append("src/logs/here/c.h", "")
        code, output = run(self.root)
        self.assertEqual(code, 1, output)
        here, there = "src/logs/here", "src/logs/there"
        self.assertIn(f"cycle of folders: {here} → {there} → {here}", output)

    def test_refuses_rooms_that_include_each_other(self):
        self.append("src/core/job/a.h", "")
        self.append("src/core/job/b.h", "")
        self.append("src/core/job/a.cc", '#include "core/job/a.h"\n#include "core/job/b.h"\n')
        self.append("src/core/job/b.cc", '#include "core/job/a.h"\n#include "core/job/b.h"\n')
        a, b = "src/core/job/a", "src/core/job/b"
        self.assert_refused(f"these rooms include each other: {a} → {b} → {a}")

    def test_refuses_an_include_of_a_folder_above(self):
        self.append("src/core/record/view.h", '#include "core/job/task.h"\n')
        self.assert_refused("src/core/record lies below job and must not include core/job/task.h")

    def test_refuses_a_folder_without_a_place_in_the_order(self):
        self.append("src/core/cluster/spec.h", "")
        self.assert_refused("src/core/cluster is not in FOLDER_ORDER")

    def test_refuses_a_folder_of_too_many_files(self):
        for number in range(40):
            self.append(f"src/core/job/file_{number}.h", "")
        self.assert_refused("src/core/job:1: 41 files")

    def test_refuses_a_long_file_without_a_reason(self):
        self.append("tests/os/long_test.cc", "\n" * 501)
        self.assert_refused("tests/os/long_test.cc:501: longer than 500 lines")

    def test_accepts_a_long_file_with_a_reason(self):
        reason = "// Longer than 500 lines because it is one table.\n"
        self.append("src/os/files/table.cc", reason + "\n" * 501)
        self.assertEqual(run(self.root), (0, "layering: kept\n"))

    def append_function(self, path, lines, above=""):
        body = "  Step();\n" * (lines - 2)
        self.append(path, f"namespace tony {{\n{above}void Run() {{\n{body}}}\n}}\n")

    def test_refuses_a_long_function_without_a_reason(self):
        self.append_function("tests/os/files_test.cc", 61)
        self.assert_refused("tests/os/files_test.cc:2: a function of 61 lines, and at most 60")

    def test_refuses_a_long_method_in_a_class_whose_strings_and_numbers_have_braces(self):
        body = "    Print('}', \"}\", 20'000);  // }\n" * 59
        self.append(
            "src/os/files/folder.cc",
            "class Folder {\n  Folder() : a_{1}, b_(2) {}\n"
            f"  void Run() {{\n{body}  }}\n}};\n",
        )
        self.assert_refused("src/os/files/folder.cc:3: a function of 61 lines")

    def test_refuses_a_long_function_that_holds_a_text_with_braces(self):
        text = 'return R"css(' + "\n}" * 60 + '\n)css";\n'
        self.append("src/web/style.cc", f"std::string Style() {{\n{text}}}\n")
        self.assert_refused("src/web/style.cc:1: a function of 64 lines")

    def test_accepts_a_long_function_with_a_reason_and_short_ones_in_long_classes(self):
        reason = "// Longer than 60 lines because it is one table.\n"
        self.append_function("src/os/files/table.cc", 61, reason)
        self.append_function("src/os/files/short.cc", 60)
        methods = "  void Run() {\n  }\n" * 40
        self.append("src/os/files/many.cc", f"class Many {{\n{methods}}};\n")
        self.assertEqual(run(self.root), (0, "layering: kept\n"))

    def test_refuses_a_class_that_does_not_say_who_may_call_it(self):
        self.append(
            "src/os/files/log.h",
            "/// A log.\nclass Log {\n public:\n  void Add(int line);\n};\n",
        )
        self.assert_refused("src/os/files/log.h:2: the comment of Log does not say whether it is")

    def test_refuses_an_inner_class_and_one_whose_methods_all_override(self):
        self.append(
            "src/os/files/log.h",
            "/// Thread safe.\nclass Log : public Base {\n  class Part : public Base {\n"
            "    void Add(int line) override {\n    }\n  };\n};\n",
        )
        self.assert_refused("src/os/files/log.h:3: the comment of Part")

    def test_refuses_whatever_has_a_mutex_or_a_thread(self):
        for member in ("mutable std::mutex mutex_;", "std::vector<std::thread> threads_;"):
            with self.subTest(member):
                file = self.root / "src/os/files/log.h"
                file.write_text(f"struct Log {{\n  int size() const;\n  {member}\n}};\n")
                self.assert_refused("src/os/files/log.h:1: the comment of Log")

    def test_accepts_classes_that_say_so_and_those_that_do_not_change(self):
        self.append(
            "src/os/files/log.h",
            "/// Not thread safe.\nclass A {\n  void Add();\n};\n"
            "/// Owned by the event\n/// loop.\nclass B {\n  void Add();\n};\n"
            "/// A plain value.\nclass C {\n  void Add();\n};\n"
            "class Fixed {\n public:\n  explicit Fixed(int size);\n"
            "  Fixed(const Fixed&) = delete;\n  ~Fixed();\n"
            "  static Fixed Make();\n  int size() const { return size_; }\n\n"
            " private:\n  const int size_;\n};\n"
            "struct Plain {\n  void Add();\n};\n"
            "class Declared;\n",
        )
        self.assertEqual(run(self.root), (0, "layering: kept\n"))

    def test_refuses_a_function_that_may_fail_and_does_not_say_how(self):
        for function in (
            "absl::Status Open(const std::string& path);",
            "absl::StatusOr<int> Size();",
            "absl::StatusOr<std::vector<std::string>>\nNames();",
        ):
            with self.subTest(function):
                file = self.root / "src/os/files/open.h"
                other = "/// NotFound – no file.\nabsl::Status A();\n\n"
                file.write_text(f"{other}/// B.\n{function}\n")
                self.assert_refused("src/os/files/open.h:5: returns a status, and no comment names")

    def test_a_functions_own_comment_counts_before_its_neighbours(self):
        self.append(
            "src/os/files/open.h",
            "/// NotFound – no file.\nabsl::Status A();\n/// Opens it.\nabsl::Status B();\n",
        )
        self.assert_refused("src/os/files/open.h:4: returns a status")

    def test_accepts_codes_of_function_group_class_and_file(self):
        self.append(
            "src/os/files/open.h",
            "/// Opens it. Errno\n/// codes.\nabsl::Status A();\nabsl::Status SameGroup();\n\n"
            "/// The codes of A().\ntemplate <typename T>\nabsl::Status B();\n\n"
            "/// Thread safe. Unavailable – it is gone.\nclass File {\n public:\n"
            "  absl::Status Read();\n};\n\n"
            "/// Thread safe.\nclass Other : public File {\n public:\n"
            "  absl::Status Read(\n      int size) override;\n\n"
            " private:\n  absl::Status Seek();\n};\n",
        )
        self.append(
            "src/os/files/all.h",
            "// For all: NotFound – no file.\nnamespace tony {\n\nabsl::Status C();\n}\n",
        )
        self.assertEqual(run(self.root), (0, "layering: kept\n"))


if __name__ == "__main__":
    unittest.main()
