#!/usr/bin/env python3
"""Runs Horovod's own examples in several ranks, on made-up data: see scripts/horovod-tests --examples."""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import adapted
import mnist_like
from examples import EXAMPLES

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent / name) for name in ("support", "python")]

import elastic_driver  # noqa: E402  pylint: disable=wrong-import-position
import rendezvous_driver  # noqa: E402  pylint: disable=wrong-import-position
from process_output import ProcessOutput  # noqa: E402  pylint: disable=wrong-import-position


def options():
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="scripts/horovod-tests --examples", description=__doc__)
    parser.add_argument("checkout", help="of Horovod's repository")
    parser.add_argument("--ranks", type=int, action="append", help="how many; may be given more than once (2)")
    parser.add_argument("--framework", choices=EXAMPLES, action="append", help="whose examples (torch)")
    parser.add_argument("--only", metavar="TEXT", default="", help="those with this in their command")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one may take (%(default)s)")
    parser.add_argument("--unchanged", action="store_true", help="with Horovod itself: no import is changed")
    chosen = parser.parse_args()
    chosen.ranks = chosen.ranks or [2]
    chosen.framework = chosen.framework or ["torch"]
    return chosen


def run(command, folder, ranks, limit):
    """``command``: after the interpreter. Returns (exit status of the first rank that failed, else 0; output of rank 0 or
    of that one). A status of None: it did not end in time."""
    store = type("Store", (rendezvous_driver.Store,), {"values": {}, "changed": threading.Lock()})
    server = rendezvous_driver.Server(("127.0.0.1", 0), store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    outputs = [folder / f"output.{rank}" for rank in range(ranks)]
    processes = []
    try:
        for rank, path in enumerate(outputs):
            with open(path, "wb") as output:
                processes.append(subprocess.Popen(
                    [sys.executable, "-B", *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, env=adapted.environment(
                        folder, HOME=str(folder), **rendezvous_driver.variables(rank, ranks, server.server_port))))
        status, guilty = _wait(processes, time.monotonic() + limit)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        server.shutdown()
        server.server_close()
    return status, outputs[guilty].read_text(encoding="utf-8", errors="replace")


def run_elastic(command, folder, ranks, limit, example):
    """The same with an elastic driver: once rank 0 has said ``example.begun``, the last rank is killed, and a process
    comes for it or not."""
    names = [f"rank{rank}" for rank in range(ranks)]
    deadline = time.monotonic() + limit
    environment = adapted.environment(folder, HOME=str(folder), PYTHONUNBUFFERED="1")
    with elastic_driver.Driver(command, environment, seconds=limit) as driver:
        outputs = {}
        for rank, name in enumerate(names):
            driver.start(name, rank, ranks)
            outputs[name] = ProcessOutput(driver.processes[name])
        try:
            if not outputs[names[0]].wait_for(example.begun, limit):
                return driver.processes[names[0]].poll(), outputs[names[0]].text()
            driver.processes[names[-1]].kill()
            newcomers = ["newcomer"] if example.newcomer else []
            driver.begin_round(names[:-1], newcomers)
            outputs.update((name, ProcessOutput(driver.processes[name])) for name in newcomers)
            left = [*names[:-1], *newcomers]
            status, guilty = _wait([driver.processes[name] for name in left], deadline)
            for process in driver.processes.values():
                process.kill()
            return status, outputs[left[guilty]].text(ended=True)
        finally:
            for name, process in driver.processes.items():
                process.kill()
                outputs[name].text(ended=True)


def _wait(processes, deadline):
    """(status, rank) of the first that fails; (0, 0) if none does."""
    for rank, process in enumerate(processes):
        try:
            status = process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            # Python says where it is.
            process.send_signal(signal.SIGABRT)
            process.wait()
            return None, rank
        if status:
            return status, rank
    return 0, 0


def judge(example, framework, folder, ranks, limit):
    """Runs it, and says what came of it. Returns whether it did what it should."""
    program, *arguments = example.command
    command = [folder / "examples" / program, *arguments]
    if framework == "tensorflow":
        command.insert(0, _HERE / "keras_example.py")
    started = time.monotonic()
    if example.begun:
        status, output = run_elastic(command, folder, ranks, limit, example)
    else:
        status, output = run(command, folder, ranks, limit)
    said = re.findall(example.said, output, re.MULTILINE)
    fine = status == 0 and bool(said)
    last = said[-1].strip().splitlines()[-1][-100:] if said else output[-800:]
    print(f"{'passed' if fine else 'FAILED'}  {' '.join(example.command)}  ({ranks} ranks, "
          f"{time.monotonic() - started:.0f} s): {last}", flush=True)
    if status != 0:
        print(f"        it {'did not end in time' if status is None else f'ended with {status}'}")
    return fine


def main():
    chosen = options()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="horovod-examples-") as temporary:
        folder = pathlib.Path(temporary).resolve()
        try:
            version = adapted.copy(chosen.checkout, folder, chosen.unchanged)
        except adapted.SourceError as error:
            sys.exit(f"horovod-tests: {error}")
        # Where elastic ones leave their files, too.
        os.chdir(folder)
        mnist_like.write(folder / "data")
        mnist_like.write_for_keras(folder / ".keras" / "datasets", max(chosen.ranks))
        print(f"Horovod {version}'s examples,",
              ", ".join(f"{name} {each}" for name, each in adapted.versions().items()), flush=True)
        for framework in chosen.framework:
            for example in EXAMPLES[framework]:
                if chosen.only not in " ".join(example.command):
                    continue
                # Somebody has to be left.
                for ranks in [count for count in chosen.ranks if count > 1 or not example.begun]:
                    failed += not judge(example, framework, folder, ranks, chosen.limit)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
