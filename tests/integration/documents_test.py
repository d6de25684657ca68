#!/usr/bin/env python3
"""What the documents tell their readers to type works: commands, verbs, options, keys and links."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shlex
import struct
import subprocess
import termios
import time

import integration_case
from integration_case import JobTest

# pylint: disable=wrong-import-order
import documents
import tony_cli

# Every command of these is run, in their order, each document in a folder of its own.
RUN = ("README.md", "docs/first-job.md", "docs/jobs.md", "docs/python.md", "docs/spark.md", "docs/troubleshooting.md", "docs/frameworks/*.md")
# What readers of a document have done before they come to it.
FIRST_PROGRAM = "docs/first-job.md"
BEFORE = {
    "README.md": "mkdir -p src && cp train.py src/",
    "docs/jobs.md": "tony run -np 2 python3 train.py --fail || tony run -np 2 python3 train.py",
    "docs/troubleshooting.md": "! tony run -np 2 python3 train.py --fail",
}
# What looks like a key: Python's modules, the label of containers, and files.
NO_KEYS = (
    *("tony.collective", "tony.cluster", "tony.jax", "tony.folder", "tony.aio", "tony.submit", "tony.run", "tony.start", "tony.attach"),
    *("tony.jobs", "tony.Job", "tony.Type", "tony.TonyError", "tony.RankFailed", "tony.report", "tony.airflow", "tony.__path__"),
    *("tony.keras", "tony.lightning", "tony.transformers"),
)
NO_KEY_ENDS = (".xml",)
COLUMNS, ROWS = 100, 50
DEADLINE_SECONDS = 300  # for a block of commands
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
# After these words a command begins.
BEFORE_COMMANDS = ("&&", "||", "|", ";", "&", "!", "sudo")
OPTION = re.compile(r"^  (?:-(\w), )?--([\w-]+)( \S+)?", re.MULTILINE)
# A key, or what several keys begin with: `tony.task.max-total-*`, `tony.horovod.…`, `tony.worker.`.
KEY = re.compile(r"(?<![\w./-])tony\.(?:<[a-z]+>|[\w-])(?:[\w.-]|<[a-z]+>)*(?:(?<=[.-])[*…])?")


def canonical(option):
    """An option's name: dashes in front do not matter, and `-` is `_`."""
    return re.split(r"\[?=", option.lstrip("-"))[0].replace("-", "_")


class Help:
    """What the programs' --help lists. Each help is read once. Not thread safe."""

    def __init__(self, site):
        self._site = site
        self._options = {}
        text = self._text("tony", "--help")
        verbs = re.findall(r"^  ([a-z]+)(?: .*?)?(?:  +.*?)?(?: \(also: (.*)\))?$", text, re.MULTILINE)
        self.verbs = {name for verb, aliases in verbs for name in (verb, *filter(None, aliases.split(", ")))}

    def _text(self, *command):
        result = self._site.run_bare(*command)
        if result.returncode:
            raise AssertionError((command, result.stderr))
        return result.stdout

    def options(self, *command):
        """Returns {option: whether it takes a value} of a program or of a verb."""
        if command not in self._options:
            found = {}
            for letter, name, value in OPTION.findall(self._text(*command, "--help")):
                found[canonical(name)] = bool(value)
                if letter:
                    found[letter] = bool(value)
            self._options[command] = found
        return self._options[command]


