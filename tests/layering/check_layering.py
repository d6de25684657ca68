#!/usr/bin/env python3
"""Checks that the source tree keeps its layers and its form: includes, what is pure, how long files
and functions are, what the comments of headers promise.

    check_layering.py [ROOT]

Prints one line per violation, "file:line: what, and what to do", and exits with 1 if there is any.
Everything that is allowed stands in the tables below; a new folder or library is a new row.
"""

import argparse
import pathlib
import re
import sys

import contracts
from cpp_source import Source

# The allowed includes: src/ROW may include itself and the folders of its list, and nothing else.
# There are two towers, for jobs (core, jobfile) and for machines (os, logs, hadoop).
CORE = ["core", "common"]
MACHINE = ["logs", "os"]
PROGRAM = [
    *("yarnlogs", "pagedata", "feed", "rendezvous", "web", "history", "rpc", "backend", "storage", "hadoop", "http"),
    "jobfile",
    *(*MACHINE, *CORE),
]
MAY_INCLUDE = {
    "common": [],
    "core": ["common"],
    # Loaded into the user's program, so it takes nothing along.
    "collective": [],
    "jobfile": CORE,
    "os": ["common"],
    "logs": ["os", "common"],
    "http": ["os", "common"],
    "hadoop": ["http", "os", "jobfile", "common"],
    "storage": ["hadoop", "os", *CORE],
    "rpc": [*MACHINE, *CORE],
    "history": ["rpc", "storage", *MACHINE, *CORE],
    # Blocks of a log pass through the API as logs reads them.
    "web": ["logs", *CORE],
    "pagedata": ["web", "history", "rpc", "storage", "jobfile", *MACHINE, *CORE],
    "rendezvous": ["web", "os", *CORE],
    "feed": ["rpc", "os", *CORE],
    "backend": ["storage", "hadoop", "jobfile", *MACHINE, *CORE],
    "yarnlogs": ["history", "rpc", "backend", "storage", "hadoop", *MACHINE, *CORE],
    "client": PROGRAM,
    "appmaster": PROGRAM,
    "executor": PROGRAM,
    "driver": PROGRAM,
    "portal": PROGRAM,
}

# The order of the folders inside a house, from the bottom: a folder may include those before it in
# its list, and not those after it. "." is the house's own folder.
FOLDER_ORDER = {
    "appmaster": ["page", "record", "alerts", "."],
    "backend": ["image", "local", "yarn", "launcher"],
    "client": [
        *("cli", "show", "jobs", "catalog", "follow", "remote_logs", "staging", "workflow", "yarn", "submit"),
        *("completion", "exec"),
        *("verbs", "manual", "."),
    ],
    "collective": [
        *("base", "arithmetic", "request", "group", "tune", "watch", "net", "hosts", "host"),
        *("meeting", "gpu", "engine", "api"),
    ],
    "core": [
        *("model", "feed", "tasks", "stacks", "metrics", "ports", "schedule", "rendezvous", "runtime", "record", "alerts", "judge", "advice", "job"),
    ],
    "executor": ["master", "output", "task", "feed", "exec", "horovod", "setup", "."],
    "hadoop": ["base", "config", "auth", "rpc", "hdfs", "logs"],
    "jobfile": ["values", "xml", "properties", "keys", "configuration", "job", "docs", "."],
    "os": ["files", "processes", "containment", "network", "archives", "machine"],
    "portal": ["index", "mirror", "login", "site", "."],
    "rpc": ["grpc", "convert", "security", "tunnel", "services"],
    "web": ["http", "access", "gate", "api", "."],
}

# The most files that lie in one folder.
MAX_FILES = 40

