"""C++ files as text: without comments and strings, their functions, and what headers declare."""

import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
# An apostrophe after a digit separates digits, e.g. 20'000.
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def blank(text, pattern, is_blanked=lambda match: True):
    """Replaces what matches by spaces, keeping all line breaks."""

    def replace(match):
        return re.sub(r"[^\n]", " ", match.group()) if is_blanked(match) else match.group()

    return pattern.sub(replace, text)


class Source:
    """One C++ file: its path from the root, its lines, its includes with line numbers, its bare
    code."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        text = path.read_text(errors="replace")
        self.lines = text.splitlines()
        without_comments = blank(
            text, COMMENT_OR_STRING, lambda match: match.group().startswith("/")
        )
        self.includes = [
            (without_comments.count("\n", 0, match.start()) + 1, match.group(1))
            for match in INCLUDE.finditer(without_comments)
        ]
        self.code = blank(without_comments, COMMENT_OR_STRING)

    @property
    def folder(self):
        """The folder below src that is one target, e.g. "core"."""
        return self.path.split("/")[1]

    def calls(self, pattern):
        """Yields (line, text) of each match in the code, outside of comments and strings."""
        for match in re.finditer(pattern, self.code):
            yield self.code.count("\n", 0, match.start()) + 1, match.group()

    def comment_above(self, line):
        """The comment that ends right above the declaration at `line`, which counts from 1."""
        first = line - 1
        while first > 0 and re.match(r"\s*(//|template\b)", self.lines[first - 1]):
            first -= 1
        return "\n".join(self.lines[first : line - 1])


# The text before the brace of a namespace, class and so on, in which functions are searched.
CONTAINER = re.compile(
    r"\b(?:namespace|class|struct|union|enum|extern)\b(?!.*\)\s*\w*\s*$)", re.DOTALL
)


def functions(code):
    """Yields (first line, last line) of each function's definition in code without strings.

    A brace opens a function where it follows a head with a `)` outside of all functions. Members
    that are initialized by braces before the body count as more pieces of the same function.
    """
    code = blank(code, DIRECTIVE)
    kinds = []  # of the open braces: "container", "function" or "block"
    head_begins = function_begins = 0
    for match in re.finditer(r"[{};]", code):
        inside = bool(kinds) and kinds[-1] != "container"
        if match.group() == "{":
            head = code[head_begins : match.start()]
            if inside or ")" not in head and not CONTAINER.search(head):
                kinds.append("block")
            elif CONTAINER.search(head):
                kinds.append("container")
            else:
                kinds.append("function")
                if not head.lstrip().startswith(","):
                    function_begins = match.start() - len(head.lstrip())
        elif match.group() == "}" and kinds:
            if kinds.pop() == "function":
                first = code.count("\n", 0, function_begins) + 1
                yield first, code.count("\n", function_begins, match.start()) + first
        if not kinds or kinds[-1] == "container":
            head_begins = match.end()


class Declaration:
    """A class or struct of a header: its line, kind and name, the lines of its body, and access."""

    def __init__(self, line, kind, name, indent):
        self.line, self.kind, self.name, self.indent = line, kind, name, indent
        self.is_public = kind == "struct"
        self.body = []


CLASS = re.compile(r"( *)(class|struct)\s+(\w+)[^;]*$")


def walk(source):
    """Yields (line, text, classes) for each line of a header's code; `classes`: the open ones.

    The tree is formatted: a class ends with a brace as far to the right as it begins.
    """
    classes = []
    for line, text in enumerate(source.code.splitlines(), 1):
        indent = len(text) - len(text.lstrip())
        if classes and text.strip().startswith("}") and indent <= classes[-1].indent:
            classes.pop()
        for declaration in classes:
            declaration.body.append(text)
        if classes and text.strip() in ("public:", "protected:", "private:"):
            classes[-1].is_public = text.strip() == "public:"
        match = CLASS.match(text) if "class" in text or "struct" in text else None
        if match:
            classes.append(Declaration(line, match.group(2), match.group(3), len(match.group(1))))
        yield line, text, classes
