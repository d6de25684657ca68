"""Which processes of a job are which."""

import machine
import tony_cli

# How long a process that is about to be started may take to show itself.
_APPEAR_SECONDS = 10


class JobProcesses:
    """The processes of one job by what they are. Not thread safe."""

    def __init__(self, job, victim, bystander):
        """`victim` and `bystander` are the names of tasks."""
        self._job = job
        self.victim = victim
        self._bystander = bystander

    def find(self, name):
        """The ids of a target of the table; of one that is about to be, when it is there."""
        finder = {
            "client": self._client,
            "am": self._masters,
            "detached-am": lambda: self._detached(kept=True),
            "am-keeper": lambda: self._detached(kept=False),
            "executor": lambda: self._of_container(self.victim, "tony-executor"),
            "ended-executor": lambda: self._of_container(self._bystander, "tony-executor"),
            "keeper": lambda: self._of_container(self.victim, "tony-keeper"),
            "executor-tree": self._executor_tree,
            "program": lambda: self._program(self.victim),
            "fork-server": self._fork_server,
            "driver": lambda: self._program("driver:0"),
            "everything": self._everything,
        }[name]
        patience = 0 if name == "everything" or self._stopping() else _APPEAR_SECONDS
        return machine.wait_until(finder, patience)

    def container_of(self, task):
        """The newest container of a task; empty before it has one."""
        container = ""
        for change in self._job.events("task_changed"):
            if tony_cli.task_name(change["task"]) == task:
                container = change.get("container", container)
        return container

    def _stopping(self):
        return any(
            change["state"] in ("STOPPING", "ENDED")
            for change in self._job.events("state_changed")
        )

    def _processes(self, words):
        return {
            pid: command
            for pid, command in self._all().items()
            if words in command
        }

    def _all(self):
        return machine.processes_with(self._job.id)

    def _client(self):
        """Nothing but its parent tells whose client it is."""
        return [self._job.client.pid] if self._job.client.poll() is None else []

    def _masters(self):
        return machine.programs_of(self._job.id, "tony-am")

    def _detached(self, kept):
        """The ApplicationMaster of a detached job is the child of its keeper, a process like it."""
        masters = self._masters()
        return [pid for pid in masters if (machine.parent_of(pid) in masters) == kept]

    def _of_container(self, task, name):
        container = self.container_of(task)
        if not container:
            return []
        found = self._processes(container)
        return [pid for pid in found if machine.name_of(pid) == name]

    def _executor_tree(self):
        """The program's first, the executor last: nobody sees how those below are stopped."""
        container = self.container_of(self.victim)
        return sorted(machine.processes_with(container), reverse=True) if container else []

    def _program(self, task):
        pid = 0
        for change in self._job.events("task_changed"):
            if tony_cli.task_name(change["task"]) == task:
                pid = int(change.get("pid", 0))
        return [pid] if pid else []

    def _fork_server(self):
        # A child that it has just forked shows the same command line for a moment, but is younger.
        return sorted(self._processes("--fork-server"))[:1]

    def _everything(self):
        return self._client() + [
            pid
            for pid in self._all()
            if (machine.name_of(pid) or "").startswith("tony-")
        ]