def words_of(command):
    """Splits a command as the shell does, or at its blanks if it is only a part of one."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [word.strip("[]…()") for word in words]


def wrong_words(command, known):
    """Returns a sentence for each verb and option in a command that is not known."""
    sentences = []
    words = words_of(command)
    for position, word in enumerate(words):
        if word not in ("tony", "tony-submit") or (position and words[position - 1] not in BEFORE_COMMANDS):
            continue
        rest = words[position + 1 :]
        program = [word]
        if word == "tony":
            if not rest or not re.fullmatch(r"[a-z]+", rest[0]):
                continue
            if rest[0] not in known.verbs:
                sentences.append(f"tony has no verb {rest[0]}")
                continue
            program.append(rest.pop(0))
        options = known.options(*program)
        value = False
        for option in rest:
            if option in BEFORE_COMMANDS:
                break
            if not option.startswith("-") or option in ("-", "--"):
                if program == ["tony", "run"] and not value and option:
                    break  # from here on these are the program's
                value = False
                continue
            name = canonical(option)
            if name and name not in options:
                sentences.append(f"{' '.join(program)} has no option {option}")
            value = options.get(name, False) and "=" not in option
    return sentences


def known_keys():
    """Returns the keys of docs/configuration.md."""
    table = (documents.ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(tony\.[^`]+)`", table, re.MULTILINE)


def is_key(name, keys):
    """Whether `name` is one of the keys, in which <type> stands for any name, or begins one."""
    if name.startswith(NO_KEYS) or name.endswith(NO_KEY_ENDS):
        return True
    if name[-1] in "*….":
        begin = name.rstrip("*…")
        return any(key.startswith((begin, re.sub(r"^tony\.\w+", "tony.<type>", begin))) for key in keys)
    name = re.sub(r"<[a-z]+>", "worker", name)
    return any(
        re.fullmatch(r"[\w-]+".join(map(re.escape, re.split(r"<[a-z]+>", key))), name) for key in keys)


def last_lines(place, shown):
    """Returns a message of a test: what the terminal shows at last."""
    return "\n".join([f"{place}: the terminal shows:", *shown.splitlines()[-40:]])


class NamesTest(JobTest):
    """What any document names exists."""

    def each(self):
        """Yields (path, text) of each document."""
        for path in documents.documents():
            yield path, path.read_text(encoding="utf-8")

    def test_verbs_and_options(self):
        known = Help(self.site)
        self.assertLess({"run", "logs", "status", "kill"}, known.verbs)
        wrong = [
            f"{path.relative_to(documents.ROOT)}:{line}: {sentence}"
            for path, text in self.each()
            for line, code in documents.code_spans(text)
            for sentence in wrong_words(code, known)
        ]
        self.assertEqual(wrong, [])

    def test_unknown_verbs_and_options_are_found(self):
        known = Help(self.site)
        self.assertEqual(wrong_words("tony lgos latest", known), ["tony has no verb lgos"])
        self.assertEqual(wrong_words("tony logs [JOB] [--tial N]", known), ["tony logs has no option --tial"])
        self.assertEqual(
            wrong_words("x && tony-submit --detatch job.xml", known), ["tony-submit has no option --detatch"])
        self.assertEqual(wrong_words("tony run -np 2 python3 train.py --lr 1", known), [])
        self.assertEqual(wrong_words("tony logs -f | head -n 1", known), [])

    def test_keys(self):
        keys = known_keys()
        self.assertGreater(len(keys), 100)
        wrong = []
        for path, text in self.each():
            if path.name == "configuration.md":
                continue
            for line, code in documents.code_spans(text):
                for key in KEY.findall(code):
                    if not is_key(key, keys):
                        wrong.append(f"{path.relative_to(documents.ROOT)}:{line}: no key {key}")
        self.assertEqual(wrong, [])

    def test_unknown_keys_are_found(self):
        keys = ["tony.<type>.memory", "tony.task.max-total-gpus", "tony.application.name"]
        known = ("tony.ps.memory", "tony.<type>.memory", "tony.task.max-total-*", "tony.driver.*", "tony.worker.", "tony.collective.torch")
        self.assertEqual([name for name in known if not is_key(name, keys)], [])
        unknown = ("tony.ps.memroy", "tony.application.nam", "tony.task.min-*", "tony.x.y.memory")
        self.assertEqual([name for name in unknown if is_key(name, keys)], [])

    def test_links(self):
        dead = [sentence for path, text in self.each() for sentence in documents.dead_links(path, text)]
        self.assertEqual(dead, [])

    def test_each_document_is_reached_from_the_readme(self):
        readme = documents.ROOT / "README.md"
        reached, waiting = set(), [readme]
        while waiting:
            path = waiting.pop()
            if path in reached or path.suffix != ".md":
                continue
            reached.add(path)
            for _, target in documents.links(path.read_text(encoding="utf-8")):
                waiting.append((path.parent / target.partition("#")[0]).resolve())
        docs = set((documents.ROOT / "docs").rglob("*.md"))
        self.assertEqual(sorted(str(path) for path in docs - reached), [])


class ReadingTest(JobTest):
    """Documents are read as their readers see them."""

    TEXT = """# A page

<!-- file: a.txt -->
```xml
<a/>
```

Type this:

<!-- exit code: 2 -->

    tony run \\
      x        # a comment
    tony status

<!-- output -->
```
FAILED (TASK_FAILED): worker:1 took 3.1 s in local-20261122-000204-4d53
```

<!-- not run: needs a cluster -->

    tony-submit --backend yarn

