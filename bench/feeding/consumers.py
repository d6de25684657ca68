"""The programs of the fed nodes, ours and TensorFlowOnSpark's, and the log of what they have taken.

Both add up each record's first number, so that a record that is lost or changed shows. The functions are nested: so
cloudpickle sends them by value, and the nodes need no module of this folder.
"""

import os
import pathlib
import struct
import time
import typing

# Of each batch: when it had come (CLOCK_MONOTONIC, the same for all processes of the machine), its rows, and their sum.
LINE = struct.Struct("<dQd")
PID = "pid"
SILENCE_SECONDS = 60


def ours(folder, batch, take="numpy", pause=0.0):
    """The map function of a node of tony. take: "numpy" or "rows"; pause: seconds after each batch."""
    def main(_args, ctx):
        import os as system  # pylint: disable=import-outside-toplevel,reimported
        import struct as packing  # pylint: disable=import-outside-toplevel,reimported
        import time as clock  # pylint: disable=import-outside-toplevel,reimported

        def sum_of(got):
            if isinstance(got, dict):
                got = next(iter(got.values()))
            if got.dtype == "u1":  # a column of bytes
                got = got.view("<f4")
            return len(got), float((got[:, 0] if got.ndim > 1 else got).sum())

        log = system.open(f"{folder}/{ctx.task_index}", system.O_WRONLY | system.O_CREAT | system.O_APPEND, 0o600)
        with open(f"{folder}/pid", "w", encoding="ascii") as file:
            file.write(str(system.getpid()))
        feed = ctx.get_data_feed()
        while not feed.should_stop():
            if take == "numpy":
                got = feed.next_numpy(batch)
                rows, total = (0, 0.0) if got is None else sum_of(got)
            else:
                got = feed.next_batch(batch)
                rows, total = len(got), float(sum(row[0] for row in got))
            if rows:
                system.write(log, packing.pack("<dQd", clock.monotonic(), rows, total))
            if pause:
                clock.sleep(pause)
    return main


def theirs(folder, batch):
    """The map function of a node of TensorFlowOnSpark."""
    def main(_args, ctx):
        import os as system  # pylint: disable=import-outside-toplevel,reimported
        import struct as packing  # pylint: disable=import-outside-toplevel,reimported
        import time as clock  # pylint: disable=import-outside-toplevel,reimported
        from tensorflowonspark import TFNode  # pylint: disable=import-outside-toplevel,import-error

        def first(row):
            value = row[0]
            if isinstance(value, (bytes, bytearray)):
                return packing.unpack_from("<f", value)[0]
            return value[0] if isinstance(value, list) else value

        log = system.open(f"{folder}/{ctx.task_index}", system.O_WRONLY | system.O_CREAT | system.O_APPEND, 0o600)
        feed = TFNode.DataFeed(ctx.mgr)
        while not feed.should_stop():
            got = feed.next_batch(batch)
            if got:
                system.write(log, packing.pack("<dQd", clock.monotonic(), len(got), float(sum(map(first, got)))))
    return main


class Taken(typing.NamedTuple):
    """What nodes have taken of one train()."""

    rows: int
    total: float
    span: float  # seconds from the first batch to the last one
    counted: int  # rows after the first batch


class Logs:
    """The logs of a cluster's nodes, read from one train() to the next. Not thread safe."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self._read = {}

    def take(self, rows):
        """Waits until the nodes have logged so many rows; returns what they logged since the last call."""
        lines, taken, deadline = [], 0, time.monotonic() + SILENCE_SECONDS
        while taken < rows:
            new = self._new_lines()
            if new:
                deadline = time.monotonic() + SILENCE_SECONDS
            elif time.monotonic() > deadline:
                raise SystemExit(f"bench/feed: the nodes have taken {taken} of {rows} rows, and no further one for "
                                 f"{SILENCE_SECONDS} s")
            else:
                time.sleep(0.005)
            lines += new
            taken += sum(line[1] for line in new)
        lines.sort()
        return Taken(taken, sum(line[2] for line in lines), lines[-1][0] - lines[0][0], taken - lines[0][1])

    def _new_lines(self):
        found = []
        for path in sorted(self.folder.iterdir()):
            if path.name == PID:
                continue
            data = path.read_bytes()
            start = self._read.get(path.name, 0)
            end = len(data) - len(data) % LINE.size
            found += LINE.iter_unpack(data[start:end])
            self._read[path.name] = end
        return found

    def pid(self):
        """The process of the node that has started last."""
        deadline = time.monotonic() + SILENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                text = (self.folder / PID).read_text(encoding="ascii")
                if text:
                    return int(text)
            except FileNotFoundError:
                pass
            time.sleep(0.005)
        raise SystemExit("bench/feed: the node does not start")


def programs_above(pid, name):
    """The processes above `pid` that run the program `name`."""
    found = []
    while pid > 1:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        try:
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name:
                found.append(pid)
        except OSError:
            break
    return found
