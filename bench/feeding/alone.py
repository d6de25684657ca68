"""The rows of bench/feed without Spark: sources, tiny partitions, and what an endpoint costs and notices."""

import itertools
import os
import signal
import threading
import time

import consumers
import records
import sides
from report import median

QUEUE_ROWS = 4000
SLOT_ROWS = 300
MIB = 1 << 20


def _source(kind, count):
    """Data for train()."""
    if kind == "lists":
        return list(records.rows(count, True))
    array = records.array(count)
    if kind == "numpy":
        return array
    if kind == "pandas":
        import pandas  # pylint: disable=import-outside-toplevel
        return pandas.DataFrame(array)
    import pyarrow  # pylint: disable=import-outside-toplevel,import-error
    flat = pyarrow.array(array.reshape(-1))
    return pyarrow.table({"image": pyarrow.FixedSizeListArray.from_arrays(flat, records.WIDTH)})


# pandas has a column for each number, as it has no arrays in its columns.
GATES = {"numpy": (50, 100), "pandas": (50, 100), "arrow": (50, 100), "lists": (10, 40)}


def source(kind, report, settings):
    """One kind of data against TensorFlowOnSpark's queue, whose records are numpy arrays, or lists for lists."""
    lists = kind == "lists"
    count = settings.records // (2 if lists else 1)
    data, total = _source(kind, count), records.total(count)
    queue_rows = min(QUEUE_ROWS, settings.records)
    ours = sides.Ours(None, settings.folder, 1)
    theirs = sides.Queue(settings.folder)
    rates, ratios = [], []
    try:
        for warm in (True, *[False] * settings.rounds):
            mine = ours.train(data, count, total, epochs=1 if warm else settings.epochs)
            its = theirs.train(records.rows(queue_rows, lists), queue_rows, records.total(queue_rows))
            if not warm:
                rates.append((mine.span, mine.rate, its.span))
                ratios.append(mine.span / its.span)
    finally:
        ours.close()
        theirs.close()
    report.at_least(f"without Spark, {kind}: span, over the queue", median(ratios), *GATES[kind])
    span, call, queue = (median(column) for column in zip(*rates))
    report.note(f"{span:,.0f} records/s (call {call:,.0f}), the queue {queue:,.0f}")


def tiny(report, settings):
    """1,000 partitions of 100 records: an iterable of Arrow batches, each of which is a partition."""
    import pyarrow  # pylint: disable=import-outside-toplevel,import-error
    batch = pyarrow.RecordBatch.from_arrays([pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(records.array(sides.BATCH).reshape(-1)), records.WIDTH)], ["image"])
    count, total = settings.partitions, records.total(sides.BATCH)
    ours = sides.Ours(None, settings.folder, 1)
    try:
        seconds = [ours.train([batch] * count, count * sides.BATCH, count * total).call
                   for _ in range(settings.rounds + 1)][1:]
    finally:
        ours.close()
    report.at_most(f"without Spark, {count} partitions of 100", median(seconds), 2 * count / 1000, None, "s")


class Endpoint:
    """One worker with a consumer, and partitions that this process sends by itself. Not thread safe."""

    def __init__(self, settings, **consumer):
        from tony.cluster import _feeding, _producer, _rows  # pylint: disable=import-outside-toplevel,import-error
        self._producer, self._rows = _producer, _rows
        self._ours = sides.Ours(None, settings.folder, 1, **consumer)
        self.pid = self._ours.logs.pid()
        (self.executor, *_) = consumers.programs_above(self.pid, "tony-executor")
        # The executor's keeper is its parent, with the same program.
        self.processes = consumers.programs_above(self.pid, "tony-executor")
        self._endpoints = _feeding.await_endpoints(self._ours.cluster.nodes, 60, "input")
        self._partition = 0
        array = records.array(SLOT_ROWS)
        layout = _rows.Layout("one", None, (_rows.array_column(array),))
        (self._batch,) = _rows.array_batches(layout, [array], MIB)

    def feed(self, frames, tls=False):
        """Sends one partition with so many frames of SLOT_ROWS records, and waits until it is acknowledged."""
        self._partition += 1
        attempt = self._producer.Attempt("input", 0, self._partition, 0, False, 600)
        (endpoint,) = self._endpoints.tasks
        if tls:
            endpoint = endpoint._replace(unix="")
        batches = itertools.repeat(self._batch, frames)
        for _ in self._producer.feed(self._endpoints, attempt, lambda _: batches, [endpoint]):
            pass

    def take(self, frames):
        """Waits for the log of as many records."""
        return self._ours.logs.take(frames * SLOT_ROWS)

    def close(self):
        """Ends the node in order."""
        self._ours.close()

    def abandon(self):
        """Ends the job of a node that was killed."""
        self._ours.cluster.nodes.job.ask_to_stop()
        self._ours.cluster.nodes.await_end(60)


