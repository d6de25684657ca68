"""The machine's processes and sockets, read from /proc, for tests."""

import contextlib
import os
import pathlib
import select
import signal
import time


def processes_with(*texts):
    """Returns the living processes whose command line or environment holds one of `texts`.

    A dictionary of process id to command line, without the caller. Those of other users are not
    seen.
    """
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            words = command + (entry / "environ").read_bytes()
            if any(text.encode() in words for text in texts):
                found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            pass  # it has just ended, or is not ours
    return found


def programs_of(job_id, program):
    """Returns the ids of a job's processes that run one of our programs ("tony-am")."""

    def runs(words):
        # By its own name, or by the loader of a runtime bundle.
        started = words[0] if "/ld-linux" not in words[0] else words[4]
        return started.endswith(f"/{program}")

    return [
        pid
        for pid, command in processes_with(job_id).items()
        if f"/{program} " in command and runs(command.split(" "))
    ]


def kill_programs_of(job_id, program):
    """Kills what programs_of() finds; who ends at that moment is gone as well."""
    for pid in programs_of(job_id, program):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def name_of(pid):
    """Returns the short name of a process, at most 15 characters; None when it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").rstrip("\n")
    except OSError:
        return None


def memory_kb(pid, name="VmRSS"):
    """What a line of a process's status file says, in KiB: VmRSS, the memory that it has in use; VmHWM, the most so far."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:"))


def _status_of(pid):
    """Returns what follows a process's name in its stat file; nothing when it is gone."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return []
    return stat.rpartition(")")[2].split()


def master_of(job_id):
    """Returns the id of a job's ApplicationMaster; one that is kept is below its keeper."""
    masters = programs_of(job_id, "tony-am")
    return max(masters, key=lambda pid: parent_of(pid) in masters)


def parent_of(pid):
    """Returns the id of a process's parent; None when it is gone."""
    status = _status_of(pid)
    return int(status[1]) if status else None


def state_of(pid):
    """Returns the letter of a process's state, as in ps(1); None when it is gone."""
    status = _status_of(pid)
    return status[0] if status else None


def lives(pid):
    """Whether a process is there and has not ended: a zombie has."""
    return state_of(pid) not in (None, "Z")


def wait_until(find, deadline_seconds, pause_seconds=0.001):
    """Returns the first true value of `find()`, or its last one after the deadline.

    For what /proc shows and nobody announces; with a longer pause for what it costs more to ask.
    """
    end = time.monotonic() + deadline_seconds
    while not (found := find()) and time.monotonic() < end:
        time.sleep(pause_seconds)
    return found


def variable_of(pid, name, deadline_seconds):
    """Returns an environment variable with which a process was started, decoded.

    While a process becomes another program it has none: it is asked again until the deadline, when
    an AssertionError is raised.
    """
    def found():
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word).get(name)

    if not (value := wait_until(found, deadline_seconds)):
        raise AssertionError(f"process {pid} has no {name}")
    return value


def watched_by(pid):
    """Returns the ids of the processes that a process holds a pidfd of."""
    found = set()
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            for line in entry.read_text(encoding="ascii").splitlines():
                if line.startswith("Pid:"):
                    found.add(int(line.split()[1]))
        except OSError:
            pass  # it was closed meanwhile
    return found


class Processes:
    """Some processes whose end is awaited. Not thread safe."""

    def __init__(self, test, pids):
        self._watched = {}
        for pid in pids:
            try:
                self._watched[os.pidfd_open(pid)] = pid
            except ProcessLookupError:
                pass
        for descriptor in self._watched:
            test.addCleanup(os.close, descriptor)

    def wait_until_gone(self, deadline_seconds):
        """Fails with an AssertionError when one still lives after the deadline."""
        end = time.monotonic() + deadline_seconds
        poll = select.poll()
        left = dict(self._watched)
        for descriptor in left:
            poll.register(descriptor, select.POLLIN)
        while left:
            ended = poll.poll(max(0, end - time.monotonic()) * 1000)
            if not ended:
                raise AssertionError(f"still alive: {sorted(left.values())}")
            for descriptor, _ in ended:
                poll.unregister(descriptor)
                del left[descriptor]


def listeners_of(pids):
    """Returns the TCP addresses, as /proc shows them ("0100007F"), on which `pids` listen."""
    inodes = set()
    for pid in pids:
        try:
            for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                target = os.readlink(descriptor)
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
        except OSError:
            pass  # it has just ended
    addresses = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:  # LISTEN
                addresses.append(fields[1].split(":")[0])
    return addresses
