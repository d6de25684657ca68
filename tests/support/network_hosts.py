"""Hosts of this machine: a network namespace each, joined by a bridge, and gone with the program that made them."""

import os
import subprocess
import sys

INSIDE = "TONY_BENCH_INSIDE"  # tells the program that it runs where the hosts are
NETWORK = "10.77.0"
# Everything is inside namespaces of the program's own, which the kernel removes with its last process. The first one
# in a PID namespace takes all others along, and is itself killed with whoever waits for it, however that ends.
OWN = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--uts", "--pid", "--kill-child",
       "--mount-proc"]


def _own():
    return [*OWN, *([] if os.geteuid() == 0 else ["--map-root-user"])]


def refusal():
    """None, or a sentence why there can be no hosts here."""
    try:
        tried = subprocess.run([*_own(), "ip", "link", "add", "type", "bridge"], capture_output=True, text=True,
                               check=False)
    except FileNotFoundError as error:
        return f"hosts are made with {error.filename}, which is not installed (Debian: util-linux, iproute2)"
    if tried.returncode == 0:
        return None
    return ("hosts need network namespaces, which this user or machine does not have "
            f"({tried.stderr.strip() or tried.returncode}): run it as root, outside of a container")


def inside(command):
    """The command that runs `command` where it may make Hosts."""
    return [*_own(), "env", f"{INSIDE}=1", *command]


def go_inside(name):
    """Runs this program again where it may make Hosts, and ends with its exit status; returns when it does so already.

    `name`: of the program, for a sentence where that is not allowed.
    """
    if INSIDE in os.environ:
        return
    reason = refusal()
    if reason:
        sys.exit(f"{name}: {reason}")
    sys.exit(subprocess.run(inside([sys.executable, *sys.argv]), check=False).returncode)


def ip(*words):
    """ip(8); a failure ends the program."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Hosts:
    """`count` hosts on one link, to which this program is connected too (`own`). Only inside. Not thread safe."""

    own = f"{NETWORK}.254"

    def __init__(self, count):
        self.addresses = [f"{NETWORK}.{number + 1}" for number in range(count)]
        os.makedirs("/run/netns", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True)  # of this mount namespace only
        ip("link", "add", "bridge", "type", "bridge")
        ip("address", "add", f"{self.own}/24", "dev", "bridge")
        for device in ("lo", "bridge"):
            ip("link", "set", device, "up")
        for number, address in enumerate(self.addresses):
            ip("netns", "add", address)
            ip("link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", address)
            ip("link", "set", f"port{number}", "master", "bridge", "up")
            ip("-n", address, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", address, "link", "set", device, "up")

    def limit(self, rate):
        """Each host sends and receives no more than `rate` ("1gbit", as tc(8) writes it); None: as fast as it can."""
        for number, address in enumerate(self.addresses):
            for place in (["dev", f"port{number}"], ["dev", "eth0"]):
                tc = ["tc", *(["-n", address] if place[1] == "eth0" else []), "qdisc"]
                subprocess.run([*tc, "delete", *place, "root"], capture_output=True, check=False)  # there may be none
                if rate:
                    subprocess.run([*tc, "add", *place, "root", "tbf", "rate", rate, "burst", "256kb", "latency",
                                    "20ms"], check=True)

    def on(self, host, *command):
        """The command that runs `command` on a host, by its number."""
        return ["ip", "netns", "exec", self.addresses[host], *command]

    def shell(self, folder):
        """A program in `folder` that runs a command on a host by its address, as ssh does it: for mpirun."""
        path = f"{folder}/on-host"
        with open(path, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nhost=$1\nshift\n'
                       'exec ip netns exec "$host" unshare --uts sh -c "hostname h$host; $*"\n')
        os.chmod(path, 0o755)
        return path
