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
        self.assertTrue(summary["may"]["stop"])
        self.assertFalse(summary["may"]["stacks"])
        status, headers, text = page.get(f"{page.base}{place}")
        self.assertEqual((status, headers["Location"]), (303, f"{job.id}/"))
        status, headers, text = page.get(f"{page.base}{place}/")
        self.assertEqual(status, 200, text)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        for headers in ({"Origin": None}, {"Origin": "http://elsewhere"}, {"Sec_Fetch_Site": "cross-site"}):
            self.assertEqual(page.post(f"{place}/stop", "{}", **headers)[0], 403)
        status, answer = page.post(f"{place}/stacks", "{}")
        self.assertEqual(status, 409)
        self.assertIn(f"tony stacks {job.id}", answer["detail"])
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

    def test_a_past_job_is_compared_with_the_run_before_it(self):
        named = ("--conf", "tony.application.name=again")
        first = self.submit("true", *named)
        self.assert_succeeds(first)
        second = self.submit("exit 3", *named)
        self.assert_ends(second, 1)
        page = Portal(self).enter()
        for job, previous in ((second, first.id), (first, None)):
            self.wait_for(page, job, alive=False)
            self.assertEqual(page.api(f"jobs/{job.id}/config/previous")["job"], previous)

    def test_a_running_job_is_ended_from_its_page(self):
        job = self.submit(f"read word < {self.pipe('gate').path}", *integration_case.conf(application__name="too long"))
        job.wait_until_running("worker:0")
        page = Portal(self).enter()
        self.wait_for(page, job, state="RUNNING")
        status, answer = page.post(f"jobs/{job.id}/stop", json.dumps({"reason": "enough"}))
        self.assertEqual(status, 202, answer)
        sentence = self.assert_ends(job, 4, "KILLED_BY_USER")
        self.assertRegex(sentence, r"told to stop it by \S+ in the portal: enough")
        listed = self.wait_for(page, job, state="KILLED", alive=False)
        self.assertIn("in the portal: enough", listed["sentence"])
        gone = machine.wait_until(lambda: not page.api(f"jobs/{job.id}")["may"]["stop"], tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertTrue(gone)
        self.assertEqual(page.post(f"jobs/{job.id}/stop", "{}")[0], 409)

    def test_the_stacks_of_a_past_job_that_a_time_out_has_ended(self):
        program = self.site.folder / "wait.py"
        program.write_text("import os\ndef load_batch():\n    os.read(os.pipe()[0], 1)\nload_batch()\n")
        job = self.submit(f"python3 {program}", "--conf", "tony.task.executor.execution-timeout-ms=10000", workers=2)
        self.assert_ends(job, 3, "TASK_TIMED_OUT")
        page = Portal(self).enter()
        self.wait_for(page, job, alive=False)
        stacks = page.api(f"jobs/{job.id}/stacks")
        self.assertIsNone(stacks["taken_millis"])
        shown = {kept["task"]: kept for kept in stacks["kept"]}
        said = {kept["task"]: kept for kept in self.site.verb("stacks", job.id)["kept"]}
        self.assertEqual(sorted(shown), sorted(said))
        for task, kept in shown.items():
            self.assertEqual((kept["attempt"], kept["text"], kept["cut"]), (1, said[task]["text"], False))
        self.assertTrue(any("load_batch" in kept["text"] for kept in shown.values()), shown)
        self.assertEqual(stacks["kept_left_out"], 0)

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

    def test_histories_of_tony(self):
        folder = self.site.folder / "history"
        place = folder / "finished/2019/05/31/application_1559240000000_0007"
        place.mkdir(0o700, parents=True)
        folder.chmod(0o700)
        name = "application_1559240000000_0007-1559260000000-1559260060000-svc-ml-FAILED.jhist"
        (place / name).write_bytes(b"Obj\x01")
        page = Portal(self, "--tony-history", "history").enter()
        (listed,) = machine.wait_until(lambda: page.api("jobs")["jobs"], tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertEqual((listed["id"], listed["state"], listed["user"], listed["duration_millis"]),
                         ("application_1559240000000_0007", "FAILED", "svc-ml", 60000))
        self.assertIn("a history of TonY", listed["trouble"])
        self.assertEqual(listed["address"], "application_1559240000000_0007@2")
        status, _, text = page.get(f"{page.base}jobs/{listed['address']}/", Accept="text/html")
        self.assertEqual(status, 404)
        self.assertIn("has run under TonY for 1m 00s and ended as FAILED", text)
        self.assertEqual(page.ask(f"jobs/{listed['address']}")[0], 404)

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
            (("--location", "s3://bucket/history"), 2, "hdfs://HOST:PORT/PATH"),
            (("--location", "hdfs:///history"), 2, "nothing says which HDFS that is"),
            (("--tony-history", "hdfs://nn/history"), 2, "--tony-history hdfs://nn/history: the portal reads folders"),
            (("--backend", "yarn"), 3, "nothing says where the YARN cluster is"),
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