# Headers of libraries, and generated ones, that only some folders may see.
PROGRAMS = [folder for folder, allowed in MAY_INCLUDE.items() if allowed is PROGRAM]
LIBRARY_HOMES = [
    (r"grpc(pp)?/", ["rpc"]),
    (r"google/protobuf/", ["rpc", "hadoop", "backend", *PROGRAMS]),
    (r"tony/v\d+/", ["rpc", "history", "backend", *PROGRAMS]),
    (r"hadoop/(common|yarn)/", ["hadoop", "backend"]),
    (r"boost/", ["common", "hadoop", "web", "rendezvous"]),
    (r"(spdlog|fmt)/", ["common"]),
    (r"archive(_entry)?\.h", ["os"]),
    (r"tinyxml2\.h", ["jobfile"]),
    (r"openssl/", ["rpc", "os", "hadoop"]),
    (r"gssapi/", ["hadoop"]),
    (r"curl/", ["http"]),
    (r"zlib\.h", ["hadoop", "history", "web"]),
    (r"sqlite3\.h", ["portal"]),
]

# src/core is computation only. What it may include besides itself, and what it may not call.
CORE_HEADERS = (
    r"absl/(container|numeric|status|strings|types|algorithm|functional)/.*"
    r"|common/(clock|status_macros|utf8)\.h"
    r"|nlohmann/json(_fwd)?\.hpp"
    r"|csignal"  # the signals' numbers
    r"|algorithm|array|bit|cctype|charconv|chrono|climits|cmath|compare|concepts|cstddef|cstdint"
    r"|cstring|deque|functional"
    r"|initializer_list|iterator|limits|list|map|memory|numeric|optional|queue|set|span|string"
    r"|string_view|tuple|type_traits|unordered_map|unordered_set|utility|variant|vector"
)
CORE_CALLS = r"\b(?:(?:system|steady|high_resolution)_clock::now|random_device|this_thread)\b"

# The only files that ask for environment variables.
ENVIRONMENT_LAYER = r"src/(\w+/)+(environment|options\w*)\.cc"
ENVIRONMENT_CALLS = r"\b(?:secure_)?getenv\s*\("

# Text for people goes through PrintForPeople(), which drops what could steer a terminal. Besides:
# what runs in the user's program, and what only a build runs.
PRINTING = r"\b(?:v?[fd]?printf|fputs|std::puts|putchar|cout|cerr|clog)\b"
MAY_PRINT = r"src/collective/.*|src/jobfile/main_docs\.cc|src/client/main_manual\.cc"

MAX_LINES = 500
LENGTH_REASON = "Longer than 500 lines because"
LENGTH_CHECKED = ["src", "tests", "proto", "bench", "examples", "scripts"]
SOURCE_SUFFIXES = {".cc", ".h", ".proto", ".py", ".cmake", ""}


def check_layers(source):
    if source.folder not in MAY_INCLUDE:
        yield 1, f"src/{source.folder} has no row in MAY_INCLUDE of check_layering.py"
        return
    for line, included in source.includes:
        target = included.split("/")[0]
        allowed = MAY_INCLUDE[source.folder]
        if "/" in included and target in MAY_INCLUDE and target not in [source.folder, *allowed]:
            yield line, f"src/{source.folder} must not include {included} (only: {_list(allowed)})"


def check_folder_order(source):
    order = FOLDER_ORDER.get(source.folder)
    here = source.path.split("/")[2:-1]
    if order is None:
        if here:
            yield 1, f"src/{source.folder} has no row in FOLDER_ORDER of check_layering.py"
        return
    here = "/".join(here) or "."
    if here not in order:
        yield 1, f"src/{source.folder}/{here} is not in FOLDER_ORDER of check_layering.py"
        return
    for line, included in source.includes:
        house, *folders, _ = included.split("/") if "/" in included else ("", "")
        there = "/".join(folders) or "."
        if house == source.folder and there in order[order.index(here) + 1 :]:
            yield line, f"src/{house}/{here} lies below {there} and must not include {included}"


def check_libraries(source):
    for line, included in source.includes:
        for pattern, homes in LIBRARY_HOMES:
            if re.match(pattern, included) and source.folder not in homes:
                yield line, f"{included} is for src/{{{','.join(homes)}}} only"


def check_core(source):
    if source.folder != "core":
        return
    for line, included in source.includes:
        if not included.startswith("core/") and not re.fullmatch(CORE_HEADERS, included):
            yield line, f"src/core is pure and must not include {included}"
    for line, call in source.calls(CORE_CALLS):
        yield line, f"src/core is pure and must not use {call}; take it as an argument"


