"""Checks what the comments of headers promise, and that functions can be read at once."""

import re

import cpp_source

MAX_FUNCTION_LINES = 60
FUNCTION_REASON = f"// Longer than {MAX_FUNCTION_LINES} lines because"
FUNCTIONS_CHECKED = ["src", "tests", "bench", "examples", "include"]

THREAD_MEMBER = re.compile(
    r"\bstd::(?:\w*mutex|j?thread|condition_variable\w*)(?:>|\s)+\w+(?:\s*=[^;]*|\{[^;]*)?;"
)
SAYS_WHO_MAY_CALL = re.compile(
    r"\bthread|\bplain(?:\s|/)+value\b|\bowned(?:\s|/)+by(?:\s|/)+the(?:\s|/)+event(?:\s|/)+loop\b",
    re.IGNORECASE,
)
# A declaration at the top level of a class, up to the text after its parameters.
METHOD = re.compile(r"((?:[^;{}()]|\n)*?)\(((?:[^;{}]|\n)*)\)([^;{}()]*)[;{]")
# Declarations that are no methods, or do not change state that other threads may see.
NO_METHOD = re.compile(r"\b(?:friend|using|static|typedef|explicit|operator)\b|~|std::function<|=")
UNCHANGING = re.compile(r"\s*const\b|=\s*(?:default|delete)|noexcept\s*=")

STATUS_CODES = (
    "Cancelled|Unknown|InvalidArgument|DeadlineExceeded|NotFound|AlreadyExists|PermissionDenied"
    "|ResourceExhausted|FailedPrecondition|Aborted|OutOfRange|Unimplemented|Internal|Unavailable"
    "|DataLoss|Unauthenticated"
)
# A comment names a code, or the function or file whose codes they are.
NAMES_STATUS = re.compile(
    rf"\b(?:{STATUS_CODES})\b"
    r"|(?i:\bcodes?(?:\s|/)+(?:of|as(?:\s|/)+for|are(?:\s|/)+those)\b|\berrno(?:\s|/)+codes?\b)"
    r"|(?i:\bthe(?:\s|/)+same(?:\s|/)+(?:codes?|contract)\b|\berrors(?:\s|/)+of\b)"
)
RETURNS_STATUS = re.compile(
    r" *(?:(?:static|virtual|inline|\[\[nodiscard\]\]) +)*absl::Status(?:Or<.*)?(?: +\w+\(|$)"
)


def check_function_lengths(root):
    """Yields a printable line for each function that is too long and says no reason."""
    for top in FUNCTIONS_CHECKED:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in {".cc", ".h"} or not _may_have_long_function(path):
                continue
            source = cpp_source.Source(root, path)
            for first, last in cpp_source.functions(source.code):
                lines = last - first + 1
                if lines > MAX_FUNCTION_LINES and not _has_reason(source, first):
                    yield (
                        f"{source.path}:{first}: a function of {lines} lines, and at most "
                        f"{MAX_FUNCTION_LINES} should be; divide it, or write "
                        f"'{FUNCTION_REASON} …' above it"
                    )


def _may_have_long_function(path):
    """Quick: a function that long has as many lines without a brace at their beginning.

    A raw string may have such braces itself.
    """
    text = path.read_text(errors="replace")
    pieces = re.split(r"^\}", text, flags=re.MULTILINE)
    return 'R"' in text or any(piece.count("\n") >= MAX_FUNCTION_LINES for piece in pieces)


def _has_reason(source, line):
    return FUNCTION_REASON in source.comment_above(line)


def check_thread_safety(source):
    """A class that changes says who may call it; what has a mutex or a thread does so, too."""
    if not source.path.endswith(".h"):
        return
    found = []
    for _, _, classes in cpp_source.walk(source):
        found += [declaration for declaration in classes if declaration not in found]
    for declaration in found:
        comment = source.comment_above(declaration.line)
        if SAYS_WHO_MAY_CALL.search(comment):
            continue
        body = "\n".join(declaration.body)
        if THREAD_MEMBER.search(body) or declaration.kind == "class" and _changes(declaration):
            yield (
                declaration.line,
                f"the comment of {declaration.name} does not say whether it is thread safe, or "
                "which thread or loop owns it",
            )


def _changes(declaration):
    """Whether the class itself declares a method that is neither const nor static."""
    indent = " " * (declaration.indent + 2)
    own = [line for line in declaration.body if line.startswith(indent)]
    text = "\n".join(own)
    for match in re.finditer(rf"^{indent}(?! ){METHOD.pattern}", text, re.MULTILINE):
        before, _, after = match.groups()
        is_constructor = before.split()[-1:] == [declaration.name]
        if not is_constructor and not NO_METHOD.search(before) and not UNCHANGING.match(after):
            return True
    return False


def check_status_codes(source):
    """A function that may fail says how: a comment of it, its group, its class or its file names
    codes."""
    if not source.path.endswith(".h") or NAMES_STATUS.search(_comment_of_file(source)):
        return
    for line, text, classes in cpp_source.walk(source):
        is_hidden = classes and not classes[-1].is_public
        if is_hidden or not RETURNS_STATUS.match(text) or _is_override(source, line):
            continue
        comments = [source.comment_above(declaration.line) for declaration in classes]
        comments.append(_comments_of_group(source, line))
        if not any(NAMES_STATUS.search(comment) for comment in comments):
            yield line, "returns a status, and no comment names its codes, 'NotFound – …'"


def _is_override(source, line):
    declaration = "\n".join(source.code.splitlines()[line - 1 : line + 9])
    return re.search(r"[;{]|\boverride\b", declaration).group() == "override"


def _comments_of_group(source, line):
    """The nearest comment above the declaration, unless an empty line parts them."""
    lines = source.lines
    last = line - 1
    while last > 0 and lines[last - 1].strip() and not lines[last - 1].strip().startswith("//"):
        last -= 1
    return source.comment_above(last + 1)


def _comment_of_file(source):
    """The comment above the namespace: it is of all functions of the header."""
    for line, text in enumerate(source.lines, 1):
        if text.startswith("namespace "):
            return source.comment_above(line)
    return ""
