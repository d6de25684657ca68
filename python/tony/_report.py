"""What a task's program tells of itself while it runs: `tony.report(step=120, loss=0.31)`."""

from __future__ import annotations

import errno
import os
import threading

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Dict, Optional, Union

    Value = Union[str, int, float, bool]

_VARIABLE = "TONY_PROGRESS"
# A line of so many bytes arrives whole, whatever other processes of the task write (Linux, pipe(7)).
_MOST_BYTES = 4096

_lock = threading.Lock()
_pipes: Dict[str, int] = {}


def _pipe() -> Optional[int]:
    """The open pipe of this task; None outside a task."""
    path = os.environ.get(_VARIABLE, "")
    if not path:
        return None
    with _lock:
        if path not in _pipes:
            _pipes[path] = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return _pipes[path]


def _text(value: Value) -> str:
    text = str(value).replace('"', "'").replace("\n", " ")
    return f'"{text}"' if any(space in text for space in " \t") else text


def report(**values: Value) -> bool:
    """Reports values of this task, of which the last of each name is kept: 32 names, values of 128 bytes.

    They stand in `tony status --json`, in the summary of a step of a workflow, and in what it hands on to the
    following steps. The program never waits for it. Returns whether the values were taken: False outside a task, or
    when so much was reported at once that it does not fit. Raises ValueError for values that are longer than 4,096
    bytes together.
    """
    line = " ".join(f"{name}={_text(value)}" for name, value in values.items()) + "\n"
    data = line.encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        raise ValueError(f"the values have {len(data)} bytes; report at most {_MOST_BYTES} at once")
    try:
        pipe = _pipe()
        return pipe is not None and os.write(pipe, data) == len(data)
    except OSError as error:
        # The executor is gone, or has not read what was reported before.
        if error.errno in (errno.EAGAIN, errno.EPIPE, errno.ENXIO, errno.ENOENT):
            return False
        raise
