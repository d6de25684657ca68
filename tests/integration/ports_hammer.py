#!/usr/bin/env python3
"""Launches many jobs whose tasks listen on their reserved ports, beside a program that takes ports.

    ports_hammer.py PROGRAMS NEIGHBOUR [--launches N] [--few-ports] [--release]

PROGRAMS is the folder of tony-submit, NEIGHBOUR the program port_neighbour. Exits with 1 when a
task found its port in use.

--few-ports: in a network of its own, which has a thousand ports, all of them handed out by the
kernel and most of them taken by the other program at any time. Where the machine does not allow
such a network nothing is tried and the exit code is 77.
--release: the reserved ports are let go right before the programs start. Some are lost then, which
shows that the hammer hits.
"""

import argparse
import array
import fcntl
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

TASKS = 8
LAUNCH_DEADLINE_SECONDS = 120
SKIPPED = 77
GRABBED = 800  # ports that are held beside the jobs
# With --few-ports there are these and no others.
FIRST_PORT, LAST_PORT = 1024, 2047
UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--")
INSIDE = "--inside"
SETTINGS = pathlib.Path("/proc/sys/net/ipv4")


def enter_own_network(arguments):
    """Runs this script again in a network of its own. Returns its exit code."""
    if subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: this machine does not let us have a network of our own (unshare)")
        return SKIPPED
    return subprocess.run(
        [*UNSHARE, sys.executable, "-B", *arguments, INSIDE], check=False
    ).returncode


def set_up_own_network():
    """Switches the loopback on, and leaves few ports, all of which the kernel hands out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        siocgifflags, siocsifflags, iff_up = 0x8913, 0x8914, 1
        request = array.array("B", struct.pack("16sH14x", b"lo", 0))
        fcntl.ioctl(any_socket, siocgifflags, request)
        (flags,) = struct.unpack_from("H", request, 16)
        struct.pack_into("H", request, 16, flags | iff_up)
        fcntl.ioctl(any_socket, siocsifflags, request)
    SETTINGS.joinpath("ip_local_port_range").write_text(f"{FIRST_PORT} {LAST_PORT}")
    # Else those of closed connections would be missing for a minute each, until none is left.
    SETTINGS.joinpath("tcp_max_tw_buckets").write_text("0")
    SETTINGS.joinpath("ip_local_reserved_ports").write_text(f"{LAST_PORT + 1}-65535")


def launch(programs, neighbour, local_dir, release):
    """Runs one job, in the folder `local_dir`. Returns what went wrong, or None."""
    result = subprocess.run(
        [
            *(programs / "tony-submit", "--json", "--executes", neighbour),
            *("--conf", f"tony.local.dir={local_dir}", "--conf", f"tony.worker.instances={TASKS}"),
            *("--conf", "tony.worker.memory=16m"),
            *("--conf", f"tony.worker.port-release={'true' if release else 'false'}"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LAUNCH_DEADLINE_SECONDS,
        check=False,
    )
    printed = "".join(path.read_text() for path in sorted(local_dir.rglob("std*.log")))
    shutil.rmtree(local_dir)
    if result.returncode != 0 or printed.count("served port") != TASKS:
        last = result.stdout.splitlines()[-1:]
        return f"exit code {result.returncode}\n{printed}{result.stderr}{last}"
    return None


def hammer(programs, neighbour, launches, release):
    """Launches the jobs one after the other; returns the number of those that failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tony-ports-") as folder:
        begin = time.monotonic()
        for number in range(1, launches + 1):
            try:
                problem = launch(programs, neighbour, pathlib.Path(folder, str(number)), release)
            except subprocess.TimeoutExpired as expired:
                problem = f"no end within {expired.timeout} s"
            if problem:
                failed += 1
                print(f"launch {number}: {problem}", flush=True)
            if number % 100 == 0:
                print(
                    f"{number} launches, {time.monotonic() - begin:.0f} s, {failed} failed",
                    flush=True,
                )
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("neighbour", type=pathlib.Path)
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--few-ports", action="store_true")
    parser.add_argument("--release", action="store_true")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.few_ports and not options.inside:
        return enter_own_network(sys.argv)
    if options.inside:
        set_up_own_network()
    neighbour = options.neighbour.resolve()
    with subprocess.Popen(
        [neighbour, "--grab", str(GRABBED)], stdout=subprocess.PIPE, text=True
    ) as grabber:
        grabber.stdout.readline()  # from now on it grabs
        try:
            failed = hammer(
                options.programs.resolve(), str(neighbour), options.launches, options.release
            )
        finally:
            grabber.terminate()
        grabbed = int(grabber.stdout.readline())
    print(
        json.dumps(
            {
                "launches": options.launches,
                "tasks_each": TASKS,
                "failed": failed,
                "ports_grabbed_meanwhile": grabbed,
                "local_port_range": SETTINGS.joinpath("ip_local_port_range").read_text().split(),
                "load": os.getloadavg()[0],
            }
        )
    )
    return 1 if failed or grabbed < options.launches else 0


if __name__ == "__main__":
    sys.exit(main())
