"""One round: a job, a fault at a step of its protocol, its outcome, and what is left of it."""

import dataclasses
import json
import os
import pathlib
import random
import shutil
import signal
import threading
import unittest

import faults
import leftovers
import machine
import programs
import steps
import table
import targets
import tony_cli
import withheld_kill

# The limit of every wait in a round, and of the time until a job's last process is gone.
DEADLINE_SECONDS = 120
GONE_SECONDS = 60
# Between a step and the fault: what happens between two events is hit, too.
_MOMENT_SECONDS = 0.02
_TASK_MEGABYTES = 64
# Parts of the job's folder that must be gone when nothing of the job runs any more.
_TRANSIENT = ("secrets", "containers", "archives", "cache", "am.address")
_FEW_DESCRIPTORS = (6, 40)
_PACKED_BYTES = 8 * 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Setting:
    """The common settings of all rounds."""

    programs: pathlib.Path
    seed: int
    containment: str = "auto"
    conf: tuple = ()
    alone: bool = False
    small_disk: str = ""


class Wrong(Exception):
    """The outcome is not the table's, or something is left; the text has all about it."""


class Gates:
    """The pipes at which the tasks of a job wait. Not thread safe."""

    # For all attempts that there may be of a task.
    _LINES = 64

    def __init__(self, test, folder, tasks):
        folder.mkdir()
        self.tasks = tasks
        self._pipes = [tony_cli.Line(test, folder / f"gate-{index}") for index in range(tasks)]
        self._open = set()

    def open(self, index):
        """Lets all attempts of one task continue."""
        if index not in self._open:
            self._open.add(index)
            self._pipes[index].write(self._LINES)

    def open_all(self):
        """Lets all tasks continue."""
        for index in range(self.tasks):
            self.open(index)


