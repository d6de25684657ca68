#!/usr/bin/env python3
"""The folder tony.local.dir: whose it may be, what is removed from it, and what never is."""

import json
import os
import shutil
import signal
import subprocess
import time

import integration_case
import machine
import second_user
from integration_case import SMALL, JobTest

DAY_SECONDS = 24 * 3600
TRUE = ("--executes", "true", "--conf", "tony.worker.instances=1", *SMALL)


def snapshot(folder):
    """Everything in a folder: paths, modes, times and bytes."""
    return {
        path: (path.lstat().st_mode, path.lstat().st_mtime_ns,
               path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


class OwnFilesTest(JobTest):
    """A folder in which the user keeps other things."""

    def put(self, name, age_days=0):
        path = self.site.local_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the user's own {name}")
        then = time.time() - age_days * DAY_SECONDS
        for each in (path, path.parent):
            os.utime(each, (then, then))

    def test_stay_byte_for_byte(self):
        self.put("jobs/thesis/chapter.tex", age_days=60)
        for name in ("cache", "archives", "secrets", "containers"):
            self.put(f"jobs/new/{name}/file")
        for name in ("ledger/accounts.json", "ledger/yarn.lock", "staging/site/index.html"):
            self.put(name)
        before = snapshot(self.site.local_dir)
        result = self.site.run("tony-submit", *TRUE)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(
            result.stderr,
            f"tony-submit: '{self.site.local_dir}' has something in it that is not tony's, "
            f"'{self.site.local_dir}/jobs/new', and what is old in tony's folder is removed: set "
            "tony.local.dir to a new or an empty folder, which is then tony's alone\n",
        )
        self.assertEqual(snapshot(self.site.local_dir), before)

    def test_that_come_later_stay_as_well(self):
        self.assert_succeeds(self.submit("true"))
        self.put("jobs/thesis/chapter.tex", age_days=60)
        self.put("jobs/new/secrets/file")
        self.put("ledger/accounts.json")
        folders = [self.site.local_dir / name for name in ("jobs/thesis", "jobs/new")]
        before = [snapshot(folder) for folder in folders]
        # The second day: old histories are removed now.
        self.assertEqual(self.site.run("tony-submit", *TRUE).returncode, 0)
        self.note_time(days_ago=2)
        self.assertEqual(self.site.run("tony-submit", *TRUE).returncode, 0)
        self.assertEqual([snapshot(folder) for folder in folders], before)
        self.assertTrue((self.site.local_dir / "ledger/accounts.json").exists())

    def note_time(self, days_ago):
        """As if an earlier submission, before the machine was booted, had seen the time."""
        noted = {"wall_millis": int((time.time() - days_ago * DAY_SECONDS) * 1000),
                 "boot_id": "another boot", "uptime_millis": 0}
        (self.site.local_dir / "clock.json").write_text(json.dumps({"noted": noted}))

    def test_the_folder_of_an_earlier_version_goes_on(self):
        first = self.submit("true")
        self.assert_succeeds(first)
        for name in (".tony-folder", "clock.json"):
            (self.site.local_dir / name).unlink()
        self.assert_succeeds(self.submit("true"))
        self.assertTrue((self.site.local_dir / ".tony-folder").exists())
        self.assertTrue((first.folder / "events.jsonl").exists())

    def test_histories_stay_when_the_clock_was_set_ahead_once(self):
        job = self.submit("true")
        self.assert_succeeds(job)
        # The same as a clock that is 31 days ahead from now on.
        then = time.time() - 31 * DAY_SECONDS
        os.utime(job.folder, (then, then))
        self.assert_succeeds(self.submit("true"))
        self.assertTrue((job.folder / "events.jsonl").exists())
        self.note_time(days_ago=2)
        os.utime(job.folder, (time.time() - 40 * DAY_SECONDS,) * 2)
        self.assert_succeeds(self.submit("sleep 0.2"))
        self.assertFalse(job.folder.exists())


# A second user's program: puts folders of its own, open to all, into the place of a job's as soon as
# that is there.
SWAPPER = """
    import os, sys
    jobs = sys.argv[1]
    print("ready", flush=True)
    while True:
        for name in os.listdir(jobs):
            path = os.path.join(jobs, name)
            try:
                if os.path.exists(path + ".taken") or name.endswith(".taken"):
                    continue
                os.rename(path, path + ".taken")
                os.makedirs(path + "/secrets", 0o777)
                os.makedirs(path + "/archives", 0o777)
                os.makedirs(path + "/logs", 0o777)
                for folder in ("", "/secrets", "/archives", "/logs"):
                    os.chmod(path + folder, 0o777)
            except OSError:
                pass
"""


class ForeignFolderTest(JobTest):
    """A folder below one that a second user made."""

    def setUp(self):
        super().setUp()
        second_user.require(self)
        os.chmod(self.site.folder, 0o755)
        self.square = self.site.folder / "square"
        self.square.mkdir()
        os.chmod(self.square, 0o1777)

    def make(self, *names, mode=0o777):
        """Makes folders of the second user's."""
        for name in names:
            path = self.square / name
            path.mkdir(parents=True)
            os.chmod(path, mode)
            os.chown(path, second_user.UID, second_user.UID)
        return self.square / names[0]

    def assert_refused_for(self, component, why):
        said = self.assert_refused(2, *TRUE)
        self.assertIn(f"'{component}' belongs to {why}", said)
        self.assertIn("tony.local.dir", said)

    def test_is_refused_before_anything_is_in_it(self):
        theirs = self.make("tony-of-the-victim", "tony-of-the-victim/jobs")
        self.site.local_dir = theirs
        swapper = second_user.start_python(SWAPPER, theirs / "jobs",
                                           stdout=subprocess.PIPE, text=True)
        self.addCleanup(swapper.stdout.close)
        self.addCleanup(swapper.wait)
        self.addCleanup(swapper.kill)
        self.assertEqual(swapper.stdout.readline(), "ready\n")
        self.assert_refused_for(theirs, f"user {second_user.UID} and has mode 0777")
        self.assertEqual([path.name for path in theirs.rglob("*")], ["jobs"])

    def test_an_ancestor_counts_as_well(self):
        theirs = self.make("theirs", mode=0o755)
        mine = theirs / "mine"
        mine.mkdir(mode=0o700)
        self.site.local_dir = mine / "tony"
        self.assert_refused_for(theirs, f"user {second_user.UID} and has mode 0755")
        self.assertEqual(list(mine.iterdir()), [])

    def test_so_does_a_link(self):
        link = self.square / "link"
        link.symlink_to(self.site.folder)
        os.lchown(link, second_user.UID, second_user.UID)
        self.site.local_dir = link / "tony"
        self.assert_refused_for(link, f"user {second_user.UID}")
        os.lchown(link, 0, 0)
        self.assert_succeeds(self.submit("true"))

    def test_so_does_one_that_others_may_write_to(self):
        open_to_all = self.site.folder / "open"
        open_to_all.mkdir()
        os.chmod(open_to_all, 0o775)
        os.chown(open_to_all, 0, second_user.UID)
        self.site.local_dir = open_to_all / "tony"
        self.assert_refused_for(open_to_all, "root and has mode 0775")
        os.chmod(open_to_all, 0o755)
        self.assert_succeeds(self.submit("true"))

    def test_a_sticky_folder_of_roots_is_fine(self):
        self.site.local_dir = self.square / "tony"
        self.assert_succeeds(self.submit("true"))


class UmaskTest(JobTest):
    """A umask that takes everything from everybody."""

    def test_of_0777_is_no_hindrance(self):
        prefix = ["sh", "-c", 'umask 0777; exec "$@"', "sh"]
        if os.geteuid() == 0:  # who may do everything anyhow
            if shutil.which("setpriv") is None:
                self.skipTest("there is no setpriv to become another user")
            user = second_user.UID
            prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *prefix]
            os.chown(self.site.folder, user, user)
            if self.site.run_as(prefix[:4], "tony", "list").returncode != 0:
                self.skipTest("another user cannot run the programs where they lie")
        for _ in range(2):
            self.assert_succeeds(
                self.site.submit("--executes", "echo some", "--conf", "tony.worker.instances=2",
                                 *SMALL, prefix=prefix)
            )
        result = self.site.run_as(prefix, "tony", "logs", "latest")
        self.assertIn("some", result.stdout, result.stderr)


class SlowCleanUpTest(JobTest):
    """A job that leaves more files than its ApplicationMaster has time to remove."""

    # Links, which are made faster than files.
    LEAVE_FILES = (
        "python3 -c 'import os\n"
        "for d in range(10):\n"
        "    os.mkdir(f\"{d}\"); open(f\"{d}/left\", \"w\")\n"
        "    for i in range(10_000): os.link(f\"{d}/left\", f\"{d}/{i}\")'"
    )

    def test_of_a_killed_master_is_finished_by_the_client(self):
        job = self.submit(self.LEAVE_FILES, "--conf", "tony.client.am-exit-timeout-ms=1")
        self.assert_succeeds(job)

    def test_of_a_killed_master_is_finished_by_the_next_one(self):
        gate = self.pipe("gate")
        ready = self.pipe("ready")
        job_id = self.detach(f"{self.LEAVE_FILES}; echo > {ready.path}; read go < {gate.path}")
        folder = self.site.local_dir / "jobs" / job_id
        ready.read()
        masters = machine.programs_of(job_id, "tony-am")
        # The other one is the keeper, which starts the next one.
        (master,) = (pid for pid in masters if machine.parent_of(pid) in masters)
        gate.write()
        machine.wait_until(lambda: not (folder / "secrets").exists(), 60)
        os.kill(master, signal.SIGKILL)
        self.assertTrue((folder / "containers").exists(), "the clean-up was too quick for this")
        machine.wait_until(lambda: not machine.processes_with(job_id), 60)
        self.assertIn("the job is over; what was left of it is removed",
                      (folder / "logs/am.log").read_text())
        self.assert_nothing_left(folder)
        self.assertEqual(self.site.verb("status", job_id)["state"], "SUCCEEDED")


if __name__ == "__main__":
    integration_case.main()
