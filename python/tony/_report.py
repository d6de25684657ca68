"""What a task's program tells of itself while it runs: `tony.report(step=120, loss=0.31)`."""

from __future__ import annotations

import os
import re
import threading

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Dict, Optional

_VARIABLE = "TONY_PROGRESS"
# A line of so many bytes arrives whole, whatever other processes of the task write (Linux, pipe(7)).
_MOST_BYTES = 4096
_NAME = re.compile(r"[A-Za-z0-9_./-]{1,64}")

_lock = threading.Lock()
_pipes: Dict[str, int] = {}


def _pipe(path: str) -> int:
    """The open pipe. It is never closed: a program reports until its end."""
    with _lock:
        if path not in _pipes:
            _pipes[path] = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return _pipes[path]


def _scalar(value: object) -> object:
    """The number in an array or tensor that has just one, of whatever package; other values unchanged."""
    item = getattr(value, "item", None)
    if item is None:
        return value
    try:
        return item()
    except (TypeError, ValueError, RuntimeError):  # it has several elements
        return value


def _text(value: object) -> str:
    text = " ".join(str(_scalar(value)).replace('"', "'").split())
    return f'"{text}"' if " " in text else text


def _line(values: Dict[str, object]) -> bytes:
    for name in values:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a value: write up to 64 letters, digits and characters of _ . - /")
    pairs = [f"{name}={_text(value)}" for name, value in values.items() if value is not None]
    data = (" ".join(pairs) + "\n").encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        raise ValueError(f"the values have {len(data)} bytes; report at most {_MOST_BYTES} at once")
    return data


def report(*, step: Optional[object] = None, loss: Optional[object] = None, phase: Optional[str] = None,
           checkpoint: Optional[object] = None, checkpoint_seconds: Optional[float] = None, **values: object) -> bool:
    """Reports the progress of this task's program, and values of it.

    step: the number of the step that is done, a whole number. tony computes steps per second from it, and sees whether
        the program goes on.
    loss, values: numbers and words, also arrays and tensors of one element. Of each name the last value is kept: 32
        names of up to 64 bytes, values of up to 128 bytes; numbers of the first 16 names count as progress.
    phase: what the program does from now on in place of steps, such as "checkpoint" or "evaluate"; "" ends that.
    checkpoint: the path of a checkpoint that is complete now; checkpoint_seconds: how long writing it took.

    What is None is left out. `tony top`, `tony status` and the terminal's table show the progress while the program
    runs. All values stand in `tony status --json`, in the summary of a step of a workflow, and in what it hands on to
    the following steps.

    The program never waits for it, and any thread may call it. Returns whether the values were taken: False outside a
    task, or when so much was reported at once that it does not fit. Raises ValueError for values that are longer than
    4,096 bytes together, and for a name that cannot be one.
    """
    known = {"step": step, "loss": loss, "phase": phase, "checkpoint": checkpoint,
             "checkpoint_seconds": checkpoint_seconds}
    path = os.environ.get(_VARIABLE, "")
    if not path:
        return False
    data = _line({**known, **values})
    try:
        return len(data) > 1 and os.write(_pipe(path), data) == len(data)
    except OSError:  # the executor is gone, or has not read what was reported before: no reason to end a training
        return False


def report_named(values: Dict[str, object], **known: object) -> bool:
    """As report(), for values whose names a framework has made: what cannot stand in a name becomes "_"."""
    named = {re.sub(r"[^A-Za-z0-9_./-]", "_", str(name))[:64]: value for name, value in values.items()}
    return report(**{**named, **known})  # type: ignore[arg-type]
