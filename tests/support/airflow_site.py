"""A real Airflow with tony's provider, in a folder of its own: its commands, its servers, its REST interface."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import tomllib
import time
import urllib.error
import urllib.parse
import urllib.request

import machine
import tony_cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The commands of Airflow take seconds each, more while other tests run.
BUSY_SECONDS = 60  # how long a request may find the database busy
COMMAND_SECONDS = 180


def requirements(version):
    """The file with all packages of Airflow `version`, 2 or 3."""
    return ROOT / f"tests/e2e/requirements/airflow-{version}.txt"


class AirflowSite:
    """One Airflow. Its tasks run jobs in the folders of `site`. Not thread safe."""

    def __init__(self, site, version):
        """`version`: 2 or 3. The first one of a machine installs Airflow."""
        self._bin = pathlib.Path(tony_cli.examples_python(requirements(version))).parent
        self.home = site.folder / "airflow"
        self._servers = {}
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        connection = {
            "home": str(_home(site)),
            "conf": {"tony.local.dir": str(site.local_dir)},
            "environment": {"TONY_CONF_DIR": site.environment["TONY_CONF_DIR"]},
        }
        settings = {
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "CORE__DAGS_FOLDER": str(ROOT / "tests/support/airflow_dags"),
            "CORE__PARALLELISM": "8",
            "CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "API__HOST": "127.0.0.1",
            "API__PORT": str(port),
            "API__BASE_URL": self.url,
            "API__WORKERS": "1",
            "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            # How long a triggerer may be silent until another one takes its triggers.
            "TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
        }
        self._environment = {
            **site.environment,
            **{f"AIRFLOW__{name}": value for name, value in settings.items()},
            "AIRFLOW_HOME": str(self.home),
            "PATH": f"{self._bin}:{os.environ['PATH']}",  # Airflow 2 starts itself by its name
            "AIRFLOW_CONN_TONY_DEFAULT": json.dumps({"conn_type": "tony", "extra": connection}),
            "PYTHONPATH": str(_installed_provider(site.folder / "provider")),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self, *arguments, **options):
        """Starts a command of Airflow."""
        return subprocess.Popen(
            [self._bin / "airflow", *arguments], env=self._environment, stdin=subprocess.DEVNULL, **options
        )

    def run(self, *arguments, code=0):
        """Runs a command of Airflow to its end; returns what it printed."""
        with self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                text, _ = process.communicate(timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        if process.returncode != code:
            raise AssertionError(f"airflow {arguments} ended with {process.returncode}:\n{text[-8000:]}")
        return text

    def migrate(self):
        """Makes the database.

        Of SQLite, which gives a trigger the number of one that was deleted. A triggerer that hears of both at once takes
        them for one trigger, and a cleared task's job goes on. A site's database counts on, so let this one, too.
        """
        self.run("db", "migrate")
        with contextlib.closing(sqlite3.connect(self.home / "airflow.db")) as db, db:
            (made,) = db.execute("select sql from sqlite_master where type = 'table' and name = 'trigger'").fetchone()
            counting = made.replace("id INTEGER NOT NULL", "id INTEGER PRIMARY KEY AUTOINCREMENT").replace(
                ", \n\tCONSTRAINT trigger_pkey PRIMARY KEY (id)", "")
            assert "AUTOINCREMENT" in counting and counting.count("PRIMARY KEY") == 1, made
            db.execute('drop table "trigger"')
            db.execute(counting)

    def serve(self, *servers):
        """Starts servers, e.g. "api-server", and waits until the REST interface answers."""
        self.start_servers(*servers)
        answered = machine.wait_until(self._answers, COMMAND_SECONDS, 0.25)
        if not answered:
            raise AssertionError(f"Airflow's server does not answer\n{self.outputs()}")
        self._token = self.call("GET", "/auth/token")["access_token"]

    def start_servers(self, *servers):
        """Starts servers, and does not wait for them."""
        for server in servers:
            options = [] if server == "api-server" else ["--skip-serve-logs"]
            with open(self.home / f"{server}.out", "ab") as out:
                self._servers[server] = self.start(server, *options, stdout=out, stderr=out, start_new_session=True)

    @contextlib.contextmanager
    def stopped(self, server):
        """Within this, nothing of a server runs, except what has a session of its own."""
        os.killpg(self._servers[server].pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._servers[server].pid, signal.SIGCONT)

    def kill(self, server):
        """Ends a server with -9, and all that has no session of its own."""
        process = self._servers.pop(server)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        """Ends the servers and all that they have started."""
        for server in self._servers.values():
            server.send_signal(signal.SIGTERM)
        for server in self._servers.values():
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(server.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            server.wait()
        self._servers = {}

    def outputs(self):
        """The ends of what the servers have printed, for messages of tests."""
        return "\n".join(path.read_text(errors="replace")[-4000:] for path in self.home.glob("*.out"))

    # ---- the REST interface of Airflow 3

    _token = None

    def _answers(self):
        try:
            return self.call("GET", "/api/v2/monitor/health")
        except (OSError, urllib.error.URLError):
            return None

    def call(self, method, path, body=None):
        """Sends a request; returns the answer's JSON."""
        request = urllib.request.Request(self.url + urllib.parse.quote(path, safe="/?=&:+"), method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        data = None if body is None else json.dumps(body).encode()
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with urllib.request.urlopen(request, data, timeout=60) as answer:
                    text = answer.read()
                return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                said = error.read()[:2000]
                # The servers share a database of SQLite, which lets one of them write at a time.
                if b"Database error" not in said or time.monotonic() > end:
                    raise AssertionError(f"{method} {path}: {error}: {said}") from error

    def trigger(self, dag, command="true"):
        """Starts a run of a DAG, with the job's command."""
        answer = self.call(
            "POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": {"command": command}}
        )
        return TaskRun(self, dag, answer["dag_run_id"])


