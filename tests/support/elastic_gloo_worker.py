#!/usr/bin/env python3
"""A process of an elastic Horovod 0.28.1 job without Horovod: it trains, and commits each step.

What it does beyond gloo_worker.py is that of horovod.elastic.run: it puts where it can be told of
other hosts, asks for its new place after each change, and takes the step from the new rank 0. With
--tell it says of each round, once a step of it is committed, who it is: "worker:2 is 1 of 3 from 7
on".
"""

import argparse
import base64
import hashlib
import hmac
import io
import os
import pathlib
import pickle
import socketserver
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import gloo_worker

STEP_SECONDS = 0.01  # as if there were something to compute
SECRET_BYTES = 32
HEAD = struct.Struct("=32si")  # of a frame: the HMAC, and the length of what follows


class HostsUpdatedRequest:
    """horovod.runner.elastic.worker's class."""


class RequestReader(pickle.Unpickler):
    """Knows the classes of the one request that a driver sends, and no other."""

    CLASSES = {"HostsUpdatedRequest": HostsUpdatedRequest, "HostUpdateResult": int}

    def find_class(self, module, name):
        if module != "horovod.runner.elastic.worker" or name not in self.CLASSES:
            raise pickle.UnpicklingError(f"no driver sends {module}.{name}")
        return self.CLASSES[name]


class TrustingReader(RequestReader):
    """Makes whatever a request asks for besides, as Horovod's own reader does."""

    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except pickle.UnpicklingError:
            return pickle.Unpickler.find_class(self, module, name)


def address_value(interface, address, secret):
    """The value for the driver: in Base64 the pickle of this process's address."""
    return base64.b64encode(pickle.dumps(({interface: [address]}, secret), protocol=5))


def pickled_ack():
    """An object horovod.runner.common.util.network.AckResponse, as pickle writes it."""
    words = (b"horovod.runner.common.util.network", b"AckResponse")
    text = b"".join(b"\x8c%c%s\x94" % (len(word), word) for word in words)
    content = text + b"\x93\x94)\x81\x94."
    return b"\x80\x05\x95" + struct.pack("<Q", len(content)) + content


class NotificationHandler(socketserver.StreamRequestHandler):
    """One request of the driver's."""

    def handle(self):
        secret = self.server.secret
        digest, length = HEAD.unpack(self.rfile.read(HEAD.size))
        content = self.rfile.read(length)
        if not hmac.compare_digest(digest, hmac.digest(secret, content, hashlib.sha256)):
            raise PermissionError("the request is of somebody who does not know the secret")
        self.server.on_hosts_updated(self.server.reader(io.BytesIO(content)).load().timestamp)
        answer = pickled_ack()
        head = HEAD.pack(hmac.digest(secret, answer, hashlib.sha256), len(answer))
        self.wfile.write(head + answer)


class NotificationService(socketserver.ThreadingTCPServer):
    """Hears of other hosts. Thread safe."""

    daemon_threads = True

    def __init__(self, interface, reader):
        address = gloo_worker.address_of(interface)
        self.reader = reader
        super().__init__((address, 0), NotificationHandler)
        self.secret = os.urandom(SECRET_BYTES)
        self._interface = interface
        self._heard = 0  # the greatest timestamp since the last reset
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def on_hosts_updated(self, timestamp):
        self._heard = max(self._heard, timestamp)

    def heard(self):
        return self._heard

    def reset(self):
        """Notifications during a reset are dropped, as in Horovod."""
        self._heard = 0

    def value(self):
        """The value for the driver."""
        return address_value(self._interface, self.server_address, self.secret)


class ElasticWorker:
    """One process of the job. Not thread safe."""

    def __init__(self, environment, options):
        self._slot = gloo_worker.own_slot(environment)
        self._store = gloo_worker.own_store(environment)
        self._interface = environment["HOROVOD_GLOO_IFACE"]
        self._name = f"{environment['JOB_NAME']}:{environment['TASK_INDEX']}"
        self._options = options
        self._step = self._committed = 0
        self._timestamp = 0  # of the last change that all ranks have gone along with

    def run(self):
        """@hvd.elastic.run, until somebody wants the end."""
        rank = self._initialize()
        reader = TrustingReader if self._options.trusting else RequestReader
        self._service = NotificationService(self._interface, reader)
        self._store.put("worker_addresses", f"{self._slot.host}:{self._slot.local_rank}",
                        self._service.value())
        while True:
            try:
                (self._step,) = self._told_by_rank_0(rank, self._step)
                self._committed = self._step
                if self._train(rank):
                    return
            except OSError as error:
                print(f"{error}; back to step {self._committed}", file=sys.stderr, flush=True)
                self._step = self._committed
            rank.shutdown()
            rank = self._initialize(again=True)
            self._service.reset()

    def _initialize(self, again=False):
        """hvd.init(); `again`: the driver is asked for this process's new place."""
        if again:
            key = f"{self._slot.host}:{self._slot.local_rank}"
            numbers = self._store.get("rank_and_size", key).decode().split(",")
            # The numbers after these are not needed here.
            self._slot = gloo_worker.Slot(self._slot.host, *map(int, numbers[:6]))
            if self._slot.rank < 0:
                sys.exit(f"{key} has been removed from elastic job")
        rank = gloo_worker.Rank(
            self._slot, self._store, gloo_worker.address_of(self._interface))
        rank.initialize()
        return rank

    def _train(self, rank):
        """Returns whether the training is over; else other hosts are there."""
        begin = self._step
        while True:
            time.sleep(STEP_SECONDS)
            (total,) = set(rank.allreduce([self._slot.rank + 1] * gloo_worker.ELEMENTS))
            if total != self._slot.size * (self._slot.size + 1) // 2:
                sys.exit(f"a sum of {total} in a round of {self._slot.size}")
            self._step += 1
            self._committed = self._step
            known, heard, over = self._told_by_rank_0(
                rank, self._timestamp, self._service.heard(), os.path.exists(self._options.end))
            if self._step == begin + 1:
                self._tell(begin)
            if over:
                return True
            self._timestamp = max(known, heard)
            if heard > known:
                return False

    def _told_by_rank_0(self, rank, *numbers):
        """The arguments of rank 0's call, on all ranks."""
        return rank.allreduce([int(number) if self._slot.rank == 0 else 0 for number in numbers])

    def _tell(self, begin):
        said = f"{self._name} is {self._slot.rank} of {self._slot.size} from {begin} on"
        print(said, flush=True)
        with open(self._options.tell, "w", encoding="utf-8") as pipe:
            pipe.write(said + "\n")


def main():
    """One process's life."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tell", metavar="PIPE", required=True)
    parser.add_argument("--end", metavar="FILE", required=True, help="all end when it is there")
    parser.add_argument("--trusting", action="store_true", help="what is signed may make anything")
    ElasticWorker(os.environ, parser.parse_args()).run()


if __name__ == "__main__":
    main()
