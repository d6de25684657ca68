"""Runs tony's programs as a user would, in folders of their own, for tests.

A job's events come from `tony-submit --json`; waiting means waiting for the next of them, with a
deadline.
"""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

DEADLINE_SECONDS = 180


def json_lines(path):
    """Returns the whole lines of the file `path` as JSON values; none when there is no file."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def task_name(task):
    """Returns "worker:0" for a task as it stands in an event, where zeros are left out."""
    return f"{task['type']}:{task.get('index', 0)}"


def examples_python(*requirements):
    """Returns the interpreter of the examples' Python environment, which the first call makes.

    `requirements`: the file with its packages, if they are not those of most examples.
    """
    script = pathlib.Path(__file__).resolve().parents[2] / "scripts/python-environment"
    made = subprocess.run([script, *requirements], stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout.strip()


def horovod_python():
    """Returns the interpreter of the environment with Horovod; None where it is not built."""
    script = pathlib.Path(__file__).resolve().parents[2] / "scripts/build-horovod"
    found = subprocess.run([script, "--find"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


class Site:
    """A folder with jobs of its own and the programs that run them. Not thread safe."""

    def __init__(self, test, programs, cluster=None):
        """`programs` is the folder of tony-submit. The end of `test` removes everything.

        `cluster`, a YarnCluster, is where the jobs run if not here.
        """
        self.cluster = cluster
        self._test = test
        self.programs = pathlib.Path(programs)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-test-"))
        test.addCleanup(self._remove)
        self.local_dir = self.folder / "local"
        # Jobs of other users and of other tests are none of this site's business.
        site = self.folder / "site"
        site.mkdir()
        site.joinpath("tony-site.xml").write_text(
            "<configuration><property><name>tony.local.ledger</name><value>private</value>"
            "</property></configuration>\n", encoding="utf-8")
        self.environment = {**os.environ, "TONY_CONF_DIR": str(site)}
        if cluster is not None:
            self.environment.update(cluster.environment)

    def _remove(self):
        for folder, _, _ in os.walk(self.folder):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.folder)

    def command(self, program, *arguments):
        """Returns the command line of one of the programs on this site."""
        conf = ["--conf", f"tony.local.dir={self.local_dir}"]
        if self.cluster is not None:
            conf += ["--backend", "yarn"]
        return [self.programs / program, *arguments, *conf]

    def run(self, program, *arguments, deadline_seconds=DEADLINE_SECONDS):
        """Runs a program to its end; returns its exit code and texts."""
        return self.run_as([], program, *arguments, deadline_seconds=deadline_seconds)

    def run_as(self, prefix, program, *arguments, deadline_seconds=DEADLINE_SECONDS):
        """As run(), by the command `prefix`, which makes it another user's, say."""
        return self._run([*prefix, *self.command(program, *arguments)], deadline_seconds)

    def run_bare(self, program, *arguments, deadline_seconds=DEADLINE_SECONDS):
        """As run(), without the option that says where the site is: for what starts nothing."""
        return self._run([self.programs / program, *arguments], deadline_seconds)

    def start(self, test, program, *arguments, deadline_seconds=DEADLINE_SECONDS):
        """Starts a program whose end is the test's at the latest. When the test waits for
        longer than the deadline it is killed, and what is read of it ends."""
        process = subprocess.Popen(
            self.command(program, *arguments), env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        deadline = threading.Timer(deadline_seconds, process.kill)
        deadline.start()
        for clean_up in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            test.addCleanup(clean_up)
        test.addCleanup(deadline.cancel)
        return process

    def _run(self, command, deadline_seconds):
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=deadline_seconds,
            check=False,
        )

    def submit(self, *arguments, prefix=()):
        """Starts tony-submit, by the command `prefix` where there is one; returns the job."""
        return Job(self._test, self, arguments, prefix)

    def detach(self, *arguments):
        """Starts a job that continues without tony-submit; returns it."""
        return DetachedJob(self._test, self, arguments)

    def verb(self, *arguments):
        """Runs `tony` with --json, which must succeed; returns what it says."""
        result = self.run("tony", *arguments, "--json")
        self._test.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def job_folder(self):
        """The folder of the only job."""
        (folder,) = (self.local_dir / "jobs").iterdir()
        return folder


