"""The trigger: follows a job in the triggerer, without a worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import Any, AsyncIterator, Mapping

from airflow.triggers.base import BaseTrigger, TriggerEvent

from tony.airflow._client import STOP_SECONDS
from tony.airflow._compat import AirflowException, waits_for
from tony.airflow.hooks import TonyHook

# Airflow's database may be busy; one of SQLite lets nobody else in while somebody writes.
_STATE_SECONDS, _STATE_PAUSE_SECONDS = 20.0, 0.5


class TonyTrigger(BaseTrigger):
    """Waits for the end of a job, by ``tony attach``; its event says how the job ended.

    With ``owner=True`` this process is the job's client: the job's lease runs only while no triggerer follows it, and
    the job is stopped when a user ends the deferred task. Airflow tells of that from 3.3 on (``on_kill``). Before, the
    trigger looks at the state of the task when it is cancelled.
    """

    def __init__(self, application_id: str, settings: Mapping[str, Any], owner: bool = False, stop: bool = True) -> None:
        """``settings``: the members of the connection. ``stop``: a user's end of the task also is the job's."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.application_id = application_id
        self.settings = dict(settings)
        self.owner = owner
        self.stop = stop
        self._process: asyncio.subprocess.Process | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """See BaseTrigger."""
        return (
            "tony.airflow.triggers.TonyTrigger",
            {
                "application_id": self.application_id,
                "settings": self.settings,
                "owner": self.owner,
                "stop": self.stop,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yields one event: what ``tony status --json`` says of the ended job, or ``error``."""
        hook = TonyHook(settings=self.settings)
        try:
            status = await self._wait_for_end(hook)
        except (AirflowException, OSError) as error:
            status = {"id": self.application_id, "state": "UNKNOWN", "error": str(error)}
        event = {name: status.get(name) for name in ("id", "state", "verdict", "sentence", "error")}
        yield TriggerEvent(event)  # type: ignore[no-untyped-call]

    async def _wait_for_end(self, hook: TonyHook) -> dict[str, Any]:
        """Follows the job until it is over. AirflowException: what becomes of the job is not known."""
        await self._follow(hook)
        status = await hook.status_async(self.application_id)
        if status.get("alive"):  # the client was ended, and not the job
            raise AirflowException(f"tony attach {self.application_id} ended before the job, see the lines above")
        return status

    async def _follow(self, hook: TonyHook) -> None:
        # A triggerer that is killed takes its client along, so that the lease runs until another one follows the job.
        words = ["--leave-with", str(os.getpid()), *(["--owner"] if self.owner else [])]
        command = hook.verb("attach", self.application_id, *words)
        self._process = await asyncio.create_subprocess_exec(
            *command,
            env=hook.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.log.info("%s", line.decode(errors="replace").rstrip())
        await self._process.wait()

    async def on_kill(self) -> None:
        """Stops the job. Airflow 3.3 and later call this when a user marks or clears the deferred task."""
        if self.owner and self.stop:
            await self._end(signal.SIGTERM)

    async def cleanup(self) -> None:
        """Ends the client. The job goes on for another triggerer, unless the task no longer waits for it."""
        if self._process is None or self._process.returncode is not None:
            return
        if self.owner and self.stop and await self._was_ended():
            await self._end(signal.SIGTERM)
        await self._end(signal.SIGKILL)

    async def _was_ended(self) -> bool:
        """Whether a user, or a time limit, has ended the task."""
        deadline = time.monotonic() + _STATE_SECONDS
        while True:
            try:
                return self.task_instance is not None and not await waits_for(self.task_instance, self.trigger_id)
            except Exception as error:  # pylint: disable=broad-exception-caught  # of Airflow's database or its server
                if time.monotonic() > deadline:
                    self.log.warning("job %s goes on, as the state of the task cannot be read: %s", self.application_id, error)
                    return False
            await asyncio.sleep(_STATE_PAUSE_SECONDS)

    async def _end(self, number: int) -> None:
        """Sends the client a signal, and waits for its end for a short time."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        self.log.info("telling the client of job %s to end (%s)", self.application_id, signal.Signals(number).name)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
