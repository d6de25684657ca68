"""The faults that are injected into processes."""

import os
import signal
import threading

import machine

# Between SIGSTOP and SIGCONT.
_STOP_SECONDS = (0.05, 0.6)
_STOP_EVENTS = (1, 6)
_AGAIN_SECONDS = 20
# One that comes back from this was taken for lost long ago; one that only waits for a processor is
# not.
FOR_GOOD_CONF = ("tony.task.heartbeat-interval-ms=50", "tony.task.max-missed-heartbeats=40")
CONF = {
    "stop-for-good": FOR_GOOD_CONF,
    "kill-for-good": ("tony.am.max-restarts=0",),
    "wake-late": (*FOR_GOOD_CONF, "tony.container.kill.timeout=200"),
}


def _signal(pids, number):
    """Returns how many were there to receive it."""
    reached = 0
    for pid in pids:
        try:
            os.kill(pid, number)
            reached += 1
        except ProcessLookupError:
            pass
    return reached


class Fault:
    """Does to a job what a row of the table says. Not thread safe."""

    def __init__(self, row, job, processes, random, withheld=None):
        """`withheld` is the switch of the job's site for "wake-late"."""
        self._row = row
        self._withheld = withheld
        self._job = job
        self._processes = processes
        self._random = random
        # Drawn first, so that they are the same however the job goes.
        self._stop_seconds = random.uniform(*_STOP_SECONDS)
        self._stop_events = random.randint(*_STOP_EVENTS)
        self._executor_wakes_first = random.random() < 0.5

    def inflict(self):
        """Returns how many processes were there to be harmed; none where they had ended already."""
        return {
            "nothing": lambda: 1,
            "few": lambda: 1,
            "full": lambda: 1,
            "full-for-a-while": lambda: 1,
            "kill": self._kill,
            "kill-for-good": self._kill,
            "kill-twice": self._kill_twice,
            "kill-again": self._kill_again,
            "terminate": self._terminate,
            "interrupt": lambda: _signal(self._targets(), signal.SIGINT),
            "stop": self._stop,
            "stop-and-kill": self._stop_and_kill,
            "stop-for-good": lambda: _signal(self._targets(), signal.SIGSTOP),
            "wake-late": self._wake_late,
        }[self._row.what]()

    def _targets(self):
        found = []
        for name in self._row.targets:
            if name != "neighbour":
                found += self._processes.find(name)
        return found

    def _kill(self):
        reached = _signal(self._targets(), signal.SIGKILL)
        if "everything" in self._row.targets:
            # Processes that the targets were starting at that moment.
            while _signal(self._targets(), signal.SIGKILL):
                pass
        if "driver" in self._row.targets:
            # Ranks that have met need it no more: they are not to end well before it is missed.
            self._job.wait_for(
                lambda events: any("epoch_opened" in event or "ended" in event for event in events),
                "end of the attempt",
            )
        return reached

    def _terminate(self):
        """Told to end, and has done so."""
        targets = self._targets()
        reached = _signal(targets, signal.SIGTERM)
        machine.wait_until(lambda: not any(map(machine.parent_of, targets)), _AGAIN_SECONDS)
        return reached

    def _kill_twice(self):
        """The one that takes over is killed, too."""
        first = self._targets()
        reached = _signal(first, signal.SIGKILL)
        second = machine.wait_until(
            lambda: [pid for pid in self._targets() if pid not in first], _AGAIN_SECONDS
        )
        return reached + _signal(second, signal.SIGKILL)

    def _kill_again(self):
        """In the next epoch the same task is hit once more."""
        reached = _signal(self._targets(), signal.SIGKILL)
        self._job.wait_for_task(self._processes.victim, "RUNNING", epoch=1)
        return reached + _signal(self._targets(), signal.SIGKILL)

    def _stop(self):
        """Until some events have come or some time has passed."""
        targets = self._targets()
        reached = _signal(targets, signal.SIGSTOP)
        try:
            wanted = len(self._job.events("sequence")) + self._stop_events
            self._job.wait_for(
                lambda events: len(events) >= wanted, "further events", self._stop_seconds
            )
        except AssertionError:
            pass  # the time has passed
        _signal(targets, signal.SIGCONT)
        return reached

    def _stop_and_kill(self):
        """It hears nothing for a while, and never will."""
        targets = self._targets()
        reached = _signal(targets, signal.SIGSTOP)
        threading.Event().wait(self._stop_seconds / 3)
        _signal(targets, signal.SIGKILL)
        return reached

    def _wake_late(self):
        """Taken for lost, but not killed; awake when its task runs elsewhere. It has to end itself."""
        targets = self._targets()
        self._withheld.begin()
        reached = _signal(targets, signal.SIGSTOP)
        self._job.wait_for_task(self._processes.victim, "RUNNING", epoch=1)
        order = reversed(targets) if self._executor_wakes_first else targets
        _signal(order, signal.SIGCONT)
        machine.wait_until(lambda: not any(map(machine.lives, targets)), _AGAIN_SECONDS)
        alive = [pid for pid in targets if machine.lives(pid)]
        self._withheld.end()
        if alive:
            raise AssertionError(f"awake, and not ended by themselves: {alive}")
        return reached