def is_attached_again(event):
    """Whether the event says that all executors have come to another ApplicationMaster."""
    return event.get("state_changed", {}).get("sentence") == "The executors are attached again"


class EventStream:
    """The events of a job, read as they come from a process that prints them. Not thread safe."""

    def __init__(self, site):
        self._site = site
        self._events = []
        self._changed = threading.Condition()
        self._over = False

    def _read_events(self, lines):
        for line in lines:
            if not line.endswith(b"\n"):
                break  # who wrote it was killed meanwhile
            with self._changed:
                self._events.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def wait_for(self, find, what, deadline_seconds=DEADLINE_SECONDS):
        """Returns the first true value of `find(events so far)`.

        Fails with an AssertionError after the deadline, or when no further event can come.
        """
        end = time.monotonic() + deadline_seconds
        with self._changed:
            while True:
                over = self._over
                found = find(self._events)
                if found:
                    return found
                if over or not self._changed.wait(end - time.monotonic()):
                    raise AssertionError(f"no {what}\n{self.describe()}")

    def wait_for_task(self, name, state, epoch=0, deadline_seconds=DEADLINE_SECONDS):
        """Waits until the task `name` ("worker:0") is in `state` in `epoch`; returns the event."""

        def find(events):
            for event in events:
                change = event.get("task_changed")
                if change and task_name(change["task"]) == name and change["state"] == state:
                    if change.get("epoch", 0) == epoch:
                        return change
            return None

        return self.wait_for(find, f"{state} of {name} in epoch {epoch}", deadline_seconds)

    def wait_until_attached_again(self, times=1):
        """Waits until all executors have come to another ApplicationMaster, so many times."""
        self.wait_for(lambda events: sum(map(is_attached_again, events)) >= times, "attached executors")

    def wait_until_running(self, *names, epoch=0):
        """Waits until the programs of all `names` run; returns their process ids."""
        return [int(self.wait_for_task(name, "RUNNING", epoch)["pid"]) for name in names]

    def wait_for_visualization(self, number=1):
        """Waits until it was said so often that something listens at TB_PORT; returns its address."""

        def find(events):
            found = [event["visualization_ready"]["url"] for event in events
                     if event.get("visualization_ready", {}).get("url")]
            return found[number - 1] if len(found) >= number else None

        return self.wait_for(find, "visualization")

    @property
    def id(self):
        """The job's id. Waits for the first event."""
        first = self.wait_for(lambda events: events[:1], "first event")[0]
        return first["submitted"]["job_id"]

    @property
    def folder(self):
        """The job's folder."""
        return self._site.local_dir / "jobs" / self.id

    def all_events(self):
        """All events so far, in their order."""
        with self._changed:
            return list(self._events)

    def raw_events(self, kind):
        """All events of one kind so far, e.g. "task_changed", each as it was printed."""
        with self._changed:
            return [event for event in self._events if kind in event]

    def events(self, kind):
        """The events of one kind so far."""
        return [event[kind] for event in self.raw_events(kind)]

    @property
    def verdict(self):
        """The verdict, when the job has ended."""
        (ended,) = self.events("ended")
        return ended["verdict"]

    def log(self, task, stream="stdout", attempt=1):
        """The bytes that the program of `task`, e.g. "worker:0", printed."""
        (path,) = self.logs(task, stream, attempt)
        return path.read_bytes()

    def logs(self, task, stream="stdout", attempt="*"):
        """The logs of `task`, one for each attempt, in their order."""
        if self._site.cluster is None:
            folder = self.folder / "logs" / task.replace(":", "-")
            return sorted(folder.glob(f"attempt-{attempt}/{stream}.log"))
        changes = [c for c in self.events("task_changed") if task_name(c["task"]) == task]
        containers = dict.fromkeys(c["container"] for c in changes if c.get("container"))
        return [
            path
            for container in containers
            for path in sorted(
                self._site.cluster.logs(f"{container}/attempt-{attempt}.{stream}.log")
            )
        ]

    def all_logs(self):
        """Everything that the job's processes have written so far."""
        if self._site.cluster is None:
            return sorted(self.folder.glob("logs/*/attempt-*/*.log"))
        return sorted(self._site.cluster.logs(f"../{self.id}/*/*.log"))

    def describe(self):
        """The events, for messages of tests."""
        with self._changed:
            return "\n".join(json.dumps(event) for event in self._events[-12:])


