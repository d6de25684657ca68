"""What a Markdown document tells its readers to type, to write and to expect, for tests.

An indented block is a command, unless a comment above it says otherwise. These comments stand on a
line of their own, above the block that they are about; readers do not see them:

    <!-- file: NAME -->         the block is the content of a file in the reader's folder
    <!-- not run: REASON -->    the command needs something that the tests do not have
    <!-- exit code: N -->       the command ends with this code, not with 0
    <!-- output -->             the block is part of what the command before it prints
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = re.compile(r"<!-- (file|not run|exit code|output)(?:: (.+))? -->")
FENCE = re.compile(r"```(\w*)$")
# What differs from run to run, and what stands for it when texts are compared.
VARIABLE = (
    (re.compile(r"local-\d{8}-\d{6}-[0-9a-f]{4}"), "JOB"),
    (re.compile(r"/\S*?/\.tony/"), "~/.tony/"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"), "TIME"),
    (re.compile(r"<?\b\d+(?:\.\d+)?( ?(?:ms|s|m|h|B|KiB|MiB|GiB|KB|MB|GB|%))(?!\w)"), r"#\1"),
    (re.compile(r"\b\d+\.\d+\b|\b\d{4,}\b"), "#"),
    (re.compile(r"\s+"), " "),
)


class Block:
    """A block of a document: its lines, the number of the first one, and the comments above it."""

    def __init__(self, line, language, marks):
        self.line = line
        self.language = language  # None: the block is indented
        self.marks = marks
        self.lines = []

    @property
    def text(self):
        """The block as a file."""
        return "\n".join(self.lines) + "\n"

    @property
    def is_command(self):
        """Whether readers are told to type this."""
        return self.language is None and not {"file", "output"} & self.marks.keys()

    def commands(self):
        """The command lines without comments; continued lines are joined."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines()]
        return [line for line in lines if line]


def blocks(text):
    """Returns the blocks of a document in their order."""
    found, marks, block = [], {}, None
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None and block.language is not None:
            if line == "```":
                block = None
            else:
                block.lines.append(line)
            before = ""
            continue
        if line.startswith("    ") and (block is not None or before == ""):
            if block is None:
                block = Block(number, None, marks)
                found.append(block)
                marks = {}
            block.lines.append(line[4:])
            continue
        if line == "" and block is not None:
            block.lines.append("")
            continue
        if block is not None:
            block = None
        if FENCE.match(line):
            block = Block(number, FENCE.match(line).group(1), marks)
            found.append(block)
            marks = {}
        elif MARK.fullmatch(line):
            marks[MARK.fullmatch(line).group(1)] = MARK.fullmatch(line).group(2) or ""
        elif line:
            marks = {}
        before = "" if MARK.fullmatch(line) else line
    for block in found:
        while block.lines and block.lines[-1] == "":
            block.lines.pop()
    return found


def code_spans(text):
    """Returns (line, code) of each `span` in the prose, and of each line of the commands."""
    found, in_fence = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_fence = not in_fence
        elif not in_fence:
            found += [(number, span) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", line)]
    for block in blocks(text):
        if block.is_command:
            found += [(block.line, command) for command in block.commands()]
    return found


def links(text):
    """Returns (line, target) of each link to a file of the project or to a place in one."""
    found, in_fence = [], False
    for number, line in enumerate(text.splitlines(), 1):
        in_fence ^= line.startswith("```")
        if in_fence:
            continue
        prose = re.sub(r"`[^`]*`", "", line)
        targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'\bsrc="([^"]+)"', prose)
        found += [(number, target) for target in targets if "://" not in target]
    return found


def anchors(text):
    """Returns the places of a document that links can lead to, as GitHub names its headings."""
    found, in_fence = set(), False
    for line in text.splitlines():
        in_fence ^= line.startswith("```")
        heading = re.fullmatch(r"#+ (.+)", line)
        if in_fence or not heading:
            continue
        words = re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-")
        found.add(words)
    return found


def dead_links(path, text):
    """Returns a sentence for each link that leads nowhere."""
    sentences = []
    for line, target in links(text):
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if name and not file.exists():
            sentences.append(f"{path.name}:{line}: {target} does not exist")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8") if name else text):
            sentences.append(f"{path.name}:{line}: {target}: the file has no such heading")
    return sentences


def same_each_time(line):
    """Returns a line of output without what differs from run to run."""
    for pattern, replacement in VARIABLE:
        line = pattern.sub(replacement, line)
    return line.strip()


def missing_lines(expected, output):
    """Returns the lines of `expected` that `output` does not have.

    `…` stands for anything. The order is not compared, as tasks print at the same time.
    """
    printed = "\n".join(same_each_time(line) for line in output.splitlines())
    missing = []
    for line in expected:
        parts = [re.escape(part) for part in same_each_time(line).split("…")]
        if not re.search(f"^{'.*'.join(parts)}$", printed, re.MULTILINE):
            missing.append(line)
    return missing


def documents():
    """Returns the documents for readers: the files of the project that end in .md."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("docs", "examples", "tests"):
        found += sorted((ROOT / folder).rglob("*.md"))
    return found
