"""The hook: which tony a connection means, and its command lines."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from typing import Any, Mapping, Sequence

from tony._programs import SUBMIT, TONY, find_programs
from tony.airflow._compat import AirflowException, AirflowNotFoundException, BaseHook
from tony.errors import ProgramsNotFound

_VERB_SECONDS = 30
_ENDS = ("FAILED", "KILLED", "LOST", "REMOVED", "NONE")  # besides SUCCEEDED


class TonyHook(BaseHook):
    """A tony installation, and where its jobs run.

    A connection's extra field is a JSON object with these members, none of which is needed:

    - ``home``: the folder of the installation, whose ``bin`` has the programs. Otherwise they are those of
      ``$TONY_HOME``, of the package, or on the PATH.
    - ``backend``: ``local`` or ``yarn``.
    - ``conf``: keys for all jobs, e.g. ``{"tony.local.dir": "/data/tony"}``.
    - ``environment``: variables for tony's programs, e.g. ``HADOOP_CONF_DIR``.

    Without the connection ``tony_default``, everything has its default.
    """

    conn_name_attr = "tony_conn_id"
    default_conn_name = "tony_default"
    conn_type = "tony"
    hook_name = "tony"

    def __init__(self, tony_conn_id: str = default_conn_name, settings: Mapping[str, Any] | None = None) -> None:
        """``settings``: a connection's members that another hook has read, where no connection can be read."""
        super().__init__()
        self.tony_conn_id = tony_conn_id
        self._settings = None if settings is None else dict(settings)

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """The connection's form: only the extra field counts."""
        return {
            "hidden_fields": ["host", "schema", "login", "password", "port"],
            "relabeling": {},
            "placeholders": {"extra": json.dumps({"home": "/opt/tony", "backend": "local", "conf": {}})},
        }

    @property
    def settings(self) -> dict[str, Any]:
        """The connection's members. AirflowException: they are not what a connection may have."""
        if self._settings is None:
            self._settings = self._read_connection()
        return self._settings

    def _read_connection(self) -> dict[str, Any]:
        try:
            connection = self.get_connection(self.tony_conn_id)
        except AirflowNotFoundException:
            if self.tony_conn_id != self.default_conn_name:
                raise
            return {}
        where = f"the connection {self.tony_conn_id}"
        try:
            settings = json.loads(connection.extra or "{}")
        except ValueError as error:
            raise AirflowException(f"the extra field of {where} is no JSON: {error}") from error
        kinds = {"home": str, "backend": str, "conf": dict, "environment": dict}
        if not isinstance(settings, dict):
            raise AirflowException(f"the extra field of {where} must be a JSON object with any of {', '.join(kinds)}")
        for name, value in settings.items():
            if name not in kinds:
                raise AirflowException(f"{where} has an unknown member {name!r}; known are {', '.join(kinds)}")
            if not isinstance(value, kinds[name]):
                raise AirflowException(f"{where}: {name} must be of the type {kinds[name].__name__}, not {value!r}")
        return settings

    def program(self, name: str) -> str:
        """The path of tony's program ``name``. AirflowException: it is not there."""
        try:
            return os.path.join(find_programs(self.settings.get("home")), name)
        except ProgramsNotFound as error:
            hint = f'or name its folder in the extra field of the connection {self.tony_conn_id}: {{"home": "/opt/tony"}}'
            raise AirflowException(f"{error}; {hint}") from error

    @property
    def environment(self) -> dict[str, str]:
        """The environment of tony's programs."""
        return {**os.environ, **{name: str(value) for name, value in self.settings.get("environment", {}).items()}}

    def step_command(self, key: str, on_existing: str, arguments: Sequence[str]) -> list[str]:
        """The command of a client of the step ``key``, whose job the further ``arguments`` describe."""
        # Airflow 3 kills the task 5 s after its on_kill().
        step = ["--step", "--step-key", key, "--on-existing", on_existing, "--stop-wait", "4s"]
        return [self.program(SUBMIT), *step, *self.options, *arguments]

    @property
    def options(self) -> list[str]:
        """The connection's options for any command."""
        backend = self.settings.get("backend")
        return [*(["--backend", backend] if backend else []), *conf_options(self.settings.get("conf", {}))]

    def verb(self, *arguments: str) -> list[str]:
        """The command of a verb of ``tony``."""
        return [self.program(TONY), *arguments, *self.options]

    def status(self, application_id: str) -> dict[str, Any]:
        """What ``tony status --json`` says of a job. AirflowException: there is no such job, or nobody can say."""
        return dict(self._run_json("status", application_id, "--json"))

    async def status_async(self, application_id: str) -> dict[str, Any]:
        """As status(), for a trigger."""
        return await asyncio.to_thread(self.status, application_id)

    def step_state(self, key: str) -> str:
        """The state of a step's last job: ``ACTIVE``; ``UNREPORTED``, a success of which no attempt has told; or
        ``OVER``. AirflowException: nobody can say."""
        for step in self._run_json("steps", "--json"):
            if step["step_key"] == key:
                if step["state"] == "SUCCEEDED":
                    return "OVER" if step["reported"] else "UNREPORTED"
                return "OVER" if step["state"] in _ENDS else "ACTIVE"
        return "OVER"

    def stop(self, application_id: str, wait_seconds: int = _VERB_SECONDS) -> None:
        """Stops a job and waits for its end for at most so long. AirflowException: that could not be asked for."""
        self._run("kill", application_id, "--wait", str(wait_seconds), deadline_seconds=wait_seconds + _VERB_SECONDS)

    def test_connection(self) -> tuple[bool, str]:
        """Whether the programs are there, and their version; for the button of the connection's form."""
        try:
            return True, self._run("--version").strip()
        except AirflowException as error:
            return False, str(error)

    def _run_json(self, *arguments: str) -> Any:
        text = self._run(*arguments)
        try:
            return json.loads(text)
        except ValueError as error:
            raise AirflowException(f"tony {arguments[0]} printed no JSON: {error}") from error

    def _run(self, *arguments: str, deadline_seconds: float = _VERB_SECONDS) -> str:
        # --version takes no further options.
        command = [self.program(TONY), *arguments] if arguments[0].startswith("-") else self.verb(*arguments)
        try:
            result = subprocess.run(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=deadline_seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AirflowException(f"tony {arguments[0]}: {error}") from error
        if result.returncode != 0:
            raise AirflowException(
                f"tony {' '.join(arguments)} ended with {result.returncode}: {result.stderr.strip() or result.stdout.strip()}"
            )
        return result.stdout


def conf_options(conf: Mapping[str, Any]) -> list[str]:
    """The options that set keys; a bool is written as tony's keys want it."""
    return [
        word
        for name, value in conf.items()
        for word in ("--conf", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    ]
