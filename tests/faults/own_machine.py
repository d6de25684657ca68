"""Runs a program as if it had the machine to itself, so that all that is found afterwards is its own.

In namespaces of their own are its processes, sockets (abstract ones, too), shared memory and mounts; its
control groups are below one of its own where those can be written. What the kernel's settings do not allow is not done,
and said.
"""

import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

INSIDE = "--inside-own-machine"
SMALL_DISK = "--small-disk"
# Room for a job and some logs, and full soon.
SMALL_DISK_BYTES = 6 * 1024 * 1024

_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def _unshare():
    """The command that gives the one after it namespaces of its own."""
    command = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc", "--net", "--ipc"]
    if os.geteuid() != 0:
        # Its capabilities hold in the new namespaces only, and only until they are set up.
        command += ["--user", "--map-current-user", "--keep-caps"]
    return command


def _lose_privileges(user):
    """The command that makes the one after it an ordinary user's."""
    command = ["setpriv", "--inh-caps=-all"]
    if os.geteuid() != 0:
        return [*command, "--ambient-caps=-all"]
    return [*command, "--reuid", user, "--regid", user_group(user), "--clear-groups"] if user else []


def user_group(user):
    """The primary group of a user, by number."""
    return subprocess.run(
        ["id", "-g", user], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def allowed():
    """Whether this user may have such a machine here."""
    tried = subprocess.run(
        [*_unshare(), "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True, check=False
    )
    return tried.returncode == 0


def enter(command, user="", groups=False):
    """Replaces the calling process by `command` on a machine of its own.

    It is run as `user` where one is given, who then has to be someone this user may become, and to
    whom with `groups` its control groups belong, as systemd would give them to who asks for it. It
    is given `--small-disk FOLDER`: a file system that is full soon.
    """
    owner = user if groups else ""
    inside = [sys.executable, "-B", __file__, INSIDE, user, owner, *command]
    os.execvp("unshare", [*_unshare(), *inside])


def enter_as(command, user):
    """Replaces the calling process by `command` as another user, on the machine of all."""
    group = user_group(user)
    drop = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", "--inh-caps=-all"]
    os.execvp(drop[0], [*drop, *command])


def _bring_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = fcntl.ioctl(probe, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        _, flags = struct.unpack("16sH14x", request)
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _own_control_groups(owner):
    """Moves the calling process into groups of its own, or the owner's; returns their folders."""
    made = []
    for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", f"/sys/fs/cgroup/{controllers}"):
            parent = pathlib.Path(root + path)
            own = parent / f"faults-{os.getpid()}-{time.time_ns()}"
            kinds = ("freezer", "memory") if controllers else ("",)
            if controllers not in kinds or not (parent / "cgroup.procs").exists():
                continue
            try:
                own.mkdir()
                made.append(own)
                (own / "cgroup.procs").write_text("0", encoding="ascii")
                if owner:
                    for path in (own, own / "cgroup.procs"):
                        shutil.chown(path, owner)
                break
            except OSError:
                pass  # not to be had by this user, or not in this hierarchy
    return made


def _leave_control_groups(made):
    for own in made:
        try:
            (own.parent / "cgroup.procs").write_text("0", encoding="ascii")
        except OSError:
            pass  # it was never in there
        for group in [*own.glob("*/"), own]:  # what a round has found left behind is in there still
            group.rmdir()


def _mount(folder, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)


def _reap_until_ended(child):
    """The work of a machine's first process; returns the child's exit code."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            return os.waitstatus_to_exitcode(status)


def _end_all_others():
    """Ends everything that a failed round has left in this process's own namespace, whose first process it is."""
    assert os.getpid() == 1
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.wait()
    except (ProcessLookupError, ChildProcessError):
        pass  # nobody is left


def _set_up_and_run(user, owner, command):
    _bring_up_loopback()
    _mount("/dev/shm", "mode=1777")
    # Below a mount of the namespace's own: nothing of it stays, however this ends.
    small_disk = tempfile.mkdtemp(prefix="tony-small-disk-", dir="/dev/shm")
    _mount(small_disk, f"mode=1777,size={SMALL_DISK_BYTES}")
    groups = _own_control_groups(owner)
    child = os.fork()
    if child == 0:
        drop = _lose_privileges(user)
        command = [*drop, *command, SMALL_DISK, small_disk]
        os.execvp(command[0], command)
    code = _reap_until_ended(child)
    _end_all_others()
    _leave_control_groups(groups)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    assert sys.argv[1] == INSIDE
    sys.exit(_set_up_and_run(sys.argv[2], sys.argv[3], sys.argv[4:]))