class Job(EventStream):
    """One job, followed by the tony-submit that started it. Not thread safe."""

    def __init__(self, test, site, arguments, prefix=()):
        """`prefix` is a command that executes the one which follows it, e.g. with less of something."""
        super().__init__(site)
        self._errors = []
        self.client = subprocess.Popen(
            [*prefix, *site.command("tony-submit", "--json", *arguments)],
            cwd=site.folder,
            env=site.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a process group of its own, as a shell gives it
        )
        self._readers = [
            threading.Thread(target=self._read_events, args=(self.client.stdout,)),
            threading.Thread(target=self._read_errors),
        ]
        for reader in self._readers:
            reader.start()
        test.addCleanup(self._stop)

    def _read_errors(self):
        for line in self.client.stderr:
            self._errors.append(line.decode(errors="replace"))

    def _stop(self):
        """Ends the job as Ctrl-C does, when the test gave up on it."""
        if self.client.poll() is None:
            self.client.send_signal(signal.SIGINT)
            try:
                self.client.wait(30)
            finally:
                self.client.kill()
        for reader in self._readers:
            reader.join()
        self.client.stdout.close()
        self.client.stderr.close()

    def wait(self, deadline_seconds=DEADLINE_SECONDS):
        """Returns the exit code of tony-submit, when all it printed has been read."""
        try:
            code = self.client.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end of the job\n{self.describe()}") from None
        for reader in self._readers:
            reader.join(deadline_seconds)
        return code

    def errors(self):
        """The output of tony-submit on stderr so far."""
        return "".join(self._errors)

    def describe(self):
        """The events, for messages of tests."""
        return "\n".join([f"exit code {self.client.poll()}", super().describe(), self.errors()])


class DetachedJob(EventStream):
    """A job that continues without its client, followed through its history. Not thread safe."""

    def __init__(self, test, site, arguments):
        super().__init__(site)
        self.result = site.run("tony-submit", "--detach", "--json", *arguments)
        test.assertEqual(self.result.returncode, 0, self.result.stderr)
        self._id = json.loads(self.result.stdout)["job_id"]
        # Should the test fail, nothing of the job stays.
        test.addCleanup(site.run, "tony", "kill", self._id)
        self._tail = subprocess.Popen(
            ["tail", "-n", "+1", "-F", self.folder / "events.jsonl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._reader = threading.Thread(target=self._read_events, args=(self._tail.stdout,))
        self._reader.start()
        test.addCleanup(self.close)

    @property
    def id(self):
        """The job's id."""
        return self._id

    def close(self):
        """Follows the job no longer."""
        self._tail.kill()
        self._tail.wait()
        self._reader.join()
        self._tail.stdout.close()


class Line:
    """A named pipe for lines between a test and the programs of its job. Not thread safe.

    What either side writes waits there for the other.
    """

    def __init__(self, test, path):
        self.path = pathlib.Path(path)
        os.mkfifo(self.path)
        # For both, so that neither opening nor writing waits for the other side.
        self._fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._pending = b""
        test.addCleanup(os.close, self._fd)

    def read(self, deadline_seconds=DEADLINE_SECONDS):
        """Returns the next line without its end."""
        end = time.monotonic() + deadline_seconds
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no line on {self.path} within {deadline_seconds} s")
            self._pending += os.read(self._fd, 65536)
        line, self._pending = self._pending.split(b"\n", 1)
        return line.decode()

    def write(self, count=1):
        """Lets `count` readers continue, each of which reads one line."""
        os.write(self._fd, b"go\n" * count)
