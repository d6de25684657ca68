"""What runs in Spark's tasks to place nodes. Spark gets these functions by value, so this module needs nothing of tony.

A task runs in a Python worker below the JVM of a Spark executor. The node is a process of its own session, which outlives
the task, and which ends when the JVM does.
"""

import fcntl
import hashlib
import os
import select
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

# What Spark gives its Python workers and executors, and nobody else should have: beginnings of names.
_SECRETS = ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_PORT", "SPARK_BUFFER_SIZE", "_SPARK_")
_REDEEM_SECONDS = 70.0
_KILL_SECONDS = 5.0
_FILLER_SECONDS = 1.0
_LOCK_PAUSE = 0.05
# Folders beside the unpacked bundles: one that is being unpacked, and the ending of one that is being removed.
_UNPACKING, _REMOVED = "unpacking-", ".removed"


class Settings(NamedTuple):
    """How nodes are started."""

    program: Optional[str]  # tony-executor's path on each host; None: in the bundle
    bundle: Optional[str]  # the name of the runtime bundle among Spark's files
    digest: str  # of the bundle
    files: Dict[str, str]  # name in the working folder → name among Spark's files
    speculation: bool  # Spark may run a second copy of a slow task


class Executor(NamedTuple):
    """The Spark executor above this process."""

    number: str  # its id
    application: str
    host: str
    pid: int  # of its JVM
    start: int  # when that was started, in clock ticks since the boot


def _fields(pid: int) -> List[str]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def start_of(pid: int) -> int:
    """When the process was started, in clock ticks since the boot; 0: there is none."""
    try:
        return int(_fields(pid)[19])
    except (OSError, IndexError):
        return 0


def _lives(pid: int, start: int) -> bool:
    try:
        fields = _fields(pid)
        return int(fields[19]) == start and fields[0] != "Z"
    except (OSError, IndexError):
        return False


def find_executor() -> Executor:
    """Walks up from this process to the JVM. Raises RuntimeError where there is none."""
    pid = os.getpid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = [word.decode(errors="replace") for word in file.read().split(b"\0")]
            parent = int(_fields(pid)[1])
        except OSError:
            break
        options = dict(zip(words, words[1:]))
        if "--executor-id" in options:
            return Executor(options["--executor-id"], options.get("--app-id", "application"), options["--hostname"],
                            pid, start_of(pid))
        pid = parent
    raise RuntimeError("no process above this Python worker is a Spark executor's (--executor-id): nodes cannot be "
                       "placed in Spark's driver (master local[…]), nor where another user's processes are hidden")


def _own_folder() -> str:
    """A folder of this host that only this user can enter."""
    path = os.path.join(tempfile.gettempdir(), f"tony-spark-{os.getuid()}")
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise RuntimeError(f"{path} is not a folder for this user alone; remove it")
    return path


def _lock(folder: str, name: str, wait: float = 0.0) -> Optional[int]:
    """A locked file; None if another process holds it, after `wait` seconds. Whoever inherits the descriptor holds the
    lock, too."""
    descriptor = os.open(os.path.join(folder, name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_LOCK_PAUSE)


def _unpack(archive: str, digest: str, folder: str) -> None:
    """Unpacks the runtime bundle. Raises RuntimeError for one that is not the driver's."""
    sha = hashlib.sha256()
    with open(archive, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            sha.update(chunk)
    if sha.hexdigest() != digest:
        raise RuntimeError(f"{archive} is not the driver's runtime bundle: its digest is {sha.hexdigest()}, not "
                           f"{digest}")
    unpacked = tempfile.mkdtemp(prefix=_UNPACKING, dir=_own_folder())
    try:
        with tarfile.open(archive) as bundle:
            bundle.extractall(unpacked)
        _remove(folder)
        os.rename(unpacked, folder)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def program(settings: Settings, locks: List[int], file_of: Any) -> List[str]:
    """The command of tony-executor, from a bundle that is unpacked once for each host.

    Adds the lock that keeps the bundle as long as the executor lives.
    """
    if settings.program:
        return [settings.program]
    own = _own_folder()
    name = "runtime-" + settings.digest[:16]
    folder = os.path.join(own, name)
    command = [os.path.join(folder, "tony-runtime", "bin", "start"), "tony-executor"]
    lock = _lock(own, "runtimes", _REDEEM_SECONDS)
    if lock is None:
        raise RuntimeError(f"{os.path.join(own, 'runtimes.lock')} is held by another process for {_REDEEM_SECONDS:g} "
                           "s; is one stopped that unpacks the runtime bundle?")
    try:
        used = os.open(folder + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(used, fcntl.LOCK_SH)
        locks.append(used)
        if not os.path.exists(command[0]):
            _unpack(file_of(settings.bundle), settings.digest, folder)
            _remove_unused(own, name)
    finally:
        os.close(lock)
    return command


def _remove(folder: str) -> None:
    """Removes a bundle: under another name, so that nobody starts what is left of one if this process is killed."""
    aside = folder + _REMOVED
    shutil.rmtree(aside, ignore_errors=True)
    if os.path.exists(folder):
        os.rename(folder, aside)
        shutil.rmtree(aside, ignore_errors=True)


def _remove_unused(own: str, but: str) -> None:
    """Removes the bundles of other versions, unless their locks are held, and what killed processes have left."""
    for name in os.listdir(own):
        if name.startswith(_UNPACKING) or name.endswith(_REMOVED):
            shutil.rmtree(os.path.join(own, name), ignore_errors=True)
        if not name.startswith("runtime-") or "." in name or name == but:
            continue
        lock = _lock(own, name)
        if lock is not None:
            _remove(os.path.join(own, name))
            os.unlink(os.path.join(own, name + ".lock"))
            os.close(lock)


def _working_folder(container: str, settings: Settings, file_of: Any) -> str:
    folder = os.path.join(os.getcwd(), container)
    os.mkdir(folder, 0o700)
    for name, file in settings.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        os.symlink(os.path.abspath(file_of(file)), path)
    return folder


def _last_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read()[-4000:].splitlines()
    return lines[-1] if lines else "it has said nothing"


def _await_redeemed(process: "subprocess.Popen[bytes]", pipe: int) -> bool:
    """Whether the voucher was redeemed: the other end of `pipe` is closed then, and the process goes on."""
    poll = select.poll()
    poll.register(pipe, 0)
    poll.poll(_REDEEM_SECONDS * 1000)
    try:
        process.wait(0.1)
        return False
    except subprocess.TimeoutExpired:
        return True


def start_node(order: Any, gpus: List[int], executor: Executor, settings: Settings, locks: List[int],
               file_of: Any) -> Dict[str, Any]:
    """Starts tony-executor, and waits until it has redeemed its voucher."""
    folder = _working_folder(order.container, settings, file_of)
    log = os.path.join(folder, "executor.log")
    reader, writer = os.pipe()
    try:
        os.write(writer, order.voucher.encode() + b"\n")
        command = [*program(settings, locks, file_of), f"--voucher-fd={reader}", f"--host={executor.host}",
                   f"--tied-to-pid={executor.pid}", f"--tied-to-start={executor.start}"]
        if gpus:
            command.append("--gpus=" + ",".join(map(str, gpus)))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_SECRETS)}
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as output:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, start_new_session=True, pass_fds=(reader, *locks))
        start = start_of(process.pid)
        os.close(reader)
        reader = -1
        if _await_redeemed(process, writer):
            return {"state": "placed", "pid": process.pid, "start": start}
        return {"state": "failed", "sentence": f"tony-executor on {executor.host} ended with {process.returncode}: "
                                               f"{_last_line(log)}"}
    finally:
        for descriptor in (reader, writer):
            if descriptor >= 0:
                os.close(descriptor)


