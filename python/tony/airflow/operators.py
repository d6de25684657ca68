"""The operator: a job as a task of a DAG."""

from __future__ import annotations

import os
import signal
from typing import Any, Callable, Mapping, NoReturn, Sequence

from tony.airflow._client import StepClient, Summary, step_key
from tony.airflow._compat import (
    AirflowException,
    AirflowFailException,
    BaseOperator,
    Context,
    ResumableJobMixin,
    default_deferrable,
)
from tony.airflow.hooks import TonyHook, conf_options
from tony.airflow.links import LINKS, TonyPageLink, TonyTensorBoardLink
from tony.airflow.triggers import TonyTrigger

# Exit codes of tony-submit that another try would only repeat.
_BAD_USAGE, _NEVER_FITS = 2, 5


class TonyOperator(ResumableJobMixin, BaseOperator):
    """Runs a tony job and ends as it does. The task's result (XCom) is the job's summary.

    A task never has two jobs at once: the step key, ``airflow|DAG|TASK|RUN|MAP INDEX``, is the same for all attempts.
    An attempt that finds the job of an earlier one follows it. A success that an earlier attempt could not report is
    reported. After a failure, the next attempt's job gets the checkpoint folder of the last one. See docs/workflows.md.

    :param job: the job file, or a dict of keys (templated)
    :param command: what each task of the job runs (templated)
    :param conf: keys, stronger than the job file's (templated)
    :param src_dir: folder or archive with the program (templated)
    :param python_venv: virtual environment of the job's tasks (templated)
    :param env: variables for the job's tasks (templated)
    :param arguments: further options of tony-submit (templated)
    :param backend: ``local`` or ``yarn``; otherwise the connection's
    :param tony_conn_id: the connection; see TonyHook
    :param on_existing: what to do with a running job of an earlier attempt: ``adopt``, ``stop`` it and start anew, or
        ``fail``
    :param on_kill_action: what becomes of the job when Airflow ends the task: ``stop``, or ``keep``, with which it
        goes on for ``tony.client.lease`` and waits for the next attempt. Airflow does not say whether a user or the
        shutdown of a worker ends a task.
    :param deferrable: wait in the triggerer. The job then must be reachable from there: its machine is the worker's
        machine, or the job runs on YARN.
    """

    template_fields: Sequence[str] = ("job", "command", "conf", "src_dir", "python_venv", "env", "arguments")
    template_fields_renderers = {"conf": "json", "env": "json", "command": "bash"}
    operator_extra_links = (TonyPageLink(), TonyTensorBoardLink())
    external_id_key = "tony_application_id"
    ui_color = "#e8f0fb"

    def __init__(
        self,
        *,
        job: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        command: str | None = None,
        conf: Mapping[str, Any] | None = None,
        src_dir: str | None = None,
        python_venv: str | None = None,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        backend: str | None = None,
        tony_conn_id: str = TonyHook.default_conn_name,
        on_existing: str = "adopt",
        on_kill_action: str = "stop",
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        _check_choice("on_existing", on_existing, ("adopt", "stop", "fail"))
        _check_choice("on_kill_action", on_kill_action, ("stop", "keep"))
        self.job = os.fspath(job) if isinstance(job, os.PathLike) else job
        self.command = command
        self.conf = conf
        self.src_dir = src_dir
        self.python_venv = python_venv
        self.env = env
        self.arguments = arguments
        self.backend = backend
        self.tony_conn_id = tony_conn_id
        self.on_existing = on_existing
        self.on_kill_action = on_kill_action
        self.deferrable = default_deferrable() if deferrable is None else deferrable
        self._client: StepClient | None = None
        self._result: Summary | None = None
        self._pushed: dict[str, str] = {}
        self._killed = False
        self._resumed = False  # this process follows up on a trigger

    # ---- an attempt

    def execute(self, context: Context) -> Any:
        """Runs the job, or follows the one that an earlier attempt has left; returns the summary.

        AirflowException: the job failed, or was stopped. AirflowFailException: another try would fail as well.
        """
        if self.deferrable:
            return self._submit_and_defer(context)
        return self.execute_resumable(context)

    def execute_complete(self, context: Context, event: Mapping[str, Any], adopted: bool = False) -> Any:
        """Called with the trigger's event: reports what became of the job.

        ``adopted``: the job was an earlier attempt's. Airflow may start the next attempt of a cleared task before it
        tells the earlier trigger, which then stops the job that this attempt has found. So a job that was adopted and
        killed counts as one that was stopping: its end was waited for, and a fresh one follows.
        """
        if adopted and event.get("state") == "KILLED":
            self.log.info("job %s was stopped for the earlier attempt, so another one is submitted", event["id"])
            return self._submit_and_defer(context)
        self._resumed = True
        if event.get("error"):
            raise AirflowException(f"job {event['id']}: {event['error']}")
        verdict = event.get("verdict") or {}
        if verdict.get("outcome") == "SUCCEEDED":
            # The step's next client reports the success, and has the whole summary.
            return self.get_job_result(event["id"], context)
        sentence = verdict.get("sentence") or event.get("sentence")
        _raise_failure(f"job {event['id']} ended: {event['state']}: {sentence}", verdict.get("exit_code"))

    def on_kill(self) -> None:
        """Called by Airflow in a signal handler; returns at once, so that the interrupted execute() reads the last
        lines, and raises."""
        self._killed = True
        if self._client is None:
            return
        if self.on_kill_action == "keep":
            self._client.leave()
        else:
            self._client.stop()

    # ---- Airflow 3.3's own memory of the job. tony's step key decides in all versions, so each way ends in _run().

    def submit_job(self, context: Context) -> str:
        """Starts the step's client; returns the job's id, or nothing if there is no job."""
        client = self._start(context)
        self._follow(client, until=lambda: client.application_id is not None)
        return client.application_id or ""

    def get_job_status(self, external_id: Any, context: Context) -> str:
        """The state of the step's last job: ``ACTIVE``, ``UNREPORTED`` – a success – or ``OVER``."""
        return self._hook().step_state(_key_of(context["ti"]))

    def is_job_active(self, status: str) -> bool:
        """Whether there still is a job to be followed."""
        return status == "ACTIVE"

    def is_job_succeeded(self, status: str) -> bool:
        """Whether there is a success to be reported. A reported one counts no more: somebody wants another run."""
        return status == "UNREPORTED"

    def poll_until_complete(self, external_id: Any, context: Context) -> Any:
        """Follows the job to its end; returns its summary."""
        return self._run(context)

    def get_job_result(self, external_id: Any, context: Context) -> Any:
        """The summary of the job."""
        return self._result if self._result is not None else self._run(context)

    # ---- the client

    def _run(self, context: Context) -> Summary:
        """Follows the job to its end, by the client that submitted it or by a new one; returns its summary."""
        client = self._client or self._start(context)
        self._result = self._finish(client, self._follow(client))
        return self._result

    def _submit_and_defer(self, context: Context) -> Any:
        client = self._start(context)
        code = self._follow(client, until=lambda: client.application_id is not None)
        if code is None:
            # The trigger is the job's next client. The job's lease bridges the time until then.
            client.leave()
            code = self._follow(client)
        # Whoever left just as the job ended knows the verdict, but not the code: the trigger hears both.
        left = code == -signal.SIGKILL
        if client.application_id is None or (client.summary.get("verdict") and not left):
            return self._finish(client, code)
        client.close()
        self.defer(
            trigger=TonyTrigger(
                application_id=client.application_id,
                settings=self._hook().settings,
                owner=True,
                stop=self.on_kill_action == "stop",
            ),
            method_name="execute_complete",
            kwargs={"adopted": bool(client.summary.get("adopted"))},
            timeout=self.execution_timeout,
        )

    def _start(self, context: Context) -> StepClient:
        ti = context["ti"]
        hook = self._hook()
        command = hook.step_command(_key_of(ti), self.on_existing, self._job_arguments())
        client = StepClient(
            command,
            hook.environment,
            on_line=lambda line: self.log.info("%s", line),
            on_summary=lambda summary: self._push_links(ti, summary),
        )
        # Not the whole command: a variable of the job may be secret.
        self.log.info("%s runs step %s", command[0], _key_of(ti))
        try:
            client.start()
        except OSError as error:
            raise AirflowException(f"{command[0]} cannot be started: {error}") from error
        self._client = client
        if self._killed:  # before there was a client to be told
            self.on_kill()
        return client

    def _follow(self, client: StepClient, until: Callable[[], bool] = lambda: False) -> int | None:
        """StepClient.follow(), which ends by an exception when Airflow ends the task."""
        try:
            code = client.follow(until)
        except BaseException:  # a time limit of the task; in Airflow 2 also the end of the task
            if not client.was_ended:
                client.stop()
            client.follow()
            client.close()
            raise
        if self._killed:
            client.close()
            fate = "was told to stop" if self.on_kill_action == "stop" else "waits for another attempt"
            raise AirflowException(f"Airflow has ended the task; job {client.application_id} {fate}")
        return code

    def _finish(self, client: StepClient, code: int | None) -> Summary:
        """The summary of a job that succeeded. AirflowException: it did not."""
        client.close()
        if code == 0:
            return client.summary
        sentence = client.summary.get("sentence") or "see the lines above"
        _raise_failure(f"job {client.application_id} failed, tony-submit ended with {code}: {sentence}", code)

    def _job_arguments(self) -> list[str]:
        """The options of tony-submit that describe the job."""
        keys = {**(self.job if isinstance(self.job, Mapping) else {}), **(self.conf or {})}
        options = [("--executes", self.command), ("--src_dir", self.src_dir), ("--python_venv", self.python_venv)]
        words = [word for option, value in options if value for word in (option, value)]
        words += conf_options(keys)
        for name, value in (self.env or {}).items():
            words += ["--shell_env", f"{name}={value}"]
        words += self.arguments
        return [*words, self.job] if isinstance(self.job, str) else words

    def _push_links(self, ti: Any, summary: Summary) -> None:
        """Pushes the links that are new. A link that a job lacks is empty, unless an earlier client knew it."""
        for key, member in LINKS.items():
            link = summary.get(member) or ("" if not self._resumed else None)
            if link is not None and (link or key not in self._pushed) and self._pushed.get(key) != link:
                try:
                    ti.xcom_push(key=key, value=link)
                except Exception as error:  # pylint: disable=broad-exception-caught  # of Airflow's database or server
                    self.log.warning("no button for %s %s yet, the job goes on: %s", member, link, error)
                else:
                    self._pushed[key] = link

    def _hook(self) -> TonyHook:
        """The connection's hook, with what this task's own keys say about the place of jobs."""
        settings = dict(TonyHook(self.tony_conn_id).settings)
        if self.backend:
            settings["backend"] = self.backend
        own = {**(self.job if isinstance(self.job, Mapping) else {}), **(self.conf or {})}
        if "tony.local.dir" in own:
            settings["conf"] = {**settings.get("conf", {}), "tony.local.dir": own["tony.local.dir"]}
        return TonyHook(self.tony_conn_id, settings)


def _key_of(ti: Any) -> str:
    return step_key(ti.dag_id, ti.task_id, ti.run_id, getattr(ti, "map_index", -1))


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _raise_failure(sentence: str, exit_code: int | None) -> NoReturn:
    if exit_code in (_BAD_USAGE, _NEVER_FITS):
        raise AirflowFailException(sentence)
    raise AirflowException(sentence)
