"""The stacks of this program's threads, for rank 0's report of waiting tensors."""

import os
import sys
import threading
import traceback

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_MOST_THREADS, _MOST_FRAMES = 8, 24
# Functions in which a thread waits for work, by the end of the file name.
_IDLE = {("threading.py", "wait"), ("threading.py", "_wait_for_tstate_lock"), ("queue.py", "get"),
         ("selectors.py", "select"), ("socketserver.py", "serve_forever"), ("thread.py", "_worker")}


def describe(own=None):
    """A line with the main thread's place, then a line for each active thread, the main one first.

    ``own``: the identifier of a thread to leave out. Returns text such as
    "train.py:40 in load_batch\\nMainThread: train.py:90 in <module>, train.py:40 in load_batch".
    """
    frames = sys._current_frames()  # pylint: disable=protected-access  # there is no public function
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    stacks = {ident: _stack(frame) for ident, frame in frames.items() if ident != own}
    lines = [_place(stacks[main]) if main in stacks else "the end of the program: its main thread has ended"]
    others = [ident for ident in stacks if ident != main and not _is_idle(stacks[ident])]
    for ident in [main] * (main in stacks) + others[:_MOST_THREADS]:
        lines.append(f"{names.get(ident, 'a thread')}: {_joined(stacks[ident])}")
    if len(others) > _MOST_THREADS:
        lines.append(f"and {len(others) - _MOST_THREADS} threads more")
    return "\n".join(lines)


def _stack(frame):
    """A list of (file, line, function), the innermost last. It reads no source files: they may lie on the file system
    that everybody waits for."""
    entries = [(each.f_code.co_filename, line, each.f_code.co_name) for each, line in traceback.walk_stack(frame)][::-1]
    # Of an import, only the importing line is shown.
    return [entry for entry in entries if not entry[0].startswith("<frozen importlib")]


def _is_library(entry):
    return os.path.dirname(os.path.abspath(entry[0])).startswith(_PACKAGE)


def _is_idle(stack):
    name, _, function = stack[-1]
    return (os.path.basename(name), function) in _IDLE or all(_is_library(entry) for entry in stack)


def _text(entry):
    name, line, function = entry
    return f"{os.path.basename(name)}:{line} in {function}"


def _user_stack(stack):
    """(the stack without this package's frames at its end, the package function that was called or None)"""
    end = len(stack)
    while end > 0 and _is_library(stack[end - 1]):
        end -= 1
    return stack[:end], stack[end][2] if end < len(stack) else None


def _place(stack):
    own, called = _user_stack(stack)
    place = _text(own[-1]) if own else "the beginning of the program"
    return place if called is None else f"{place}, and waits in tony.collective's {called}()"


def _joined(stack):
    own, called = _user_stack(stack)
    texts = [_text(entry) for entry in own]
    if len(texts) > _MOST_FRAMES:
        texts = [texts[0], f"({len(texts) - _MOST_FRAMES} calls)", *texts[1 - _MOST_FRAMES:]]
    return ", ".join(texts + ([f"tony.collective's {called}()"] if called else []))