def _gpus() -> List[int]:
    from pyspark import TaskContext  # pylint: disable=import-outside-toplevel  # only in Spark's workers

    context = TaskContext.get()
    resources = context.resources() if context is not None else {}
    return [int(address) for address in resources["gpu"].addresses] if "gpu" in resources else []


def _lock_gpus(gpus: List[int], locks: List[int]) -> None:
    """Adds the locks of the devices. Spark's discovery may give two executors of a host the same ones."""
    for gpu in gpus:
        lock = _lock(_own_folder(), f"gpu-{gpu}")
        if lock is None:
            raise RuntimeError(f"GPU {gpu} of this host has a node already: Spark gave it to two executors; let "
                               "spark.executor.resource.gpu.discoveryScript tell each executor its own")
        locks.append(lock)


def _await_original() -> None:
    """A speculative copy of a placing task would use the same voucher: it waits, and Spark ends it with the original.

    Spark does not say which task is a copy. One that is repeated since its executor was lost waits, too.
    """
    from pyspark import TaskContext  # pylint: disable=import-outside-toplevel  # only in Spark's workers

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        time.sleep(_REDEEM_SECONDS)


def place(orders: Iterator[Any], settings: Settings) -> Iterator[Dict[str, Any]]:
    """A placing task. It has one order, or none: then it keeps others out of an executor that has a node already."""
    from pyspark import SparkFiles  # pylint: disable=import-outside-toplevel

    order = next(iter(orders), None)
    result: Dict[str, Any] = {"container": order.container if order else None}
    locks: List[int] = []
    try:
        if order and settings.speculation:
            _await_original()
        executor = find_executor()
        result.update(executor=executor.number, host=executor.host)
        # In the Spark executor's own folder, which Spark removes.
        lock = _lock(os.getcwd(), f"tony-{executor.application}-{executor.number}")
        if lock is None:
            time.sleep(0 if order else _FILLER_SECONDS)
            yield {**result, "state": "busy"}
            return
        locks.append(lock)
        if order is None:
            yield {**result, "state": "free"}
            return
        gpus = _gpus()
        _lock_gpus(gpus, locks)
        yield {**result, **start_node(order, gpus, executor, settings, locks, SparkFiles.get)}
    except Exception as error:  # pylint: disable=broad-except  # a task that raises is repeated by Spark
        yield {**result, "state": "failed", "sentence": f"{type(error).__name__}: {error}"}
    finally:
        for lock in locks:
            os.close(lock)


def kill(targets: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """A killing task: kills the nodes of this Spark executor among container → {executor, pid, start}."""
    own = find_executor().number
    for container, target in targets.items():
        if target["executor"] != own:
            continue
        kill_process(target["pid"], target["start"])
        yield {"container": container}


def kill_process(pid: int, start: int) -> None:
    """Kills a process, and waits until it is gone, for at most _KILL_SECONDS.

    Python 3.8 has no pidfd. There a number that is used again in the instant after it was looked at would be hit, and
    the kernel gives a number again only after all others.
    """
    if start_of(pid) != start:
        return
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _KILL_SECONDS
        while _lives(pid, start) and time.monotonic() < deadline:
            time.sleep(_LOCK_PAUSE)
        return
    handle = os.pidfd_open(pid)
    try:
        if start_of(pid) == start:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], _KILL_SECONDS)
    finally:
        os.close(handle)
