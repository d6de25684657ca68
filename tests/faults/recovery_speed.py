"""How fast jobs recover: medians, printed beside what is aimed at."""

import os
import signal
import statistics
import time
import unittest

import machine
import tony_cli

_RUNS = 5
_TASKS = 16
_RESTART_AIM_MILLIS = 300
_REATTACH_AIM_MILLIS = 1000


def _start(site):
    job = site.submit(
        *("--executes", "[ $TONY_ATTEMPT = 2 ] || exec sleep 600"),
        *("--conf", f"tony.worker.instances={_TASKS}", "--conf", "tony.worker.memory=16m"),
        *("--conf", "tony.am.retry-count=1"),
    )
    return job, job.wait_until_running(*_names())


def _names():
    return [f"worker:{index}" for index in range(_TASKS)]


def _millis_of(job, find):
    """The time of the last event for which `find` holds."""
    return max(int(event["unix_millis"]) for event in job.raw_events("sequence") if find(event))


def _restart(site):
    """From a worker's death to the last program of the new epoch."""
    job, pids = _start(site)
    killed = time.time() * 1000
    os.kill(pids[3], signal.SIGKILL)
    job.wait_until_running(*_names(), epoch=1)
    job.wait()

    def runs_anew(event):
        change = event.get("task_changed", {})
        return change.get("state") == "RUNNING" and change.get("epoch", 0) == 1

    return _millis_of(job, runs_anew) - killed


def _reattach(site):
    """From the death of the ApplicationMaster until all executors have attached to another."""
    job, _ = _start(site)
    (master,) = machine.programs_of(job.id, "tony-am")
    killed = time.time() * 1000
    os.kill(master, signal.SIGKILL)

    def attached(event):
        return event.get("state_changed", {}).get("sentence") == "The executors are attached again"

    job.wait_for(lambda events: any(attached(event) for event in events), "attached executors")
    after = _millis_of(job, attached) - killed
    job.client.send_signal(signal.SIGINT)
    job.wait()
    return after


def measure(programs):
    """Prints what is measured; returns the exit code."""
    rows = (
        (f"{_TASKS} tasks, worker killed to all new programs running", _restart, _RESTART_AIM_MILLIS),
        (f"{_TASKS} tasks, ApplicationMaster killed to all attached", _reattach, _REATTACH_AIM_MILLIS),
    )
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores; medians of {_RUNS}")
    for name, run, aim in rows:
        times = []
        for _ in range(_RUNS):
            test = unittest.TestCase()
            try:
                times.append(run(tony_cli.Site(test, programs)))
            finally:
                test.doCleanups()
        print(f"  {name:<60} {statistics.median(times):5.0f} ms   aim {aim} ms")
    return 0
