"""A snapshot of the machine, to compare the states before and after a job."""

import os
import pathlib

_LISTENING = "0A"


def _processes(marks, alone):
    """Everything that lives or is a zombie, or what carries one of `marks`, by id."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            command = (entry / "cmdline").read_bytes()
            if not alone:
                text = command + (entry / "environ").read_bytes()
                if not any(mark.encode() in text for mark in marks):
                    continue
        except OSError:
            continue  # it has just ended, or is not ours
        name, _, rest = state.partition("(")[2].rpartition(")")
        words = command.replace(b"\0", b" ").decode(errors="replace").strip()
        kind = "zombie" if rest.split()[0] == "Z" else "process"
        found[f"{kind} {entry.name} ({name})"] = words
    return found


def _listening_sockets():
    found = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING:
                found.add(f"listening socket {table} {fields[1]}")
    return found


def _abstract_sockets():
    found = set()
    for line in pathlib.Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith("@tony-"):
            found.add(f"abstract socket {fields[7]}")
    return found


def _shared_memory():
    found = {f"shared memory /dev/shm/{name}" for name in os.listdir("/dev/shm")}
    for kind in ("shm", "sem", "msg"):
        table = pathlib.Path("/proc/sysvipc") / kind
        if table.exists():
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                found.add(f"System V {kind} {line.split()[1]}")
    return found


def _control_groups(job_ids):
    found = set()
    for folder, folders, _ in os.walk("/sys/fs/cgroup"):
        for name in folders:
            if name.startswith("tony-") and any(job_id in name for job_id in job_ids):
                found.add(f"control group {folder}/{name}")
    return found


def snapshot(marks, alone):
    """A dictionary of what is there to a description of it, which may be empty.

    Not `alone`, only processes that carry one of `marks` are looked at: whose a socket was cannot be
    told.
    """
    found = dict(_processes(marks, alone))
    if alone:
        for name in _listening_sockets() | _abstract_sockets() | _shared_memory():
            found[name] = ""
    return found


def control_groups(job_ids):
    """The same of the control groups of these jobs."""
    return {name: "" for name in _control_groups(job_ids)}
