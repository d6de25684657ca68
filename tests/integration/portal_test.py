"""`tony portal`: all jobs in one place, while they run and when they are over."""

import json
import os
import signal
import stat
import subprocess

import integration_case
import machine
import second_user
import tony_cli
from job_page import Page, rows


# Says what another user's program gets.
GET = """
    import socket, sys
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    try:
        connection.sendall(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
        print(connection.recv(100))
    except ConnectionError:
        print(b"")
"""


class Portal:
    """A portal that runs, and the browser of its user."""

    def __init__(self, case, *arguments):
        self.process = subprocess.Popen(
            case.site.command("tony", "portal", "--json", *arguments), cwd=case.site.folder,
            env=case.site.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        case.addCleanup(self.end)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        self.page = Page(json.loads(line)["url"])

    def enter(self):
        status, _, text = self.page.enter()
        if status != 303:
            raise AssertionError(f"{status} {text}")
        return self.page

    def end(self):
        """Ends it as Ctrl-C does; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(tony_cli.DEADLINE_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()
        return status


class PortalTest(integration_case.JobTest):
    """Against real jobs of one folder."""

    def wait_for(self, page, job, **wanted):
        """The job in the list, once it has the wanted fields."""
        def find():
            for listed in page.api("jobs", limit=500)["jobs"]:
                if listed["id"] == job.id and all(listed[name] == value for name, value in wanted.items()):
                    return listed
            return None

        found = machine.wait_until(find, tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertTrue(found, (wanted, page.api("jobs")))
        return found

    def test_a_job_from_its_start_until_it_is_removed(self):
        page = Portal(self).enter()
        self.assertEqual(page.api("jobs")["jobs"], [])
        gate = self.pipe("gate")
        job = self.submit(f"echo hello; read word < {gate.path}; echo the end", workers=2)
        listed = self.wait_for(page, job, state="RUNNING")
        self.assertTrue(listed["alive"])
        self.assertEqual((listed["tasks"], listed["ended_millis"]), (2, None))

        # The page of the running job, from its folder.
        place = f"jobs/{job.id}"
        summary = page.api(place)
        self.assertEqual((summary["id"], summary["state"], summary["recorded"]), (job.id, "RUNNING", True))
        self.assertFalse(summary["may"]["stop"])
        status, headers, text = page.get(f"{page.base}{place}")
        self.assertEqual((status, headers["Location"]), (303, f"{job.id}/"))
        status, headers, text = page.get(f"{page.base}{place}/")
        self.assertEqual(status, 200, text)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        status, answer = page.post(f"{place}/stop", "{}")
        self.assertEqual(status, 403)
        self.assertIn(f"tony kill {job.id}", answer["detail"])
        changes = page.stream(f"{place}/events")
        first = next(changes)
        self.assertEqual(first["event"], "job")
        gate.write(2)
        for change in changes:
            if change["event"] == "job" and change["data"]["verdict"]:
                break
        changes.close()
        self.assert_succeeds(job)

        # Its page when nothing of it runs any more.
        listed = self.wait_for(page, job, state="SUCCEEDED", alive=False)
        self.assertEqual((listed["exit_code"], listed["reason"]), (0, "TASKS_SUCCEEDED"))
        kept = json.loads((job.folder / "summary.json").read_text())
        self.assertEqual((kept["state"], kept["tasks"], kept["exit_code"]), ("SUCCEEDED", 2, 0))
        self.assertEqual(kept["events_bytes"], (job.folder / "events.jsonl").stat().st_size)
        self.assertGreater(listed["duration_millis"], 0)
        summary = page.api(place)
        self.assertEqual(summary["verdict"]["outcome"], "SUCCEEDED")
        tasks = rows(page.api(f"{place}/tasks"))
        self.assertEqual({task["state"] for task in tasks}, {"SUCCEEDED"})
        log = page.api(f"{place}/logs/worker-1/1/stdout")
        self.assertEqual([row[1] for row in log["rows"]], ["hello", "the end"])
        self.assertGreater(len(page.api(f"{place}/timeline")["rows"]), 0)
        keys = {key["key"]: key["value"] for key in page.api(f"{place}/config")["keys"]}
        self.assertEqual(keys["tony.worker.instances"], "2")
        numbers = [event["sequence"] for event in page.api(f"{place}/events")["events"]]
        self.assertEqual(numbers, list(range(1, summary["sequence"] + 1)))
        later = page.api(f"{place}/events", after=numbers[3], limit=2)
        self.assertEqual([event["sequence"] for event in later["events"]], numbers[4:6])

        self.site.run("tony", "rm", job.id)
        gone = machine.wait_until(lambda: not page.api("jobs")["jobs"], tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertTrue(gone)
        self.assertEqual(page.ask(place)[0], 404)

    def test_filters_and_words(self):
        good = self.submit("true")
        self.assert_succeeds(good)
        bad = self.submit("echo 'ValueError: no such batch' >&2; exit 7")
        self.assert_ends(bad, 1)
        page = Portal(self).enter()
        self.wait_for(page, bad, state="FAILED")

        def ids(**parameters):
            return [job["id"] for job in page.api("jobs", **parameters)["jobs"]]

        self.assertEqual(ids(), [bad.id, good.id])
        self.assertEqual(ids(sort="submitted"), [good.id, bad.id])
        self.assertEqual(ids(state="FAILED"), [bad.id])
        self.assertEqual(ids(state="FAILED,SUCCEEDED", q="CODE 7"), [bad.id])
        self.assertEqual(ids(alive="yes"), [])
        first = page.api("jobs", limit=1)
        self.assertEqual([first["jobs"][0]["id"], *ids(limit=1, cursor=first["next"])], [bad.id, good.id])
        counts = page.api("counts")
        self.assertEqual(counts["jobs"], 2)
        self.assertEqual({each["value"]: each["jobs"] for each in counts["states"]}, {"FAILED": 1, "SUCCEEDED": 1})
        (failed,) = page.api("jobs", state="FAILED")["jobs"]
        self.assertEqual(failed["guilty"], "worker:0")
        errors = page.api(f"jobs/{bad.id}/errors")
        self.assertIn("no such batch", errors["own"]["lines"][-1])
        for wrong in ({"sort": "mood"}, {"limit": 501}, {"state": "GOOD"}, {"cursor": "x"}, {"q": ""}):
            status, text = page.ask("jobs", **wrong)
            self.assertEqual(status, 400, (wrong, text))

    def test_a_job_whose_applicationmaster_was_killed_is_lost(self):
        gate = self.pipe("gate")
        job = self.submit(f"read word < {gate.path}", *integration_case.conf(am__max_restarts=0))
        job.wait_until_running("worker:0")
        page = Portal(self).enter()
        self.wait_for(page, job, state="RUNNING")
        (master,) = machine.programs_of(job.id, "tony-am")
        os.kill(master, signal.SIGKILL)
        listed = self.wait_for(page, job, state="LOST")
        self.assertIn(f"tony logs {job.id} am", listed["sentence"])
        self.assertEqual(page.api(f"jobs/{job.id}")["state"], "LOST")
        # Its executor notices the loss and cleans up.
        left = machine.wait_until(lambda: not machine.programs_of(job.id, "tony-executor"), tony_cli.DEADLINE_SECONDS)
        self.assertTrue(left)

    def test_two_locations(self):
        here = self.submit("true")
        self.assert_succeeds(here)
        local = self.site.local_dir
        other = self.site.folder / "other"
        subprocess.run(["cp", "-a", local, other], check=True)
        page = Portal(self, "--location", local, "--location", "other").enter()
        found = machine.wait_until(lambda: page.api("counts")["jobs"] == 2, tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertTrue(found)
        addresses = {job["address"]: job["location"] for job in page.api("jobs")["jobs"]}
        self.assertEqual(addresses, {here.id: str(local), f"{here.id}@2": str(other)})
        for address in addresses:
            self.assertEqual(page.api(f"jobs/{address}")["id"], here.id)
            self.assertEqual(page.get(f"{page.base}jobs/{address}/")[0], 200)
        for wrong in (f"{here.id}@1", f"{here.id}@3", f"{here.id}@", "..", ".hidden", "%2e%2e", "x" * 300):
            self.assertEqual(page.get(f"{page.base}jobs/{wrong}/")[0], 404, wrong)

    def test_who_may_see_it(self):
        portal = Portal(self)
        page = portal.page
        status, _, text = page.get(page.base)
        self.assertEqual(status, 403)
        self.assertIn("tony portal", text)
        portal.enter()
        self.assertEqual(page.get(page.base)[0], 200)
        self.assertEqual(page.enter()[0], 200, "a second visit with the cookie, and a used code")
        stranger = Page(f"http://{page.host}{page.code}")
        self.assertEqual(stranger.enter()[0], 403, "a code is good for one visit")
        self.assertEqual(page.get(page.base, Host="evil.example")[0], 403)
        self.assertEqual(page.get(f"{page.base}api/v1/jobs", Origin="http://evil.example")[0], 403)
        index = self.site.local_dir / "portal/index.db"
        self.assertTrue(machine.wait_until(index.exists, tony_cli.DEADLINE_SECONDS))
        self.assertEqual(stat.S_IMODE(index.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(index.parent.stat().st_mode), 0o700)

    def test_other_users_are_not_served(self):
        second_user.require(self)
        port = Portal(self).page.host.rsplit(":", 1)[1]
        self.assertEqual(second_user.run_python(GET, port).strip(), "b''")

    def test_what_is_refused(self):
        portal = Portal(self)
        cases = [
            (("--location", "hdfs://nn/history"), 2, "this machine only"),
            (("--backend", "yarn"), 2, "tony list --backend yarn"),
            (("--port", "http"), 2, "--port"),
            ((), 3, "another portal of yours"),
        ]
        for arguments, code, sentence in cases:
            result = self.site.run("tony", "portal", *arguments)
            self.assertEqual(result.returncode, code, (arguments, result.stderr))
            self.assertIn(sentence, result.stderr)
        self.assertEqual(portal.end(), 0)
        result = self.site.run("tony", "portal", "--location", "none")
        self.assertEqual(result.returncode, 3)
        self.assertIn("cannot show the jobs of", result.stderr)
        shared = self.site.folder / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        result = self.site.run("tony", "portal", "--location", shared)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("shared", result.stderr)


if __name__ == "__main__":
    integration_case.main()
