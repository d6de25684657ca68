"""Nodes inside Spark's executors: this process is the launcher of their job (docs/design/launcher.md).

A thread takes the ApplicationMaster's orders, and carries them out by Spark jobs.
"""

import functools
import hashlib
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set

from .. import _launcher, _programs
from .._job import Job, submit
from .._launcher import Order
from ..spec import JobSpec
from . import _spark_task

_log = logging.getLogger(__name__)
_DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"
_BUNDLE = "tony-runtime.tar.gz"
# The bundle's name among Spark's files. Spark itself unpacks files whose names end with .tar.gz: for nothing, in the
# driver and in each of its executors.
_SHIPPED_BUNDLE = "tony-runtime.bundle"
# Between two looks at the socket and at Spark's executors.
_PAUSE = 0.2
# Between two placing jobs that have not placed everything.
_PLACING_PAUSE = 0.3
_NOTICE_SECONDS = 5.0
_MOST_KILLS = 20

# The folders of files for Spark's executors, until this process ends.
_folders: "List[tempfile.TemporaryDirectory[str]]" = []
# The copies of the runtime bundle, by its digest.
_bundles: Dict[str, str] = {}


class _Node(NamedTuple):
    """A started node."""

    executor: str
    host: str
    pid: int
    start: int


def is_local(sc: Any) -> bool:
    """Whether Spark's executor is the driver itself."""
    master: str = sc.master
    return master == "local" or master.startswith("local[")


def is_dynamic(sc: Any) -> bool:
    """Whether Spark ends executors that have no work of its own."""
    return str(sc.getConf().get(_DYNAMIC_ALLOCATION, "false")).lower() == "true"


def cause_of(error: BaseException) -> str:
    """An error of Spark in one line: py4j's text begins with a line that says nothing, and ends with Java's stack."""
    lines = [line.strip() for line in str(error).splitlines()]
    found = [line for line in lines if line and not line.startswith(("An error occurred", "at ", "Driver stacktrace"))]
    return found[0].lstrip(": ") if found else type(error).__name__


def warn_of_few_cores(sc: Any) -> None:
    """A node that is to be placed again needs a free core, and a partition that waits for the node holds one."""
    master: str = sc.master
    # A standalone master's executors have all cores of their machine by default, those of YARN and Kubernetes one.
    cores = "1" if master.startswith(("yarn", "k8s")) else ""
    cluster_of_this_machine = re.fullmatch(r"local-cluster\[ *\d+ *, *(\d+) *,.*", master)
    if cluster_of_this_machine:
        cores = cluster_of_this_machine[1]
    cores = str(sc.getConf().get("spark.executor.cores", cores))
    needed = 2 * int(sc.getConf().get("spark.task.cpus", "1"))
    if cores.isdigit() and int(cores) < needed:
        _log.warning("Spark's executors have room for one task at a time (spark.executor.cores=%s): a lost node is placed "
                     "again only when no partition is being fed; give them %d cores or more", cores, needed)


def check(sc: Any) -> None:
    """Raises ValueError for an application that cannot hold nodes."""
    if is_dynamic(sc):
        raise ValueError(f"place='spark' with {_DYNAMIC_ALLOCATION}=true: Spark would end executors whose only work is a "
                         "node; set it to false, or give place='tony'")
    if is_local(sc):
        raise ValueError(f"the master {sc.master} has no executors beside Spark's driver; give place='tony'")


def bundle_to_ship(bundle: str, digest: str) -> str:
    """The bundle under its other name: the same path each time, so that Spark's executors fetch it once for all
    clusters of an application."""
    if digest not in _bundles:
        _folders.append(tempfile.TemporaryDirectory(prefix="tony-bundle-"))  # pylint: disable=consider-using-with
        path = os.path.join(_folders[-1].name, _SHIPPED_BUNDLE)
        shutil.copyfile(bundle, path)
        _bundles[digest] = path
    return _bundles[digest]