def _status(pid, *names):
    """Lines of /proc/PID/status, in bytes, together."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        found = dict(line.split(":", 1) for line in file)
    return sum(int(found[name].split()[0]) * 1024 for name in names)


def memory(report, settings):
    """A million records in one partition, of which the node takes fewer than the producer sends."""
    frames = settings.slow_records // SLOT_ROWS
    endpoint = Endpoint(settings, pause=0.0005)
    try:
        endpoint.feed(1)
        before = {pid: _status(pid, "VmRSS") for pid in endpoint.processes}
        for pid in endpoint.processes:
            with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
                file.write("5")  # VmHWM begins anew
        seconds = sides.timed(endpoint.feed, frames)
        grown = sum(max(0, _status(pid, "VmHWM") - before[pid]) for pid in endpoint.processes)
        whole = sum(_status(pid, "VmHWM") for pid in endpoint.processes)
        endpoint.take(frames + 1)
    finally:
        endpoint.close()
    ring = 16 * MIB
    report.at_most(f"memory that {frames * SLOT_ROWS:,} slow records add", grown / 1e6, (ring + 16e6) / 1e6, None, "MB")
    report.note(f"{seconds:.1f} s; executor and keeper {whole / 1e6:.1f} MB in all, the ring of 16.8 MB included")


def killed(report, settings):
    """kill -9 of a node's program, and of its executor, while it is fed: until the producer has its exception."""
    from tony.cluster import _frames  # pylint: disable=import-outside-toplevel,import-error
    for what in ("program", "executor"):
        told = []
        for _ in range(settings.rounds):
            endpoint = Endpoint(settings, pause=0.01)
            raised = []

            def produce(endpoint=endpoint, raised=raised):
                try:
                    endpoint.feed(1 << 30)
                except _frames.FeedError:
                    raised.append(time.perf_counter())
            producer = threading.Thread(target=produce)
            producer.start()
            endpoint.take(10)
            begin = time.perf_counter()
            os.kill(endpoint.pid if what == "program" else endpoint.executor, signal.SIGKILL)
            producer.join(60)
            if not raised:
                raise SystemExit("bench/feed: 60 s after the kill the producer has not been told")
            told.append(raised[0] - begin)
            endpoint.abandon()
        report.at_most(f"killed {what} -> producer told", median(told), 1, 0.05, "s")


def _cpu(pid):
    """Seconds that a process has computed."""
    nanoseconds = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            nanoseconds += int(file.read().split()[0])
    return nanoseconds / 1e9


def tls(report, settings):
    """Processor time of producer and endpoint for a record, by TLS as between hosts, and by the unix socket."""
    frames = settings.tls_records // SLOT_ROWS
    endpoint = Endpoint(settings)
    cost = {False: [], True: []}
    try:
        for number in range(settings.rounds + 1):
            for by_tls in (False, True):
                before = [_cpu(pid) for pid in endpoint.processes]
                begin = time.thread_time()
                endpoint.feed(frames, by_tls)
                producer = time.thread_time() - begin
                served = sum(_cpu(pid) for pid in endpoint.processes) - sum(before)
                if number:
                    cost[by_tls].append((producer, served))
                endpoint.take(frames)
    finally:
        endpoint.close()
    each = frames * SLOT_ROWS / 1e6
    ratios = [sum(secure) / sum(plain) for secure, plain in zip(cost[True], cost[False])]
    report.at_most("TLS: processor time over the unix socket's", median(ratios), None, 1.5, "x")
    for by_tls, name in ((False, "unix socket"), (True, "TLS")):
        report.note(f"{name}: producer {median([one[0] for one in cost[by_tls]]) / each:.2f} µs a record, "
                    f"endpoint {median([one[1] for one in cost[by_tls]]) / each:.2f} µs")
