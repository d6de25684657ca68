"""`tony portal`: all jobs in one place, while they run and when they are over."""

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import urllib.parse

import certificates
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


class Visitor:
    """A browser of a portal of several users."""

    def __init__(self, certificate, port):
        self.context = ssl.create_default_context(cafile=certificate) if certificate else None
        self.port = port
        self.cookie = None

    def ask(self, path, body=None, **headers):
        """Status, headers and text."""
        kinds = {True: http.client.HTTPSConnection, False: http.client.HTTPConnection}
        more = {"context": self.context} if self.context else {}
        with contextlib.closing(kinds[bool(self.context)](
                "localhost", self.port, timeout=tony_cli.DEADLINE_SECONDS, **more)) as connection:
            if self.cookie:
                headers["Cookie"] = self.cookie
            connection.request("POST" if body else "GET", path, body,
                               {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def log_in(self, name, password):
        """Sends the form of the login page."""
        body = urllib.parse.urlencode({"name": name, "password": password})
        status, headers, text = self.ask("/login", body, Origin=f"https://localhost:{self.port}",
                                         Content_Type="application/x-www-form-urlencoded")
        if status == 303:
            self.cookie = headers["Set-Cookie"].split(";")[0]
        return status, text


class SharedPortalCase(integration_case.JobTest):
    """What tests with a portal of several users need."""

    def setUp(self):
        super().setUp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def file(self, name, text):
        path = self.site.folder / name
        path.touch(0o600)
        path.write_text(text)
        return path

    def make_certificate(self):
        """The files of a new certificate for localhost, which is its own authority, and of its key."""
        key, certificate = certificates.make_certificate(self.site.folder, alternatives="DNS:localhost")
        return certificate, key

    def start(self, *arguments, stderr=None):
        command = self.site.command("tony", "portal", "--listen", f"127.0.0.1:{self.port}", "--name", "localhost",
                                    *arguments)
        portal = subprocess.Popen(command, cwd=self.site.folder, env=self.site.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=stderr, text=True)
        for clean_up in (portal.stdout.close, portal.wait, portal.terminate):
            self.addCleanup(clean_up)
        self.assertEqual(portal.stdout.readline().split(":")[1:], ["//localhost", f"{self.port}/\n"])

    def line(self, user, password):
        return subprocess.run(self.site.command("tony", "portal", "--add-user", user), env=self.site.environment,
                              input=password + "\n", text=True, stdout=subprocess.PIPE, check=True).stdout


class SharedPortalTest(SharedPortalCase):
    """A portal of several users, with a login."""

    def shown(self):
        """The certificate that a new connection gets."""
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        with socket.create_connection(("127.0.0.1", self.port), tony_cli.DEADLINE_SECONDS) as plain, \
                context.wrap_socket(plain) as connection:
            return ssl.DER_cert_to_PEM_cert(connection.getpeercert(True))

    def test_a_renewed_certificate_is_shown_without_a_restart(self):
        certificate, key = self.make_certificate()
        users = self.file("users", self.line("alice:control", "correct horse"))
        log = open(self.site.folder / "portal.log", "w+", encoding="utf-8")  # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        self.start("--certificate", certificate, "--key", key, "--users", users, stderr=log)
        first = certificate.read_text()
        self.assertEqual(self.shown(), first)
        # Somebody who is there stays, on the connection that is there.
        context = ssl.create_default_context(cafile=certificate)
        with contextlib.closing(http.client.HTTPSConnection(
                "localhost", self.port, timeout=tony_cli.DEADLINE_SECONDS, context=context)) as old:
            def ask():
                old.request("GET", "/login")
                response = old.getresponse()
                response.read()
                return response.status
            self.assertEqual(ask(), 200)
            self.make_certificate()
            self.assertTrue(machine.wait_until(lambda: self.shown() == certificate.read_text() != first,
                                               tony_cli.DEADLINE_SECONDS, 0.1))
            self.assertEqual(ask(), 200)

        # One of no use changes nothing, and is said in a line.
        good = certificate.read_text()
        self.file("key.pem", "no key\n")

        def said():
            log.seek(0)
            return [line for line in log if "keeps the certificate that it has" in line]
        self.assertTrue(machine.wait_until(said, tony_cli.DEADLINE_SECONDS, 0.1))
        self.assertEqual(self.shown(), good)
        self.assertIn("key.pem", said()[0])
        self.make_certificate()
        self.assertTrue(machine.wait_until(lambda: self.shown() == certificate.read_text() != good,
                                           tony_cli.DEADLINE_SECONDS, 0.1))
        self.assertEqual(len(said()), 1)

    def test_users_log_in_over_tls(self):
        job = self.submit("echo hello")
        self.assert_succeeds(job)
        certificate, key = self.make_certificate()
        users = self.file("users", self.line("alice:control", "correct horse") + self.line("bob", "battery staple"))
        self.start("--certificate", certificate, "--key", key, "--users", users)

        alice = Visitor(certificate, self.port)
        status, headers, text = alice.ask("/", Accept="text/html")
        self.assertEqual(status, 403)
        self.assertIn('<form method="post" action="/login">', text)
        self.assertIn("form-action 'self'", headers["Content-Security-Policy"])
        style = text.split('href="/page')[1].split('"')[0]
        self.assertEqual(alice.ask(f"/page{style}")[0], 200, "the login page's style")
        self.assertEqual(alice.ask("/api/v1/jobs")[0], 403)
        self.assertEqual(alice.ask(f"/jobs/{job.id}/api/v1/jobs/{job.id}")[0], 403)
        self.assertEqual(alice.log_in("alice", "battery staple")[0], 403)
        self.assertEqual(alice.log_in("alice", "correct horse")[0], 303)
        self.assertEqual(json.loads(alice.ask("/api/v1/session")[2]),
                         {"user": "alice", "role": "control", "login": "password"})
        listed = machine.wait_until(lambda: json.loads(alice.ask("/api/v1/jobs")[2])["jobs"],
                                    tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertEqual([each["id"] for each in listed], [job.id])
        log = json.loads(alice.ask(f"/api/v1/jobs/{job.id}/logs/worker-0/1/stdout")[2])
        self.assertEqual([row[1] for row in log["rows"]], ["hello"])
        status, _, text = alice.ask(f"/api/v1/jobs/{job.id}/stop", "{}", Origin=f"https://localhost:{self.port}",
                                    Sec_Fetch_Site="same-origin", Content_Type="application/json")
        self.assertEqual(status, 403, text)

        bob = Visitor(certificate, self.port)
        self.assertEqual(bob.log_in("bob", "battery staple")[0], 303)
        self.assertEqual(json.loads(bob.ask("/api/v1/session")[2])["role"], "view")
        self.file("users", self.line("bob", "battery staple"))
        gone = machine.wait_until(lambda: alice.ask("/api/v1/session")[0] == 403, tony_cli.DEADLINE_SECONDS, 0.1)
        self.assertTrue(gone, "alice is not in the file any more")

        with socket.create_connection(("127.0.0.1", self.port), tony_cli.DEADLINE_SECONDS) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                answer = plain.recv(1000)
            except ConnectionResetError:
                answer = b""
            self.assertNotIn(b"HTTP/", answer)

    def test_a_proxy_names_its_users(self):
        self.start("--proxy-header", "X-Forwarded-User", "--proxy-from", "127.0.0.1", "--proxy-control", "alice")
        visitor = Visitor(None, self.port)
        self.assertEqual(visitor.ask("/")[0], 403)
        status, _, text = visitor.ask("/api/v1/session", X_Forwarded_User="alice")
        self.assertEqual((status, json.loads(text)), (200, {"user": "alice", "role": "control", "login": "header"}))
        self.assertEqual(json.loads(visitor.ask("/api/v1/session", X_Forwarded_User="bob")[2])["role"], "view")
        self.assertEqual(visitor.ask("/", X_Forwarded_User="bob", Host="evil.example")[0], 403)
        if os.geteuid() == 0:  # else nobody else can be tried
            self.assertEqual(second_user.run_python(GET, str(self.port)).strip(), "b''")

    def test_what_is_refused(self):
        users = self.file("users", self.line("alice", "correct horse"))
        cases = [
            (("--users", users), "--listen"),
            (("--listen", "0.0.0.0:8443"), "--users FILE"),
            (("--listen", "0.0.0.0:8443", "--users", users), "--certificate FILE"),
            (("--listen", "0.0.0.0:8443", "--proxy-header", "X", "--proxy-from", "10.0.0.1"), "private networks"),
            (("--listen", "localhost:8443", "--users", users), "numeric address"),
            (("--listen", "127.0.0.1:8443", "--port", "1"), "--port"),
            (("--add-user", "a b"), "no user's name"),
            (("--listen", "127.0.0.1:8443", "--users", users, "--certificate", users), "go together"),
        ]
        for arguments, sentence in cases:
            result = self.site.run("tony", "portal", *arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(sentence, result.stderr)
        users.chmod(0o644)
        key = self.file("key.pem", "x")
        result = self.site.run("tony", "portal", "--listen", "127.0.0.1:8443", "--users", users,
                               "--certificate", key, "--key", key)
        self.assertEqual(result.returncode, 3)
        self.assertIn("no certificate", result.stderr)


if __name__ == "__main__":
    integration_case.main()
