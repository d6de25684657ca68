#!/usr/bin/env python3
"""The page of a job whose ApplicationMaster is lost: visitors come back to the next one."""

import contextlib
import json
import os
import pathlib
import signal
import stat

import integration_case
import machine
import tony_cli
from job_page import Page

LISTENING = "0A"


def sockets_at(port):
    """The inodes of the sockets that are bound to or listen at a port of 127.0.0.1."""
    lines = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    fields = [line.split() for line in lines]
    return {one[9] for one in fields if one[1] == f"0100007F:{port:04X}" and one[3] == LISTENING}


def holders(inodes):
    """The names of the processes that have one of the sockets open."""
    links = {f"socket:[{inode}]" for inode in inodes}
    names = []
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and any(
                    os.readlink(entry) in links for entry in (process / "fd").iterdir()):
                names.append((process / "comm").read_text(encoding="utf-8").strip())
    return sorted(names)


class PageRestartTest(integration_case.JobTest):
    """Against one real job each."""

    def enter(self, job_id):
        """A browser that has entered the page."""
        page = Page(self.site.verb("open", job_id)["url"])
        self.assertEqual(page.enter()[0], 303)
        return page

    def lose_master(self, page, job_id, incarnation):
        """Kills the ApplicationMaster, and asks the page until the next one has read the record."""
        os.kill(machine.master_of(job_id), signal.SIGKILL)

        def answered():
            # Requests wait for the next ApplicationMaster: the connection is never refused.
            status, text = page.ask(f"jobs/{job_id}")
            self.assertIn(status, (200, 503), text)
            return json.loads(text) if status == 200 else None

        job = machine.wait_until(answered, tony_cli.DEADLINE_SECONDS, pause_seconds=0.05)
        self.assertEqual(job["incarnation"], incarnation)

    def read_on(self, page, job_id, events):
        """Adds what has happened behind `events`, as a visitor gets it: page by page, from the last sequence on."""
        while True:
            more = page.api(f"jobs/{job_id}/events", after=events[-1]["sequence"] if events else 0, limit=3)["events"]
            if not more:
                return
            events += more

    def recorded(self, job_id):
        """All events of a job that is over, as its history has them."""
        portal = Page(self.start_portal())
        portal.enter()
        events = []
        self.read_on(portal, job_id, events)
        return events

    def test_a_visitor_stays_and_gets_every_event_once(self):
        gate = self.pipe("gate")
        job = self.submit(f"read word < {gate.path}", workers=2)
        job.wait_until_running("worker:0", "worker:1")
        page = self.enter(job.id)
        seen, seen_by = [], []
        self.read_on(page, job.id, seen)
        stranger = Page(f"http://{page.host}{page.base}")
        stranger.cookie = "tony-page=" + "0" * 32
        for incarnation in (2, 3):
            seen_by.append(len(seen))
            self.lose_master(page, job.id, incarnation)
            self.read_on(page, job.id, seen)
            job.wait_until_attached_again(incarnation - 1)
            self.read_on(page, job.id, seen)
            self.assertEqual(stranger.ask("jobs")[0], 403)
        kept = job.folder / "secrets" / "page-visits.json"
        self.assertEqual(stat.S_IMODE(kept.stat().st_mode), 0o600)
        self.assertEqual(holders(sockets_at(int(page.host.rpartition(":")[2]))),
                         ["tony-am", "tony-submit"])
        gate.write(2)
        self.assert_succeeds(job)
        after = [int(event["sequence"]) for event in job.raw_events("sequence")]
        self.assertEqual(after, list(range(1, len(after) + 1)))
        self.assertFalse(kept.exists())
        # No ApplicationMaster has taken back, repeated or left out what the one before had told the visitor.
        history = self.recorded(job.id)
        self.assertEqual([event["sequence"] for event in history], after)
        self.assertEqual(seen, history[:len(seen)])
        self.assertLess(0, seen_by[0])
        self.assertLess(seen_by[0], seen_by[1])
        self.assertLess(seen_by[1], len(seen))
        self.assertLess(len(seen), len(history))

    def test_a_detached_job_keeps_its_page(self):
        gate = self.pipe("gate")
        ready = self.pipe("ready")
        job_id = self.detach(f"echo > {ready.path}; read word < {gate.path}")
        ready.read()
        page = self.enter(job_id)
        self.lose_master(page, job_id, 2)
        # Codes are those of one ApplicationMaster, cookies those of the job.
        again = self.enter(job_id)
        self.assertEqual((again.host, again.base), (page.host, page.base))
        gate.write(1)
        self.assertEqual(self.site.run("tony", "attach", job_id).returncode, 0)

    def test_visits_that_cannot_be_read_let_nobody_in(self):
        gate = self.pipe("gate")
        job = self.submit(f"read word < {gate.path}", workers=1)
        job.wait_until_running("worker:0")
        page = self.enter(job.id)
        (job.folder / "secrets" / "page-visits.json").write_text("{", encoding="utf-8")
        os.kill(machine.master_of(job.id), signal.SIGKILL)
        status, text = page.ask("jobs")
        self.assertEqual(status, 403)
        self.assertIn(f"tony open {job.id}", text)
        other = self.enter(job.id)
        self.assertEqual(other.host, page.host)
        self.assertEqual(other.api("jobs")["jobs"][0]["incarnation"], 2)
        job.wait_until_attached_again(1)
        gate.write(1)
        self.assert_succeeds(job)

    def test_without_visitors_there_is_no_page(self):
        gate = self.pipe("gate")
        job = self.submit(f"read word < {gate.path}", workers=1)
        job.wait_until_running("worker:0")
        os.kill(machine.master_of(job.id), signal.SIGKILL)
        job.wait_until_attached_again(1)
        self.assertFalse((job.folder / "secrets" / "page-visits.json").exists())
        page = self.enter(job.id)
        self.assertEqual(page.api("jobs")["jobs"][0]["incarnation"], 2)
        gate.write(1)
        self.assert_succeeds(job)


if __name__ == "__main__":
    integration_case.main()