class Round:
    """One round. Not thread safe."""

    def __init__(self, row, number, setting):
        self._row = row
        self._setting = setting
        self._random = random.Random(f"{setting.seed}/{number}/{row.name}")
        self.marker = f"tony-fault-{os.getpid()}-{number}-{self._random.getrandbits(32):08x}"
        self._test = unittest.TestCase()
        # Drawn here, in one order, so that a round repeats whatever happens in it.
        self._tasks = self._random.randint(2, 3)
        self._victim = self._random.randrange(self._tasks)
        self._bystander = (self._victim + 1) % self._tasks
        self._moment = self._random.uniform(0, _MOMENT_SECONDS)
        self._descriptors = self._random.randint(*_FEW_DESCRIPTORS)
        self._open_before_continued = self._random.random() < 0.5
        self._jobs = []
        self.reached = 0

    def run(self):
        """Returns the outcome; Wrong where it is not the table's."""
        try:
            return self._run()
        except (AssertionError, OSError, ValueError) as error:
            raise Wrong(f"{error}\n{self._describe()}") from error
        finally:
            self._test.doCleanups()

    def _run(self):
        before = leftovers.snapshot((), self._setting.alone)
        self._site = self._make_site()
        self._gates = Gates(self._test, self._site.folder / "gates", self._tasks)
        job = self._start(self._gates)
        if self._row.step != "starting":
            steps.reach(self._row.step, job, self._gates, self._bystander)
        neighbour = self._start_neighbour() if "neighbour" in self._row.targets else None
        threading.Event().wait(self._moment)
        self._fill_disk()
        self.reached = self._inflict(job)
        if neighbour and "am" in self._row.targets:
            self._assert_waits(neighbour)
        if self._row.what == "full-for-a-while":
            self._gates.open(self._bystander)
            job.wait_for_task(f"worker:{self._bystander}", "SUCCEEDED")
            self._ballast().unlink()
        self._let_go()
        exit_code = self._wait_for_end(job)
        if neighbour:
            neighbour.wait_for_task("worker:0", "STARTING")
            self._gates.open_all()
            self._test.assertEqual(neighbour.wait(DEADLINE_SECONDS), 0, neighbour.describe())
        self._wait_until_nothing_is_left(before)
        outcome = self._outcome(job, exit_code)
        self._check_folders(exit_code)
        if not outcome.within(self._row.expected):
            raise AssertionError(f"expected {self._row.expected}\nbut was  {outcome}")
        return outcome

    # The machine's state before the fault.

    def _make_site(self):
        site = tony_cli.Site(self._test, self._setting.programs)
        self._withheld = None
        if self._row.target == "disk":
            site.local_dir = pathlib.Path(self._setting.small_disk) / self.marker
            self._test.addCleanup(shutil.rmtree, site.local_dir, ignore_errors=True)
        site.environment = {
            **site.environment,
            "TONY_FAULT_ROUND": self.marker,
            "GATES": str(site.folder / "gates"),
            "VICTIM": str(self._victim),
        }
        if self._row.what == "wake-late":
            self._withheld = withheld_kill.WithheldKill(site)
        return site

    def _conf(self):
        conf = [
            f"tony.worker.instances={self._tasks}",
            f"tony.worker.memory={_TASK_MEGABYTES}m",
            f"tony.am.retry-count={self._row.user_budget}",
            f"tony.am.infrastructure-retry-count={self._row.infrastructure_budget}",
            "tony.am.retry-backoff-ms=50",
            "tony.task.kill-grace-ms=300",
            *faults.CONF.get(self._row.what, ()),
            *programs.CONF.get(self._row.program, ()),
        ]
        if set(self._row.expected.state) - {"SUCCEEDED", "FAILED"}:
            # No other ApplicationMaster comes, and that is to be known soon.
            conf.append("tony.am.reattach-timeout-ms=1000")
        if "neighbour" in self._row.targets:
            conf.append(f"tony.local.memory={_TASK_MEGABYTES * (2 * self._tasks - 1)}m")
        if self._setting.containment != "auto":
            conf.append(f"tony.task.containment={self._setting.containment}")
        return [word for line in [*conf, *self._setting.conf] for word in ("--conf", line)]

    def _arguments(self):
        arguments = ["--executes", programs.PROGRAMS[self._row.program], *self._conf()]
        if self._row.program == "packs":
            folder = self._site.folder / "program"
            folder.mkdir()
            # Random bytes, which cannot be compressed.
            (folder / "data").write_bytes(random.Random(0).randbytes(_PACKED_BYTES))
            arguments += ["--src_dir", str(folder)]
        return arguments

    def _prefix(self):
        if self._row.what == "few":
            return ["prlimit", f"--nofile={self._descriptors}:{self._descriptors}"]
        if self._row.program == "kills-all":
            own = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc"]
            return own if os.geteuid() == 0 else [*own, "--user", "--map-current-user"]
        return []

    def _start(self, gates):
        arguments = self._arguments()
        if any(name in ("detached-am", "am-keeper") for name in self._row.targets):
            job = self._site.detach(*arguments)
        else:
            job = self._site.submit(*arguments, prefix=self._prefix())
        self._jobs.append(job)
        return job

    def _start_neighbour(self):
        """Another job, for which there is no room yet."""
        job = self._site.submit(*self._arguments())
        self._jobs.append(job)
        job.wait_for(lambda events: any("waiting" in event for event in events), "waiting job")
        return job

    def _assert_waits(self, neighbour):
        """The share of a job is not given away while its tasks live."""
        self._test.assertEqual(neighbour.events("task_changed"), [], "the neighbour was let in")

    # The fault.

    def _inflict(self, job):
        names = f"worker:{self._victim}", f"worker:{self._bystander}"
        processes = targets.JobProcesses(job, *names)
        if self._row.what == "stop" and self._open_before_continued:
            self._let_go()
        fault = faults.Fault(self._row, job, processes, self._random, self._withheld)
        return fault.inflict()

    def _fill_disk(self):
        if self._row.target != "disk" or self._row.program == "packs":
            return  # what is packed fills it
        with open(self._ballast(), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass  # no byte is left

    def _ballast(self):
        return pathlib.Path(self._setting.small_disk) / "ballast"

    # Afterwards.

    def _let_go(self):
        # The target of the fault must not end before the fault.
        if {"SUCCEEDED", "FAILED"} & set(self._row.expected.state):
            self._gates.open_all()

    def _wait_for_end(self, job):
        if isinstance(job, tony_cli.DetachedJob):
            if self._row.expected.state == ("SUCCEEDED",):
                job.wait_for(
                    lambda events: any("ended" in event for event in events),
                    *("end of the job", DEADLINE_SECONDS),
                )
            job.close()
            return job.result.returncode
        return job.wait(DEADLINE_SECONDS)

    def _job_ids(self):
        jobs = self._site.local_dir / "jobs"
        # One whose client was killed before it had its name is no job.
        names = [entry.name for entry in jobs.iterdir()] if jobs.exists() else []
        return sorted(name for name in names if not name.startswith("."))

    def _status(self, job_id):
        result = self._site.run("tony", "status", job_id, "--json")
        self._test.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def _containment(self):
        for job_id in self._job_ids():
            for task in self._status(job_id)["tasks"]:
                if task.get("containment"):
                    return task["containment"]
        return "process-tree"

    def _outcome(self, job, exit_code):
        first = self._job_ids()[:1] if not self._jobs[1:] else [job.id]
        if not first:
            return table.Outcome("-", "-", "-", str(exit_code), "0")
        status = self._status(first[0])
        verdict = status["verdict"] or {"reason": "-", "guilty": None}
        guilty = "-"
        if verdict["guilty"]:
            hit = "driver:0" if "driver" in self._row.targets else f"worker:{self._victim}"
            guilty = "it" if verdict["guilty"] == hit else "other"
        return table.Outcome(
            *(status["state"], verdict["reason"], guilty, str(exit_code), str(status["epoch"]))
        )

    def _left(self, before):
        now = leftovers.snapshot((self.marker, *self._job_ids()), self._setting.alone)
        return {name: words for name, words in now.items() if name not in before}

    def _wait_until_nothing_is_left(self, before):
        outlives = self._row.outlives != ("-",) and self._containment() in self._row.outlives

        def nothing_left():
            left = self._left(before)
            if outlives:
                self._kill(name for name in left if "(tony-" not in name)
            return not left

        machine.wait_until(nothing_left, GONE_SECONDS)
        self._assert_empty(self._left(before))

    @staticmethod
    def _kill(names):
        """Ends processes of the program that nobody else is there to end."""
        for name in names:
            if name.startswith("process"):
                try:
                    os.kill(int(name.split()[1]), signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it was about to end

    def _check_folders(self, exit_code):
        """Secrets and working folders, and control groups."""
        self._ballast().unlink(missing_ok=True)
        self._remove_remains(exit_code)
        found = leftovers.control_groups(self._job_ids())
        for path in (self._site.local_dir / "jobs").glob("*/*"):
            if path.name in _TRANSIENT:
                found[f"{path.parent.name}/{path.name}"] = ""
        self._assert_empty(found)

    def _remove_remains(self, exit_code):
        """The next job removes what no process was left to remove."""
        lost = any(self._status(job_id)["state"] == "LOST" for job_id in self._job_ids())
        if lost or exit_code == -signal.SIGKILL:
            self._site.run("tony-submit", "--quiet", "--executes", "true", *self._conf())

    def _assert_empty(self, found):
        if found:
            lines = "\n".join(f"  {name} {words}" for name, words in sorted(found.items()))
            raise AssertionError(f"left behind:\n{lines}")

    def _describe(self):
        """Status, events and logs of the round's jobs."""
        parts = [job.describe() for job in self._jobs]
        for job_id in self._job_ids():
            folder = self._site.local_dir / "jobs" / job_id
            parts.append(self._site.run("tony", "status", job_id).stdout)
            for path in sorted([*folder.glob("*.jsonl"), *folder.glob("logs/**/*.log")]):
                text = path.read_bytes()[-3000:].decode(errors="replace")
                parts.append(f"--- {path.relative_to(folder)}\n{text}")
        return "\n".join(parts)
