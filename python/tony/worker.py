"""One rank of a function that runs as a job: reads the call, makes it, and writes what it returned or raised.

    python tony_worker.py CALL RESULTS [FIRST]

tony.start() lays this file and CALL into each task's working folder, so it needs neither the package nor any other: it
has to say clearly what is missing, also to an interpreter that cannot read the call. RESULTS is the caller's folder.
FIRST is the rank of the task's type with index 0, in a job whose ranks have several types; by default 0.

CALL is a line of JSON, `Header`, and then the pickled (function, args, kwargs). Rank N writes `N.value`, the pickled
result, or `N.error`, a JSON object. Both appear in place, so that whoever finds one finds it whole.
"""

import base64
import importlib
import json
import os
import pickle
import sys
import time
import traceback
from typing import Any, BinaryIO, Callable, Dict, List, Optional, Tuple

# The newest protocol that all supported versions of Python read: large buffers are written and read without a copy.
PROTOCOL = 5
VERSION = 1


class WorkerError(Exception):
    """The call cannot be made here; the message says why, and what to do."""


def read_header(file: BinaryIO) -> Dict[str, Any]:
    """The first line of a call."""
    header: Dict[str, Any] = json.loads(file.readline().decode())
    return header


def check_python(header: Dict[str, Any]) -> None:
    """Raises WorkerError if this interpreter cannot read the call."""
    theirs, ours = list(header["python"]), list(sys.version_info[:2])
    wrong = ours != theirs if header["by_value"] else ours < [3, 8]
    if wrong:
        needed = "Python {}.{}".format(*theirs) if header["by_value"] else "Python 3.8 or newer"
        raise WorkerError(
            "the function {} was pickled by Python {}.{}, and the tasks run it with Python {}.{} ({}); give "
            "python=… the path of {} on the nodes, or put the function into a module of src_dir and call it without "
            "cloudpickle".format(header["name"], *theirs, *ours, sys.executable, needed))


def find_modules(header: Dict[str, Any]) -> None:
    """Lets the call's modules be found where the caller found them, behind this program's own folders."""
    for folder in header["path"]:
        if folder not in sys.path and os.path.exists(folder):
            sys.path.append(folder)


def read_call(path: str) -> Tuple[Dict[str, Any], Callable[..., Any], Tuple[Any, ...], Dict[str, Any]]:
    """The header, the function and its arguments."""
    with open(path, "rb") as file:
        header = read_header(file)
        check_python(header)
        find_modules(header)
        try:
            function, args, kwargs = pickle.load(file)
        except ImportError as error:
            raise WorkerError(
                "the tasks' Python ({}) cannot import what {} needs: {}; install it for that Python, or give src_dir=… "
                "the folder with the module".format(sys.executable, header["name"], error)) from error
    return header, function, args, kwargs


def write_in_place(path: str, write: Callable[[BinaryIO], None]) -> None:
    """Lets a file appear with all that `write` writes."""
    part = path + ".part"
    try:
        with open(part, "wb") as file:
            write(file)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


def find_cloudpickle() -> Any:
    """cloudpickle, or the one that Spark brings along; None without either."""
    for name in ("cloudpickle", "pyspark.cloudpickle"):
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return None


def pickler(by_value: bool) -> Any:
    """The module that pickles: for a call by value, results may have classes of the caller's program."""
    return (find_cloudpickle() if by_value else None) or pickle


def pickled_error(error: BaseException, by_value: bool) -> Optional[str]:
    """The exception for the caller, if it survives the way there."""
    try:
        data = pickler(by_value).dumps(error, protocol=PROTOCOL)
        pickle.loads(data)
    except Exception:  # pylint: disable=broad-except  # whatever the exception's own code raises
        return None
    return base64.b64encode(data).decode()


def write_error(results: str, rank: int, error: BaseException, by_value: bool, lines: List[str]) -> None:
    """Tells the caller what the rank raised."""
    told = {"version": VERSION, "rank": rank, "time": time.time(), "type": type(error).__name__, "message": str(error),
            "traceback": "".join(lines), "worker": isinstance(error, WorkerError),
            "pickled": None if isinstance(error, WorkerError) else pickled_error(error, by_value)}
    text = json.dumps(told).encode("utf-8", "surrogateescape")
    write_in_place(os.path.join(results, "{}.error".format(rank)), lambda file: _write(file, text))


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def write_value(results: str, rank: int, value: Any, header: Dict[str, Any]) -> None:
    """Gives the caller what the rank returned."""
    path = os.path.join(results, "{}.value".format(rank))
    try:
        write_in_place(path, lambda file: pickler(header["by_value"]).dump(value, file, protocol=PROTOCOL))
    except OSError as error:
        raise WorkerError("the result of rank {} cannot be written to {}: {}; give results_dir=… a folder with more "
                          "room that all tasks can write to".format(rank, results, error.strerror)) from error
    except Exception as error:
        raise WorkerError("what {} returned in rank {} cannot be pickled: {}; return plain values or arrays".format(
            header["name"], rank, error)) from error


def user_traceback(error: BaseException) -> List[str]:
    """The traceback without the frames of this module."""
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename == __file__ and entry.tb_next is not None:
        entry = entry.tb_next
    return traceback.format_exception(type(error), error, entry)


def make_call(call: str, results: str, rank: int) -> int:
    """Makes the call of one rank; returns the exit status of its process."""
    by_value = False
    try:
        header, function, args, kwargs = read_call(call)
        by_value = header["by_value"]
        try:
            value = function(*args, **kwargs)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
            value = None
        write_value(results, rank, value, header)
    except BaseException as error:  # pylint: disable=broad-except  # also SystemExit: the caller has to know
        lines = ["{}\n".format(error)] if isinstance(error, WorkerError) else user_traceback(error)
        sys.stdout.flush()
        sys.stderr.write("".join(lines))
        sys.stderr.flush()
        write_error(results, rank, error, by_value, lines)
        return 1
    return 0


def main(arguments: List[str]) -> int:
    """The program."""
    call, results, *first = arguments
    return make_call(call, results, int(os.environ["TASK_INDEX"]) + int(first[0] if first else 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