- a list
    of two lines with [a link](nowhere.md) and [another](#a-page) and [a third](#b)

```
    no command
```
"""

    def test_blocks(self):
        found = documents.blocks(self.TEXT)
        self.assertEqual([block.marks for block in found], [
            {"file": "a.txt"}, {"exit code": "2"}, {"output": ""}, {"not run": "needs a cluster"}, {}])
        self.assertEqual([block.is_command for block in found], [False, True, False, True, False])
        self.assertEqual(found[0].text, "<a/>\n")
        self.assertEqual(found[1].commands(), ["tony run x", "tony status"])

    def test_dead_links(self):
        self.assertEqual(documents.dead_links(pathlib.Path("/page.md"), self.TEXT), [
            "page.md:26: nowhere.md does not exist", "page.md:26: #b: the file has no such heading"])

    def test_missing_output(self):
        printed = "x\nFAILED (TASK_FAILED): worker:1  took 12 s in local-20270101-111111-0000\n"
        expected = documents.blocks(self.TEXT)[2].lines
        self.assertEqual(documents.missing_lines(expected, printed), [])
        self.assertEqual(documents.missing_lines(["…"], printed), [])
        self.assertEqual(documents.missing_lines(expected, printed.replace("worker:1", "worker:0")), expected)


class CommandsTest(JobTest):
    """The commands of the documents that users begin with, as they are typed: on a terminal."""

    def setUp(self):
        super().setUp()
        python = pathlib.Path(tony_cli.examples_python()).parent
        home = self.site.folder / "home"
        home.mkdir()
        self.environment = {
            **self.site.environment, "HOME": str(home), "TERM": "xterm-256color", "USER": "ada",
            "PATH": f"{self.site.programs}:{python}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.site.programs.parent / "python"),
        }
        self.environment.pop("DISPLAY", None)
        self.addCleanup(self.kill_jobs)

    def kill_jobs(self):
        """Ends the jobs of a document that was not followed to its end."""
        tony = self.site.programs / "tony"
        running = subprocess.run(
            [tony, "list", "--running", "--json"], env=self.environment, capture_output=True, check=True)
        for job in json.loads(running.stdout):
            subprocess.run([tony, "kill", job["id"]], env=self.environment, capture_output=True, check=True)

    def type(self, script, folder):
        """Runs a script of the shell on a terminal; returns its exit code and what was shown."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(
            ["bash", "-e", "-c", script], cwd=folder, env=self.environment,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )
        os.close(slave)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        shown = self.read_to_the_end(master)
        code = process.wait(DEADLINE_SECONDS)
        os.close(master)  # a shell that has not ended yet would get a hang-up
        return code, ESCAPES.sub("", shown.decode("utf-8", "replace"))

    def read_to_the_end(self, master):
        """Returns what a terminal gets until nobody can write to it any more."""
        shown = b""
        end = time.monotonic() + DEADLINE_SECONDS
        while select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # all of its other ends are closed
                return shown
            shown += part
        self.fail(f"no end within {DEADLINE_SECONDS} s:\n{shown.decode('utf-8', 'replace')}")

    def follow(self, path):
        """Does all that a document says, in its order."""
        name = str(path.relative_to(documents.ROOT))
        folder = self.site.folder / name.replace("/", "-")
        folder.mkdir()
        if name in BEFORE:
            program = documents.blocks((documents.ROOT / FIRST_PROGRAM).read_text(encoding="utf-8"))
            for block in program:
                if "file" in block.marks:
                    (folder / block.marks["file"]).write_text(block.text, encoding="utf-8")
            code, shown = self.type(BEFORE[name], folder)
            self.assertEqual(code, 0, shown)
        shown = ""
        for block in documents.blocks(path.read_text(encoding="utf-8")):
            place = f"{name}:{block.line}"
            if "file" in block.marks:
                (folder / block.marks["file"]).write_text(block.text, encoding="utf-8")
            elif "output" in block.marks:
                self.assertEqual(documents.missing_lines(block.lines, shown), [], last_lines(place, shown))
            elif block.is_command and "not run" not in block.marks:
                code, shown = self.type(block.text, folder)
                self.assertEqual(code, int(block.marks.get("exit code", 0)), last_lines(place, shown))

    def test_each_document(self):
        for pattern in RUN:
            paths = sorted(documents.ROOT.glob(pattern))
            self.assertTrue(paths, pattern)
            for path in paths:
                with self.subTest(path.name):
                    self.follow(path)


if __name__ == "__main__":
    integration_case.main()