class TaskRun:
    """The task "train" of one run of a DAG of Airflow 3."""

    def __init__(self, site, dag, run_id):
        self._site = site
        self.dag = dag
        self.run_id = run_id

    @property
    def path(self):
        """The task's address in the REST interface, and behind /api/v2 also in the pages."""
        return f"/api/v2/dags/{self.dag}/dagRuns/{self.run_id}/taskInstances/train"

    def get(self, what=""):
        """A part of the task, e.g. "/links"; without one the task itself."""
        return self._site.call("GET", self.path + what)

    def wait_for(self, *states, tries=1, deadline_seconds=COMMAND_SECONDS):
        """Waits until the task is in one of `states` in so many tries at least; returns it."""
        seen = None

        def find():
            nonlocal seen
            seen = self.get()
            return seen if seen["state"] in states and seen["try_number"] >= tries else None

        task = machine.wait_until(find, deadline_seconds, 0.25)
        if task is None:
            log = "\n".join(str(line) for line in self.log(seen["try_number"])[-30:])
            raise AssertionError(f"{self.dag} is not {states} but {seen}\n{log}\n{self._site.outputs()}")
        return task

    def wait_for_run(self, state):
        """Waits until the run as a whole is in this state, which the scheduler gives it after its task's end."""
        path = f"/api/v2/dags/{self.dag}/dagRuns/{self.run_id}"
        found = machine.wait_until(lambda: self._site.call("GET", path)["state"] == state, COMMAND_SECONDS, 0.25)
        if not found:
            raise AssertionError(f"the run {self.run_id} of {self.dag} is not {state}\n{self._site.outputs()}")

    def log(self, attempt=1):
        """The lines of an attempt's log."""
        return [line.get("event", line) for line in self.get(f"/logs/{attempt}")["content"]]

    def mark(self, state):
        """What the button "mark as" does."""
        self._site.call("PATCH", self.path, {"new_state": state})

    def clear(self):
        """What the button "clear" does."""
        body = {"dag_run_id": self.run_id, "task_ids": ["train"], "dry_run": False, "only_failed": False}
        self._site.call("POST", f"/api/v2/dags/{self.dag}/clearTaskInstances", body)

    def summary(self):
        """The task's result."""
        value = self.get("/xcomEntries/return_value?deserialize=false")["value"]
        return json.loads(value) if isinstance(value, str) else value


def _home(site):
    """An installation whose programs are the site's."""
    home = site.folder / "home"
    home.mkdir()
    (home / "bin").symlink_to(site.programs)
    return home


def _installed_provider(folder):
    """A folder for Python's path with the package `tony` and its entry points, as pip would install them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{project['name']}-0.dist-info"
    info.mkdir(parents=True)
    (folder / "tony").symlink_to(ROOT / "python/tony")
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    info.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
