#!/usr/bin/env python3
"""Programs that hang: `tony.task.hang-action`, and what is kept before anything is ended."""

import os

import integration_case
import portal_test
from integration_case import JobTest, conf

# Until a hang is acted on: its limit, a look each five seconds, another one after 30 s, and 5 s for the stacks.
DEADLINE_SECONDS = 240
# Three ranks make twenty steps. Then rank 1 does something else in its first run, and the others wait for it.
TRAIN = """
import os, time
import tony

RANK = int(os.environ["TASK_INDEX"])
FIRST = os.environ["TONY_ATTEMPT"] == "1"
GATE = os.open("{gate}", os.O_RDWR)

def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

def load_batch():
    os.read(os.pipe()[0], 1)

# Each stage has another stack, so that after half a minute none is the same.
def stage(number):
    if number > 0:
        stage(number - 1)
    else:
        compute(4)

def evaluate():
    for number in range(20):
        stage(number % 10)

def all_reduce():
    if RANK == 1:
        os.write(GATE, b"xx")
    else:
        os.read(GATE, 1)

for step in range(20):
    compute(0.1)
    tony.report(step=step)
if RANK == 1 and FIRST:
    {meanwhile}()
all_reduce()
tony.report(step=20)
"""


def place_of(events, find):
    """The position of the first event for which `find(event)` is true."""
    return next(position for position, event in enumerate(events) if find(event))


class HangTest(JobTest):
    """Three jobs of three ranks each, at the same time: it takes them most of a minute to be judged."""

    def start(self, name, meanwhile, *arguments):
        """A job whose rank 1 does `meanwhile` while the others wait for it."""
        gate, program = self.site.folder / f"{name}.gate", self.site.folder / f"{name}.py"
        os.mkfifo(gate)
        program.write_text(TRAIN.format(gate=gate, meanwhile=meanwhile), encoding="utf-8")
        return self.submit(f"python3 {program}", *arguments, workers=3,
                           *conf(task__hang_limit_ms=6000, task__metrics_interval_ms=100))

    def notes(self, job):
        """The sentences of the job's notes that are about hanging or progress."""
        return [note["sentence"] for note in job.events("note") if "hang" in note["sentence"] or "progress" in note["sentence"]]

    def assert_kept_before(self, job, end):
        """The stacks of all ranks were kept twice before the first event for which `end(event)` is true."""
        events = job.all_events()
        seems, still = (place_of(events, lambda event, words=words: words in event.get("note", {}).get("sentence", ""))
                        for words in ("The job seems to hang", "The job still hangs"))
        self.assertLess(seems, still)
        self.assertLess(still, place_of(events, end))
        for position in (seems, still):
            sentence = events[position]["note"]["sentence"]
            self.assertRegex(sentence, r"worker:1 is in load_batch \(\w+\.py:15\) while 2 others are in all_reduce")
            self.assertRegex(sentence, r"all stacks are in \S+/stacks\.txt$")
        self.assertIn("0 of 3 processes are at another place than before", events[still]["note"]["sentence"])
        (kept,) = (one for one in self.site.verb("stacks", job.id)["kept"] if one["path"].endswith("logs/stacks.txt"))
        self.assertEqual(kept["text"].count("The job "), 2)
        self.assertEqual(kept["text"].count("    load_batch "), 2)
        self.assertEqual(kept["text"].count("    all_reduce "), 2)

    def test_the_rank_for_which_the_others_wait_is_dealt_with(self):
        restarted = self.start("restarted", "load_batch",
                               *conf(task__hang_action="restart", am__retry_count=1, worker__restart_scope="task"))
        failed = self.start("failed", "load_batch", *conf(task__hang_action="fail", am__retry_count=1))
        evaluates = self.start("evaluates", "evaluate", *conf(task__hang_action="fail"))

        with self.subTest("fail"):
            sentence = self.assert_ends(failed, 3, "TASK_TIMED_OUT", DEADLINE_SECONDS)
            self.assertRegex(sentence, r"^worker:1 has named no step for \S+ after step 19 ")
            self.assertEqual(failed.events("epoch_opened"), [])
            self.assert_kept_before(failed, lambda event: event.get("task_changed", {}).get("state") in ("STOPPED", "FAILED")
                                    or "ended" in event)
        with self.subTest("restart"):
            # Only the guilty rank starts again, and what it sends lets the others go on.
            self.assertEqual(restarted.wait(DEADLINE_SECONDS), 0, restarted.describe())
            self.assertEqual(restarted.events("epoch_opened"), [])
            failures = [event["task_changed"] for event in restarted.raw_events("task_changed")
                        if event["task_changed"]["state"] == "FAILED"]
            self.assertEqual([failure["task"].get("index", 0) for failure in failures], [1])
            self.assertIn("worker:1 has named no step for", failures[0]["sentence"])
            self.assert_kept_before(restarted, lambda event: event.get("task_changed", {}).get("state") == "FAILED")
        with self.subTest("in the portal, when nothing of the job runs any more"):
            page = portal_test.Portal(self).enter()
            portal_test.PortalTest.wait_for(self, page, failed, alive=False)
            kept = page.api(f"jobs/{failed.id}/stacks")["kept"][0]
            self.assertEqual((kept["task"], kept["cut"]), (None, False))
            self.assertEqual(kept["text"].count("    load_batch "), 2)
        with self.subTest("an evaluation that is not reported"):
            self.assertEqual(evaluates.wait(DEADLINE_SECONDS), 0, evaluates.describe())
            notes = self.notes(evaluates)
            self.assertTrue(any(note.startswith("The job still hangs") and "1 of 3 processes are at another place" in note
                                for note in notes), notes)


if __name__ == "__main__":
    integration_case.main()