class SparkLauncher:
    """Carries out the orders of one job. Its thread ends with the job, or with the SparkContext."""

    def __init__(self, sc: Any, program: Optional[str] = None, deadline: float = 120.0) -> None:
        """program: tony-executor's path on all hosts; by default it comes in the runtime bundle of this installation.

        deadline: seconds without a further Spark executor after which orders that wait are refused.
        """
        check(sc)
        warn_of_few_cores(sc)
        self._sc = sc
        self._deadline = deadline
        self.socket = _launcher.Socket()
        _folders.append(tempfile.TemporaryDirectory(prefix="tony-launcher-"))  # pylint: disable=consider-using-with
        self._folder = _folders[-1].name
        self._lock = threading.Lock()  # of what follows
        self._orders: Dict[str, Order] = {}
        self._nodes: Dict[str, _Node] = {}
        self._kills: Dict[str, int] = {}  # nodes that are to be killed → tries
        self._placing: Set[str] = set()  # containers for which a Spark job runs
        self._shipped: Dict[str, str] = {}  # path → name among Spark's files
        self._waits_since = time.monotonic()
        self._noticed = 0.0
        self._fails_since: Optional[float] = None
        self._over = threading.Event()
        self._work = threading.Event()
        self._settings = self._ship_program(program)

    def start(self) -> None:
        """Begins to take orders; tony-submit has its end of the socket by now."""
        self.socket.theirs.close()
        for work in (self._take_orders, self._place_and_kill):
            threading.Thread(target=self._run, args=(work,), name="tony-launcher", daemon=True).start()

    def close(self) -> None:
        """Ends the job, if it has not ended."""
        self._over.set()
        self._work.set()
        self.socket.close()
        # Spark's executors fetch all files that an application ever added, also those executors that start after the
        # end of this job. So the files stay, but empty.
        with self._lock:
            for name in self._shipped.values():
                os.truncate(os.path.join(self._folder, name), 0)

    def await_end(self, timeout: float) -> bool:
        """Whether the job has ended within `timeout` seconds."""
        return self._over.wait(timeout)

    def _run(self, work: Any) -> None:
        try:
            work()
        except _launcher.Gone:
            pass
        except Exception as error:  # pylint: disable=broad-except  # Spark's are py4j's, and many
            if not self._over.is_set():
                why = "the SparkContext was stopped" if self._is_stopped() else cause_of(error)
                self.socket.refused(f"Spark does not place nodes any more: {why}")
        finally:
            self.close()

    def _ship_program(self, program: Optional[str]) -> _spark_task.Settings:
        speculation = str(self._sc.getConf().get("spark.speculation", "false")).lower() == "true"
        if program:
            return _spark_task.Settings(os.path.abspath(program), None, "", {}, speculation)
        prefix = os.path.dirname(_programs.find_programs())
        # Of an installation, and of a build.
        places = [os.path.join(prefix, folder, _BUNDLE) for folder in ("lib/tony", "runtime")]
        bundle = next((place for place in places if os.path.exists(place)), None)
        if bundle is None:
            raise ValueError(f"{places[0]} is missing, by which Spark's hosts get tony-executor; install tony as a "
                             "package")
        with open(bundle, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        self._sc.addFile(bundle_to_ship(bundle, digest))
        return _spark_task.Settings(None, _SHIPPED_BUNDLE, digest, {}, speculation)

    def _ship(self, path: str) -> str:
        """Gives a file to all Spark executors, under a name that no other file of the application has. Once: the next
        ApplicationMaster of a job names the same files."""
        if path not in self._shipped:
            name = f"{os.path.basename(self._folder)}-{len(self._shipped)}-{os.path.basename(path)}"
            shutil.copyfile(path, os.path.join(self._folder, name))
            self._sc.addFile(os.path.join(self._folder, name))
            self._shipped[path] = name
        return self._shipped[path]

    def _take_orders(self) -> None:
        watched = time.monotonic()
        while not self._over.is_set():
            message = self.socket.receive(_PAUSE)
            while message is not None:
                self._take(message)
                message = self.socket.receive(0)
            self._work.set()
            if time.monotonic() - watched >= 2 * _PAUSE:
                self._look_for_lost()
                watched = time.monotonic()

    def _take(self, message: Dict[str, Any]) -> None:
        kind, container = message.get("type"), message.get("container", "")
        with self._lock:
            if kind == "hello":
                self._greet(message)
            elif kind == "file":
                files = {**self._settings.files, message["name"]: self._ship(message["path"])}
                self._settings = self._settings._replace(files=files)
            elif kind == "start":
                if not self._orders:
                    self._waits_since = time.monotonic()
                self._orders[container] = _launcher.order_from(message)
            elif kind == "kill" and message.get("gone"):
                self._nodes.pop(container, None)
                self._orders.pop(container, None)
            elif kind == "kill" and container in self._nodes:
                self._kills[container] = 0
            elif kind == "kill":
                self._orders.pop(container, None)
                if container not in self._placing:
                    self.socket.ended(container, "it was not started")

    def _greet(self, hello: Dict[str, Any]) -> None:
        if hello["version"] != _launcher.VERSION:
            self.socket.refused(f"the ApplicationMaster speaks version {hello['version']} with its launcher, and this "
                                f"package {_launcher.VERSION}; update the older one")
        self._orders.clear()
        for container in hello["containers"]:
            if container not in self._nodes:
                self.socket.ended(container, "the launcher does not know it", seen=False)
        for container in self._nodes:
            if container not in hello["containers"]:
                self._kills[container] = 0

    def _executors(self) -> List[str]:
        """The ids of the Spark executors that live."""
        # pylint: disable-next=protected-access  # Python's SparkContext does not have it
        ids = str(self._sc._jsc.sc().getExecutorIds().mkString(","))
        return ids.split(",") if ids else []

    def _look_for_lost(self) -> None:
        with self._lock:
            if not self._nodes:
                return
        alive = set(self._executors())
        with self._lock:
            for container, node in list(self._nodes.items()):
                if node.executor not in alive:
                    del self._nodes[container]
                    self._kills.pop(container, None)
                    # Its node has reported it by itself, unless its host is gone, too.
                    self.socket.ended(container, f"Spark executor {node.executor} on {node.host} is lost", seen=False)

    def _place_and_kill(self) -> None:
        while not self._over.is_set():
            self._work.wait()
            self._work.clear()
            with self._lock:
                orders, kills = list(self._orders.values()), dict(self._kills)
            if kills:
                self._try(functools.partial(self._kill, kills), [])
            if orders:
                self._try(functools.partial(self._place, orders), orders)

    def _try(self, work: Callable[[], None], orders: List[Order]) -> None:
        """A Spark job that fails is tried again: an executor was lost in it, or the user has cancelled all jobs.

        Its tasks may have redeemed vouchers before, so `orders` are given back, and come again with other vouchers.
        Raises what Spark raises if it has stopped, or if there are failures for longer than the deadline.
        """
        try:
            work()
            self._fails_since = None
        except Exception as error:  # pylint: disable=broad-except  # Spark's are py4j's, and many
            now = time.monotonic()
            self._fails_since = self._fails_since or now
            if self._over.is_set() or self._is_stopped() or now - self._fails_since > self._deadline:
                raise
            _log.warning("a Spark job that places or kills nodes has failed, and is tried again: %s", cause_of(error))
            with self._lock:
                self._placing.clear()
                for order in orders:
                    if self._orders.pop(order.container, None) is not None:
                        self.socket.ended(order.container, f"Spark's job has failed: {cause_of(error)}", seen=False)
            self._over.wait(_PLACING_PAUSE)
            self._work.set()

    def _is_stopped(self) -> bool:
        # pylint: disable-next=protected-access  # Python's SparkContext does not say it
        java = self._sc._jsc
        return java is None or bool(java.sc().isStopped())

    def _place(self, orders: List[Order]) -> None:
        with self._lock:
            settings, busy = self._settings, {node.executor for node in self._nodes.values()}
            self._placing = {order.container for order in orders}
        # A task without an order stays for a moment in an executor that has a node, so that the others go elsewhere.
        fillers = len(busy) * max(1, self._sc.defaultParallelism // max(1, len(self._executors()))) if busy else 0
        parts: List[Any] = [*([order] for order in orders), *([] for _ in range(fillers))]
        place = _spark_task.place
        found = self._job(parts, lambda part: place(part, settings))
        for result in found:
            if result["container"] is not None:
                self._take_result(result["container"], result)
        with self._lock:
            self._placing.clear()
            left = [order for order in orders if order.container in self._orders]
        if left:
            self._wait(len(orders) - len(left), len(left))

    def _take_result(self, container: str, result: Dict[str, Any]) -> None:
        with self._lock:
            wanted = container in self._orders
            if result["state"] == "placed":
                self._orders.pop(container, None)
                self._waits_since = time.monotonic()
                self._nodes[container] = _Node(result["executor"], result["host"], result["pid"], result["start"])
                if not wanted:  # killed, or of an ApplicationMaster that is gone
                    self._kills[container] = 0
            elif result["state"] == "failed":
                self._orders.pop(container, None)
                self.socket.ended(container, result["sentence"], lost=False)
            elif not wanted:
                self.socket.ended(container, "it was not started")

    def _wait(self, placed: int, left: int) -> None:
        with self._lock:
            taken = len(self._nodes)
        waited = time.monotonic() - self._waits_since
        sentence = (f"{taken} of {taken + left} Spark executors have answered; a node needs a Spark executor of its own")
        if waited > self._deadline:
            with self._lock:
                self._orders.clear()
            self.socket.refused(f"{sentence}, and for {self._deadline:g} s there was no further one; give Spark more "
                                "executors (spark.executor.instances, spark.cores.max), or ask for fewer nodes")
            return
        if waited > _NOTICE_SECONDS and time.monotonic() - self._noticed > _NOTICE_SECONDS:
            self._noticed = time.monotonic()
            self.socket.waiting(sentence, "a further Spark executor with a free core")
        if placed == 0:
            time.sleep(_PLACING_PAUSE)
        self._work.set()

    def _kill(self, kills: Dict[str, int]) -> None:
        with self._lock:
            targets = {container: self._nodes[container]._asdict() for container in kills if container in self._nodes}
        slots = max(1, self._sc.defaultParallelism)
        kill = _spark_task.kill
        dead = {result["container"] for result in self._job([[] for _ in range(slots)], lambda _: kill(targets))}
        with self._lock:
            for container, tries in kills.items():
                if container not in self._nodes or container in dead:
                    self._nodes.pop(container, None)
                    self._kills.pop(container, None)
                    self.socket.ended(container, "it was killed")
                elif tries >= _MOST_KILLS:
                    self._kills.pop(container, None)  # the ApplicationMaster gives it up by itself
                else:
                    self._kills[container] = tries + 1

    def _job(self, parts: List[List[Any]], function: Any) -> List[Dict[str, Any]]:
        """Runs a Spark job with a task for each part, which has one order or none.

        An order is in the data of its own task. A closure would go to all Spark executors.
        """
        from pyspark import cloudpickle  # pylint: disable=import-outside-toplevel  # only with Spark

        cloudpickle.register_pickle_by_value(_spark_task)
        data = self._sc.parallelize([tuple(part[0]) if part else None for part in parts], len(parts))
        results: List[Dict[str, Any]] = data.mapPartitions(_for_spark(function, Order._fields)).collect()
        return results


def _for_spark(function: Any, names: Any) -> Any:
    """`function` for Spark's workers, which have no package tony: orders come as plain tuples."""

    def run(part: Any) -> Any:
        import collections  # pylint: disable=import-outside-toplevel

        order = collections.namedtuple("order", names)  # type: ignore[misc]
        return function(order(*item) for item in part if item is not None)

    return run


def start_in_spark(sc: Any, spec: JobSpec, program: Optional[str] = None, deadline: float = 120.0) -> Job:
    """Submits the job so that each task runs in another executor of the Spark application `sc`.

    The job belongs to this process. Raises what submit() raises, and ValueError for an application that cannot hold it.
    """
    launcher = SparkLauncher(sc, program, deadline)
    try:
        host = sc.getConf().get("spark.driver.host")
        job = submit(spec, conf={"tony.launcher.host": host}, backend="launcher",
                     launcher_fd=launcher.socket.theirs.fileno())
    except BaseException:
        launcher.close()
        raise
    launcher.start()
    return job
