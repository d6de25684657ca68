#!/usr/bin/env python3
"""`tony advise`: what real jobs used, and what their job files should ask for instead."""

import os
import pathlib
import struct
import zlib

import integration_case
from integration_case import JobTest, conf
from portal_test import Portal

# The programs run long enough for thirty samples at this pace.
PACE = conf(task__metrics_interval_ms=100, local__memory="8g")
SECONDS = 6

# Works for 70 ms and rests for 30 ms in each step, until it has run for so many seconds.
TRAIN = """
import os, signal, sys, time
import tony

def step(number, work=0.07, rest=0.03):
    end = time.monotonic() + work
    while time.monotonic() < end:
        pass
    time.sleep(rest)
    tony.report(step=number)

BEGAN = time.monotonic()

def steps(seconds, **pace):
    number = 0
    while time.monotonic() < BEGAN + seconds:
        number += 1
        yield number
        step(number, **pace)
"""
WELL_SET = TRAIN + f"""
for _ in steps({SECONDS}):
    pass
"""
# The others wait for one rank for a fifth of the time, in a barrier behind each step. The steps are long, so
# that no delay on a busy machine makes another rank the last one.
SLOW_WORKER = TRAIN + f"""
import tony.collective as hvd
hvd.init()
for number in range(1, {SECONDS} + 2):
    step(number, rest=0.63 if hvd.rank() != 1 else 0.83)
    hvd.barrier()
"""
# Each step waits for its batch, which comes from the disk and not from memory.
STARVED = TRAIN + f"""
with open(sys.argv[1], "rb", buffering=0) as data:
    for _ in steps({SECONDS}, work=0.005):
        os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        data.seek(0)
        while data.read(1 << 20):
            pass
"""
# Prints 700 kB in each step, about 7 MB in a second; on a busy machine less.
TALKATIVE = TRAIN + f"""
for _ in steps({SECONDS}):
    for _ in range(700):
        print("x" * 999)
"""
# Fails twice, then writes two checkpoints, which are quickly written.
RARE_CHECKPOINTS = TRAIN + """
with open(sys.argv[1], "a+") as attempts:
    attempts.seek(0)
    before = len(attempts.read())
    attempts.write("x")
written = 0
for _ in steps(1.5 if before < 2 else 5.5):
    if time.monotonic() > BEGAN + 2.5 * (written + 1):
        tony.report(phase="checkpoint")
        time.sleep(0.02)
        tony.report(checkpoint=f"/checkpoints/{written}", phase="")
        written += 1
if before < 2:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def comes_from_the_disk(path):
    """Whether the kernel counts what is read of a file that it has just forgotten as read from storage."""
    def read_bytes():
        text = pathlib.Path("/proc/self/io").read_text(encoding="utf-8")
        return int(text.split("\nread_bytes: ")[1].split()[0])
    before = read_bytes()
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read()
    return read_bytes() - before >= path.stat().st_size


class AdviseTest(JobTest):
    """Jobs whose faults are known."""

    def advise(self, job):
        """The advice about a job, by heuristic."""
        answer = self.site.verb("advise", job.id, "--after", "3s")
        return {each["heuristic"]: each for each in answer["advice"]}, answer["reservations"]

    def test_memory_that_is_not_used(self):
        job = self.submit(f"sleep {SECONDS}", *PACE, *conf(worker__memory="3g"))
        self.assert_succeeds(job)
        advice, reservations = self.advise(job)
        self.assertEqual(list(advice), ["memory-unused"])
        self.assertEqual(advice["memory-unused"]["severity"], "critical")
        self.assertEqual(advice["memory-unused"]["lines"], {"tony.worker.memory": "256m"})
        self.assertEqual(reservations, [])
        lines = self.site.run("tony", "advise", job.id, "--after", "3s", "--xml").stdout
        self.assertEqual(lines, "<property><name>tony.worker.memory</name><value>256m</value></property>\n")
        text = self.site.run("tony", "advise", job.id, "--after", "3s").stdout
        self.assertIn("Ask for 256 MiB for each task of type worker instead of 3072 MiB", text)

    def train(self, program, *arguments, workers=1, argument=""):
        """A job of workers that train, which succeeds; returns the advice about it."""
        path = self.site.folder / "train.py"
        path.write_text(program, encoding="utf-8")
        job = self.submit(f"exec python3 {path} {argument}", *PACE, *arguments, workers=workers)
        self.assert_succeeds(job)
        advice, _ = self.advise(job)
        return advice

    def test_a_job_that_is_well_set_gets_no_advice(self):
        self.assertEqual(self.train(WELL_SET, workers=2), {})

    def test_a_talkative_program(self):
        advice = self.train(TALKATIVE)
        self.assertEqual(list(advice), ["log-volume"])
        self.assertIn("worker:0 printed", advice["log-volume"]["evidence"])
        self.assertEqual(advice["log-volume"]["lines"], {})

    def test_a_slow_worker(self):
        advice = self.train(SLOW_WORKER, *conf(application__framework="horovod"), workers=3)
        self.assertEqual(list(advice), ["straggler"])
        self.assertIn("worker:1", advice["straggler"]["sentence"])

    def test_input_that_starves(self):
        data = self.site.folder / "data"
        with open(data, "wb") as file:
            file.write(os.urandom(2 << 20))
            os.fsync(file.fileno())
        if not comes_from_the_disk(data):
            self.skipTest("what is read here comes from memory")
        advice = self.train(STARVED, argument=data)
        self.assertEqual(list(advice), ["input-bound"])
        self.assertIn("storage gives data as fast as it can", advice["input-bound"]["evidence"])

    def test_checkpoints_that_are_too_rare(self):
        advice = self.train(RARE_CHECKPOINTS, *conf(am__retry_count=2), argument=self.site.folder / "attempts")
        self.assertEqual(list(advice), ["checkpoint-interval"])
        self.assertIn("2 failures", advice["checkpoint-interval"]["evidence"])
        self.assertIn("restarts lose more than checkpoints cost", advice["checkpoint-interval"]["sentence"])

    def test_a_short_job_is_not_judged(self):
        job = self.submit("true", *conf(worker__memory="3g", local__memory="8g"))
        self.assert_succeeds(job)
        answer = self.site.verb("advise", job.id)
        self.assertEqual(answer["advice"], [])
        self.assertRegex(answer["reservations"][-1], "too short to judge|nothing to judge")

    def test_a_damaged_file_is_said(self):
        job = self.submit("true")
        self.assert_succeeds(job)
        (self.site.local_dir / "jobs" / job.id / "metrics.bin").write_bytes(b"TONYMET1\xff\xff\xff\xff")
        answer = self.site.verb("advise", job.id)
        self.assertRegex(answer["reservations"][0], "metrics cannot be read: its header is cut off or damaged")

    def test_metrics_of_a_newer_version_are_said_and_the_rest_is_shown(self):
        job = self.submit("true")
        self.assert_succeeds(job)
        header = b"\x08\x63"  # field 1, the version: 99
        record = struct.pack("<II", len(header), zlib.crc32(header)) + header
        (self.site.local_dir / "jobs" / job.id / "metrics.bin").write_bytes(b"TONYMET1" + record + b"anything")
        answer = self.site.verb("advise", job.id)
        self.assertRegex(answer["reservations"][0],
                         r"metrics cannot be read: it was written by a newer version of tony \(version 99 of the file")
        self.assertEqual(self.site.verb("status", job.id)["verdict"]["outcome"], "SUCCEEDED")
        page = Portal(self).enter()
        self.assertEqual(page.api(f"jobs/{job.id}/metrics")["metrics"], [])
        self.assertEqual(page.api(f"jobs/{job.id}")["state"], "SUCCEEDED")


if __name__ == "__main__":
    integration_case.main()
