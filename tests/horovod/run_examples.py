#!/usr/bin/env python3
"""Runs Horovod's own examples for PyTorch in several ranks, on made-up data: see scripts/horovod-tests --examples."""

import argparse
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import rendezvous_driver  # noqa: E402  pylint: disable=wrong-import-position

_MNIST = ["pytorch/pytorch_mnist.py", "--no-cuda", "--epochs=3", "--lr=0.05", "--log-interval=100", "--data-dir=data"]
_BENCHMARK = ["pytorch/pytorch_synthetic_benchmark.py", "--no-cuda", "--model=resnet18", "--batch-size=2",
              "--num-warmup-batches=1", "--num-batches-per-iter=1", "--num-iters=2"]
_LEARNED, _MEASURED = r"Accuracy: (?:9\d|100)\.\d+%\s*$", r"Total img/sec on \d+ CPU\(s\): [0-9.]+"
# What is run, and what rank 0 has to have said last.
EXAMPLES = [
    (_MNIST, _LEARNED),
    ([*_MNIST, "--fp16-allreduce"], _LEARNED),
    ([*_MNIST, "--gradient-predivide-factor=2"], _LEARNED),
    ([*_MNIST, "--use-adasum"], _LEARNED),
    (_BENCHMARK, _MEASURED),
    ([*_BENCHMARK, "--fp16-allreduce"], _MEASURED),
    ([*_BENCHMARK, "--use-adasum"], _MEASURED),
    (["adasum/adasum_small_model.py", "--op=Average"], r"^1\.0 Average 0\.1 \d+ \d+\s*$"),
    (["adasum/adasum_small_model.py", "--op=Adasum"], r"^1\.0 Adasum 0\.1 \d+ \d+\s*$"),
]


def options():
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="scripts/horovod-tests --examples", description=__doc__)
    parser.add_argument("checkout", help="of Horovod's repository")
    parser.add_argument("--ranks", type=int, action="append", help="how many; may be given more than once (2)")
    parser.add_argument("--only", metavar="TEXT", default="", help="those with this in their command")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one may take (%(default)s)")
    parser.add_argument("--unchanged", action="store_true", help="with Horovod itself: no import is changed")
    chosen = parser.parse_args()
    chosen.ranks = chosen.ranks or [2]
    return chosen


def run(command, folder, ranks, limit):
    """(exit status of the first rank that failed, else 0; output of rank 0 or of that one). A status of None: it did
    not end in time."""
    store = type("Store", (rendezvous_driver.Store,), {"values": {}, "changed": threading.Lock()})
    server = rendezvous_driver.Server(("127.0.0.1", 0), store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    outputs = [folder / f"output.{rank}" for rank in range(ranks)]
    processes = []
    try:
        for rank, path in enumerate(outputs):
            with open(path, "wb") as output:
                processes.append(subprocess.Popen(
                    [sys.executable, "-B", folder / "examples" / command[0], *command[1:]], cwd=folder,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=adapted.environment(
                        folder, HOME=str(folder), **rendezvous_driver.variables(rank, ranks, server.server_port))))
        status, guilty = _wait(processes, time.monotonic() + limit)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        server.shutdown()
        server.server_close()
    return status, outputs[guilty].read_text(encoding="utf-8", errors="replace")


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


def main():
    chosen = options()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="horovod-examples-") as temporary:
        folder = pathlib.Path(temporary).resolve()
        try:
            version = adapted.copy(chosen.checkout, folder, chosen.unchanged)
        except adapted.SourceError as error:
            sys.exit(f"horovod-tests: {error}")
        mnist_like.write(folder / "data")
        print(f"Horovod {version}'s examples,",
              ", ".join(f"{name} {each}" for name, each in adapted.versions().items()), flush=True)
        for command, expected in EXAMPLES:
            for ranks in chosen.ranks:
                text = " ".join(command)
                if chosen.only not in text:
                    continue
                started = time.monotonic()
                status, output = run(command, folder, ranks, chosen.limit)
                seconds = time.monotonic() - started
                said = re.findall(expected, output, re.MULTILINE)
                fine = status == 0 and said
                failed += not fine
                print(f"{'passed' if fine else 'FAILED'}  {text}  ({ranks} ranks, {seconds:.0f} s): "
                      f"{said[-1].strip() if said else output[-800:]}", flush=True)
                if status != 0:
                    print(f"        it {'did not end in time' if status is None else f'ended with {status}'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
