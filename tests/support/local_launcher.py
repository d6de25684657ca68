#!/usr/bin/env python3
"""A launcher that starts executors as its children on this machine (docs/design/launcher.md).

    local_launcher.py [--tie] [--most N] [--record FILE] FOLDER COMMAND…

COMMAND is a tony-submit, which gets the socket. FOLDER gets a working folder for each container. --tie: each executor is
tied to a process of its own (`sleep`), whose end ends it. --most: no more executors at once. --record: append each order
and its voucher to FILE.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

# pylint: disable=wrong-import-position
from tony import _launcher


def start_of(pid):
    """When a process was started, in clock ticks since the boot."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


class LocalLauncher:
    """Carries out the orders of one job. Not thread safe."""

    def __init__(self, options):
        self._options = options
        self._socket = _launcher.Socket()
        self._program = pathlib.Path(options.command[0]).parent / "tony-executor"
        theirs = self._socket.theirs.fileno()
        self._submit = subprocess.Popen(
            [*options.command, "--backend", "launcher", f"--launcher-fd={theirs}"], pass_fds=[theirs])
        self._socket.theirs.close()
        self._files = {}
        self._waiting = {}
        self._children = {}  # container → its tony-executor
        self._ties = {}

    def interrupt(self):
        """Ends the job as Ctrl-C does; this process ends after tony-submit."""
        self._submit.send_signal(signal.SIGINT)

    def serve(self):
        """Returns the exit code of tony-submit."""
        try:
            while self._submit.poll() is None:
                message = self._socket.receive(0.05)
                if message is not None:
                    self._take(message)
                self._look()
        except _launcher.Gone:
            pass
        code = self._submit.wait()
        for child in self._children.values():
            child.wait()
        for tie in self._ties.values():
            tie.kill()
            tie.wait()
        return code

    def _take(self, message):
        container = message.get("container")
        if message["type"] == "hello":
            self._waiting.clear()
            known = message["containers"]
            for lost in set(known) - set(self._children):
                self._socket.ended(lost, "the launcher does not run it")
            for unknown in set(self._children) - set(known):
                self._children[unknown].kill()
        elif message["type"] == "file":
            self._files[message["name"]] = message["path"]
        elif message["type"] == "start":
            self._waiting[container] = _launcher.order_from(message)
            if self._options.record:
                with open(self._options.record, "a", encoding="utf-8") as record:
                    record.write(json.dumps(message) + "\n")
        elif message["type"] == "kill" and container in self._children:
            if not message["gone"]:
                self._children[container].kill()
        elif message["type"] == "kill":
            self._waiting.pop(container, None)
            self._socket.ended(container, "it was not started")

    def _look(self):
        for container, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[container]
                lost = child.returncode < 0
                self._socket.ended(container, f"tony-executor ended with {child.returncode}", lost=lost)
        most = self._options.most
        while self._waiting and (most is None or len(self._children) < most):
            container = next(iter(self._waiting))
            self._start(self._waiting.pop(container))
        if self._waiting:
            self._socket.waiting(f"{most} executors run, and there are no more", "the end of one")

    def _start(self, order):
        folder = pathlib.Path(self._options.folder, order.container)
        folder.mkdir(mode=0o700)
        for name, path in self._files.items():
            folder.joinpath(name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.joinpath(name).symlink_to(path)
        reader, writer = os.pipe()
        os.write(writer, order.voucher.encode() + b"\n")
        os.close(writer)
        command = [self._program, f"--voucher-fd={reader}", "--host=127.0.0.1"]
        if order.gpus:
            command.append("--gpus=" + ",".join(map(str, range(order.gpus))))
        if self._options.tie:
            tie = subprocess.Popen(["sleep", "infinity"], env={"TIE_OF": order.container})
            self._ties[order.container] = tie
            command += [f"--tied-to-pid={tie.pid}", f"--tied-to-start={start_of(tie.pid)}"]
        with folder.joinpath("executor.log").open("ab") as log:
            self._children[order.container] = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                pass_fds=[reader])
        os.close(reader)


def main():
    """Serves until the end of tony-submit, whose exit code it takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tie", action="store_true")
    parser.add_argument("--most", type=int)
    parser.add_argument("--record")
    parser.add_argument("folder")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    launcher = LocalLauncher(parser.parse_args())
    signal.signal(signal.SIGINT, lambda *_: launcher.interrupt())
    sys.exit(launcher.serve())


if __name__ == "__main__":
    main()
