"""The job of a cluster's nodes: its description, and following it from its start to its end."""

import threading
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Set

from .._call import PreparedCall, Request
from .._job import Job
from ..errors import InfrastructureError, TonyError
from ..records import Event
from ..spec import Type, Value
from . import _node, _roles

# Evaluators serve, as parameter servers do: the job does not wait for them.
_UNTRACKED = "tony.application.untracked.jobtypes"
_STARTED = ("RUNNING", "SUCCEEDED", "FAILED", "STOPPED")
# For the answer of a job that was asked to stop.
_STOP_SECONDS = 60


class NodesRequest(NamedTuple):
    """What the nodes of a cluster are to run."""

    map_fun: Callable[..., Any]
    tf_args: Any
    roles: Dict[str, int]
    plan: _node.Plan
    python: str
    backend: str
    conf: Mapping[str, Value]
    alone: bool = False  # each node's TensorFlow is alone (TFParallel)


class PreparedNodes(PreparedCall):
    """The files of the nodes' job. Nodes on other hosts leave no results here: their last lines have the traceback."""

    def __init__(self, request: NodesRequest) -> None:
        self.nodes = _roles.nodes_of(request.roles)
        self._roles = request.roles
        self._first = request.plan.first
        name = getattr(request.map_fun, "__qualname__", type(request.map_fun).__name__).split(".")[-1]
        serving = ",".join(role for role in request.roles if role in _roles.SERVING)
        conf = {**({_UNTRACKED: serving} if serving else {}), **request.conf}
        super().__init__(
            _node.run_alone if request.alone else _node.run, (),
            {"map_fun": request.map_fun, "tf_args": request.tf_args, "plan": request.plan},
            Request(len(self.nodes), None, None, None, None, request.python, None, name, None, None, request.backend,
                    conf))

    def _check_results(self) -> None:
        pass

    @property
    def results(self) -> str:
        return super().results if self.backend == "local" else "."

    def tasks(self) -> List[str]:
        return [node.task for node in self.nodes]

    def awaited(self) -> List[int]:
        return [node.number for node in _roles.trained_by(self.nodes)] if self.backend == "local" else []

    def types(self) -> Dict[str, Type]:
        return {role: Type(count, command=self.command(self._first[role])) for role, count in self._roles.items()}


class RunningNodes:
    """The job of a cluster, followed by a thread. Thread safe."""

    def __init__(self, prepared: PreparedNodes, job: Job) -> None:
        self.job = job
        self.nodes = prepared.nodes
        self.backend = prepared.backend
        self._prepared = prepared
        self._changed = threading.Condition()
        self._started: Set[str] = set()
        self._succeeded: Set[str] = set()
        self._ended = False
        self._values: List[Any] = []
        self._failure: Optional[Exception] = None
        threading.Thread(target=self._follow, name="tony-cluster", daemon=True).start()

    def _follow(self) -> None:
        try:
            for event in self.job.events(follow=True):
                self._take(event)
        except TonyError:
            pass  # the verdict says why
        values: List[Any] = []
        failure: Optional[Exception] = None
        try:
            values = self._prepared.collect(self.job.id, self.job.wait())
        except Exception as error:  # pylint: disable=broad-except  # also what a node's program raised
            failure = error
        self._prepared.remove()
        with self._changed:
            self._ended, self._values, self._failure = True, values, failure
            self._changed.notify_all()

    def _take(self, event: Event) -> None:
        if event.kind != "task_changed" or event.data.get("state") not in _STARTED:
            return
        task = event.data.get("task", {})
        name = f"{task.get('type')}:{task.get('index', 0)}"
        with self._changed:
            self._started.add(name)
            if event.data["state"] == "SUCCEEDED":
                self._succeeded.add(name)
            else:
                self._succeeded.discard(name)  # it was started again
            self._changed.notify_all()

    def _await(self, what: Callable[[], bool], timeout: Optional[float]) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not what():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def await_started(self, timeout: float) -> None:
        """Waits until all nodes run. Raises what a node raised meanwhile, and TimeoutError after `timeout` seconds."""
        wanted = {node.task for node in self.nodes}
        if not self._await(lambda: self._ended or wanted <= self._started, timeout):
            with self._changed:
                missing = sorted(wanted - self._started)
            self.job.ask_to_stop()
            raise TimeoutError(f"after {timeout:g} s these nodes of job {self.job.id} do not run yet: "
                               f"{', '.join(missing)}; is there room for them? tony status {self.job.id} says what the "
                               "job waits for, and reservation_timeout is how long run() waits")
        self.check()

    def await_end(self, timeout: Optional[float] = None) -> bool:
        """Waits for the job's end, however it is; False after `timeout` seconds."""
        return self._await(lambda: self._ended, timeout)

    def has_succeeded(self, task: str) -> bool:
        """Whether a node has ended well."""
        with self._changed:
            return task in self._succeeded

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        with self._changed:
            return self._ended

    @property
    def failed(self) -> bool:
        """Whether the job has ended badly: check() raises then."""
        with self._changed:
            return self._failure is not None

    def check(self) -> None:
        """Raises what a node raised, or how the job ended badly. Nothing if it runs, or ended well."""
        with self._changed:
            if self._failure is not None:
                raise self._failure

    def values(self) -> List[Any]:
        """What map_fun returned in the nodes that train, by their numbers. For a job that has ended well."""
        self.check()
        return self._values

    def stop(self) -> None:
        """Ends the job, and waits for its end."""
        self.job.ask_to_stop()
        if not self.await_end(_STOP_SECONDS):
            raise InfrastructureError(f"job {self.job.id} goes on {_STOP_SECONDS} s after it was asked to stop; "
                                      f"tony kill {self.job.id} ends it", self.job.id)
