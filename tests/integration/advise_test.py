#!/usr/bin/env python3
"""`tony advise`: what real jobs used, and what their job files should ask for instead."""

import integration_case
from integration_case import JobTest, conf

# The programs run long enough for thirty samples at this pace.
PACE = conf(task__metrics_interval_ms=100, local__memory="8g")
SECONDS = 6


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


if __name__ == "__main__":
    integration_case.main()
