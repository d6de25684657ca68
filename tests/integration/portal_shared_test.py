"""`tony portal --listen`: a portal of several users, who log in or come through a proxy."""

import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import urllib.parse

import integration_case
import certificates
import machine
import second_user
import tony_cli
from portal_test import GET


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

    def stop(self, visitor, job, below="", **headers):
        """Asks for the job's end as the page's script does; `headers` replace its. Returns status and text."""
        sent = {"Origin": f"https://localhost:{self.port}", "Sec_Fetch_Site": "same-origin",
                "Content_Type": "application/json", **headers}
        status, _, text = visitor.ask(f"{below}/api/v1/jobs/{job.id}/stop", "{}", **sent)
        return status, text

    def test_users_log_in_over_tls(self):
        job = self.submit("echo hello")
        self.assert_succeeds(job)
        running = self.submit(f"read word < {self.pipe('gate').path}")
        running.wait_until_running("worker:0")
        certificate, key = self.make_certificate()
        users = self.file("users", self.line("alice:control", "correct horse") + self.line("bob", "battery staple"))
        log_file = self.site.folder / "portal.log"
        with log_file.open("w") as stderr:
            self.start("--certificate", certificate, "--key", key, "--users", users, stderr=stderr)

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
        machine.wait_until(lambda: len(json.loads(alice.ask("/api/v1/jobs")[2])["jobs"]) == 2,
                           tony_cli.DEADLINE_SECONDS, 0.1)
        listed = json.loads(alice.ask("/api/v1/jobs")[2])["jobs"]
        self.assertEqual([each["id"] for each in listed], [running.id, job.id])
        log = json.loads(alice.ask(f"/api/v1/jobs/{job.id}/logs/worker-0/1/stdout")[2])
        self.assertEqual([row[1] for row in log["rows"]], ["hello"])
        self.assertEqual(self.stop(alice, job)[0], 409, "it is over")

        # Who may only look may not end it, nor may a page of another site in the name of who may.
        bob = Visitor(certificate, self.port)
        self.assertEqual(bob.log_in("bob", "battery staple")[0], 303)
        self.assertEqual(json.loads(bob.ask("/api/v1/session")[2])["role"], "view")
        self.assertFalse(json.loads(bob.ask(f"/api/v1/jobs/{running.id}")[2])["may"]["stop"])
        self.assertTrue(json.loads(alice.ask(f"/api/v1/jobs/{running.id}")[2])["may"]["stop"])
        for below in ("", f"/jobs/{running.id}"):
            status, text = self.stop(bob, running, below)
            self.assertEqual(status, 403)
            self.assertIn("view", text)
            self.assertEqual(self.stop(alice, running, below, Origin="https://evil.example")[0], 403)
            self.assertEqual(self.stop(alice, running, below, Sec_Fetch_Site="cross-site")[0], 403)
            self.assertEqual(self.stop(alice, running, below, Content_Type="text/plain")[0], 415)
        self.assertEqual(self.stop(Visitor(certificate, self.port), running)[0], 403, "nobody")
        self.assertEqual(self.stop(alice, running)[0], 202)
        self.assertIn("by alice in the portal", self.assert_ends(running, 4, "KILLED_BY_USER"))
        self.assertIn(f"a job is told to end from the portal job={running.id} user=alice", log_file.read_text())
        self.assertIn(f"a change is refused in the portal job={running.id} user=bob", log_file.read_text())
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
        # The proxy has the login.
        self.assertEqual(visitor.ask("/login", X_Forwarded_User="bob")[0], 404)
        self.assertEqual(visitor.ask("/login", "name=bob", X_Forwarded_User="bob")[0], 405)
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