def check_environment(source):
    if re.fullmatch(ENVIRONMENT_LAYER, source.path):
        return
    for line, _ in source.calls(ENVIRONMENT_CALLS):
        yield line, "only environment.cc and options*.cc of a program read the environment"


def check_printing(source):
    if re.fullmatch(MAY_PRINT, source.path):
        return
    for line, call in source.calls(PRINTING):
        yield line, f"{call} may write foreign text to a terminal; use PrintForPeople()"


def check_length(root):
    for top in LENGTH_CHECKED:
        for path in sorted((root / top).rglob("*")):
            if not path.is_file() or path.suffix not in SOURCE_SUFFIXES:
                continue
            lines = path.read_text(errors="replace").splitlines()
            if len(lines) > MAX_LINES and not any(LENGTH_REASON in line for line in lines[:10]):
                yield (
                    f"{path.relative_to(root).as_posix()}:{len(lines)}: longer than {MAX_LINES} "
                    f"lines; split it, or write '{LENGTH_REASON} …' at its top"
                )


def find_cycle(graph):
    """Returns a cycle as a list of nodes, the first again as the last; or None.

    `graph` maps a node to the nodes that it points to. A depth-first search.
    """
    finished = set()

    def visit(node, path):
        if node in path:
            return [*path[path.index(node) :], node]
        if node in finished:
            return None
        for target in sorted(graph.get(node, ())):
            cycle = visit(target, [*path, node])
            if cycle:
                return cycle
        finished.add(node)
        return None

    cycles = (visit(node, []) for node in sorted(graph))
    return next((cycle for cycle in cycles if cycle), None)


# Includes make no cycle of files, of rooms (a header with its source) or of folders.
CYCLES = [
    ("include cycle of files", lambda path: path),
    ("these rooms include each other", lambda path: re.sub(r"\.(h|cc)$", "", path)),
    ("include cycle of folders", lambda path: path.rsplit("/", 1)[0]),
]


def check_cycles(sources):
    known = {source.path for source in sources}
    includes = [
        (source.path, f"src/{included}")
        for source in sources
        for _, included in source.includes
        if f"src/{included}" in known
    ]
    for what, part in CYCLES:
        graph = {}
        for here, there in includes:
            # A file that includes itself is a cycle, a source that includes its room's header none.
            if part(here) != part(there) or here == there:
                graph.setdefault(part(here), set()).add(part(there))
        cycle = find_cycle(graph)
        if cycle:
            yield f"{cycle[0]}:1: {what}: {' → '.join(cycle)}"
            return  # a cycle of files is one of rooms, too


def check_folder_size(sources):
    sizes = {}
    for source in sources:
        folder = source.path.rsplit("/", 1)[0]
        sizes[folder] = sizes.get(folder, 0) + 1
    for folder, size in sorted(sizes.items()):
        if size > MAX_FILES:
            yield f"{folder}:1: {size} files, and at most {MAX_FILES} should be; divide the folder"


def _list(names):
    return ", ".join(names) or "nothing of ours"


CHECKS = [
    *(check_layers, check_folder_order, check_libraries, check_core, check_environment),
    *(check_printing, contracts.check_thread_safety, contracts.check_status_codes),
]


def violations(root):
    """Yields all violations below the folder `root`, as printable lines."""
    paths = sorted(path for path in (root / "src").rglob("*") if path.suffix in {".cc", ".h"})
    sources = [Source(root, path) for path in paths]
    for source in sources:
        for check in CHECKS:
            for line, sentence in check(source):
                yield f"{source.path}:{line}: {sentence}"
    yield from check_cycles(sources)
    yield from check_folder_size(sources)
    yield from check_length(root)
    yield from contracts.check_function_lengths(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve()
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=here.parents[2])
    root = parser.parse_args().root.resolve()
    if not any((root / "src").rglob("*.cc")):
        sys.exit(f"{root}/src has no source file")
    found = list(violations(root))
    for line in found:
        print(line)
    print(f"layering: {len(found)} violations" if found else "layering: kept")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
