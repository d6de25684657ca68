#!/usr/bin/env python3
"""Runs Horovod's own tests in several ranks, and judges what fails by known_failures.txt: see scripts/horovod-tests."""

import argparse
import collections
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import adapted
from known_failures import Known

FILES = {
    "torch": ("parallel/test_torch.py", "parallel/test_adasum_pytorch.py", "parallel/test_timeline.py",
              "single/test_torch_elastic.py"),
    "tensorflow": ("parallel/test_tensorflow.py", "parallel/test_tensorflow2_keras.py",
                   "parallel/test_adasum_tensorflow.py", "parallel/test_process_sets_static.py",
                   "parallel/test_process_sets_multi_comm.py", "parallel/test_tensorflow_process_sets.py",
                   "parallel/test_tensorflow_process_sets_dynamic.py",
                   "parallel/test_tensorflow2_keras_process_sets.py"),
}


def options():
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="scripts/horovod-tests", description=__doc__)
    parser.add_argument("checkout", help="of Horovod's repository")
    parser.add_argument("--ranks", type=int, action="append", help="how many; may be given more than once (2 and 3)")
    parser.add_argument("--framework", choices=FILES, action="append", help="whose tests (those that are installed)")
    parser.add_argument("--only", metavar="EXPRESSION", help="tests that pytest's -k selects")
    parser.add_argument("--file", metavar="TEXT", default="", help="files with this in their name")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a test may take (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="file for all results")
    parser.add_argument("--unchanged", action="store_true", help="with Horovod itself: no import is changed")
    chosen = parser.parse_args()
    chosen.ranks = chosen.ranks or [2, 3]
    package = "horovod" if chosen.unchanged else "tony.collective"
    chosen.framework = chosen.framework or [
        name for name in FILES if all(map(_is_there, (name, f"{package}.{name}")))]
    return chosen


def _is_there(module):
    return importlib.util.find_spec(module) is not None


def run_file(path, folder, ranks, chosen):
    """All results of one file in so many ranks: by test, {"outcome", "why", "seconds"}. A file that cannot be imported
    is one failure."""
    report = folder / f"report.{ranks}.{path.stem}"
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "ranks_plugin",
               "--tb=native", "--assert=plain", f"--ranks={ranks}", f"--limit={chosen.limit}", f"--report={report}",
               path.name]
    if chosen.only:
        command += ["-k", chosen.only]
    # Operations fail before the test's limit is reached, with a sentence.
    environment = adapted.environment(folder, HOROVOD_GLOO_TIMEOUT_SECONDS=str(int(chosen.limit / 2)))
    ended = subprocess.run(command, cwd=path.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, check=False)
    lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
    results = {}
    for line in lines:
        result = json.loads(line)
        results[f"{path.stem}::{result['test'].split('::')[-1]}"] = result
    # 0: all passed, 1: some failed, 5: none was selected.
    if ended.returncode not in (0, 1, 5):
        results[f"{path.stem}::(file)"] = {"outcome": "failed", "why": ended.stdout[-600:], "seconds": 0}
    return results


def print_table(results, ranks, known):
    """A line for each test. Returns those that failed and are not known, as texts."""
    unknown, passing = [], []
    width = max(map(len, results), default=0)
    for test, by_ranks in sorted(results.items()):
        cells, reasons = [], []
        for count in ranks:
            result = by_ranks.get(count, {"outcome": "-", "why": ""})
            cell, entry = result["outcome"], known.find(test, count)
            if cell == "failed" and entry:
                cell = f"known: {entry.kind}"
                reasons.append(entry.why)
            elif cell == "failed":
                cell = "FAILED"
                unknown.append(f"{test} with {count} ranks: {result['why']}")
            elif cell == "skipped":
                reasons.append(result["why"])
            elif cell == "passed" and entry and entry.always:
                passing.append(f"{test} with {count} ranks")
            cells.append(cell)
        print(f"{test:{width}}  " + "  ".join(f"{cell:20}" for cell in cells) + "  ".join(dict.fromkeys(reasons)))
    for text in passing:
        print(f"known_failures.txt names what passes: {text}")
    return unknown


def main():
    chosen = options()
    if not chosen.framework:
        sys.exit("horovod-tests: neither PyTorch nor TensorFlow can be imported")
    known = Known([] if chosen.unchanged else None)
    results = collections.defaultdict(dict)
    with tempfile.TemporaryDirectory(prefix="horovod-tests-") as temporary:
        folder = pathlib.Path(temporary).resolve()
        try:
            version = adapted.copy(chosen.checkout, folder, chosen.unchanged)
        except adapted.SourceError as error:
            sys.exit(f"horovod-tests: {error}")
        print(f"Horovod {version}'s tests,", ", ".join(f"{name} {each}" for name, each in adapted.versions().items()),
              flush=True)
        for path in (folder / "test" / name for framework in chosen.framework for name in FILES[framework]
                     if chosen.file in name):
            # Horovod's tests in test/single are for one process.
            for ranks in [1] if path.parent.name == "single" else chosen.ranks:
                print(f"{path.stem} in {ranks} ranks", file=sys.stderr, flush=True)
                for test, result in run_file(path, folder, ranks, chosen).items():
                    results[test][ranks] = result
    if chosen.json:
        pathlib.Path(chosen.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    counted = sorted({ranks for each in results.values() for ranks in each})
    unknown = print_table(results, counted, known)
    for ranks in counted:
        counts = collections.Counter(each[ranks]["outcome"] for each in results.values() if ranks in each)
        print(f"{ranks} ranks: " + ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "skipped")))
    for text in unknown:
        print(f"FAILED {text}")
    if not results:
        sys.exit("horovod-tests: no test was run")
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
