#!/usr/bin/env python3
"""Alerts of real jobs, as a webhook on this machine receives them."""

import hashlib
import hmac
import html
import os
import select
import signal
import socket
import socketserver
import threading
import time

import certificates
import integration_case
import machine
from integration_case import JobTest, conf
from webhook import PATH, Receiver

SECRET = "a key of more than sixteen letters"
DEADLINE_SECONDS = 60


class Proxy:
    """A proxy on loopback that connects its clients with servers, and keeps what they asked for."""

    def __init__(self, test):
        self.asked = []
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            """One connection."""

            def handle(self):
                """Carries bytes both ways until one side ends."""
                request = self.rfile.readline().decode()
                proxy.asked.append(request.strip())
                while self.rfile.readline().strip():
                    pass
                host, port = request.split()[1].rsplit(":", 1)
                with socket.create_connection((host, int(port)), DEADLINE_SECONDS) as server:
                    self.connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                    ends = {self.connection: server, server: self.connection}
                    while True:
                        for end in select.select(list(ends), [], [], DEADLINE_SECONDS)[0]:
                            data = end.recv(1 << 16)
                            if not data:
                                return
                            ends[end].sendall(data)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"


class AlertsTest(JobTest):
    """Jobs that tell a webhook."""

    def start(self, receiver, command, *arguments, properties=(), workers=1):
        """Starts a job whose job file names the receiver."""
        job_file = self.write_job(
            ("tony.alerts.urls", receiver.url), ("tony.containers.command", html.escape(command)),
            ("tony.worker.instances", workers), *properties)
        return self.site.submit(str(job_file), *integration_case.SMALL, *arguments)

    def secret_file(self, mode=0o600):
        """A file with the signature's key."""
        path = self.site.folder / "alert.key"
        path.write_text(SECRET + "\n", encoding="ascii")
        path.chmod(mode)
        return path

    def assert_path_is_nowhere(self, folder):
        """The address's path is in the job's configuration, and in no other file of the job."""
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "job.xml":
                self.assertNotIn(b"pathsecret", path.read_bytes(), path)

    def test_a_job_tells_its_start_and_end_signed(self):
        receiver = Receiver(self)
        job = self.start(receiver, "true",
                         properties=[("tony.alerts.secret-file", self.secret_file())])
        self.assert_succeeds(job)
        start, end = receiver.bodies()
        self.assertEqual((start["event"], start["state"], start["attempt"]), ("start", "RUNNING", 1))
        self.assertEqual((end["event"], end["state"], end["reason"], end["id"]),
                         ("end", "SUCCEEDED", "TASKS_SUCCEEDED", f"{job.id}.end"))
        self.assertEqual(end["job"]["id"], job.id)
        for path, headers, body in receiver.received:
            self.assertEqual((path, headers["Content-Type"]), (PATH, "application/json"))
            signed = headers["X-Tony-Timestamp"].encode() + b"." + body
            mac = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
            self.assertEqual(headers["X-Tony-Signature"], "sha256=" + mac)
            self.assertLess(abs(time.time() - int(headers["X-Tony-Timestamp"])), DEADLINE_SECONDS)
        self.assert_path_is_nowhere(job.folder)

    def test_slack(self):
        receiver = Receiver(self)
        job = self.start(receiver, "exit 3", properties=[
            ("tony.alerts.format", "slack"), ("tony.alerts.events", "end"),
            ("tony.application.name", "&lt;!here&gt;")])
        self.assert_ends(job, 1, "TASK_FAILED")
        (body,) = receiver.bodies()
        self.assertEqual(list(body), ["text"])
        self.assertIn("job &lt;!here&gt; (", body["text"])
        self.assertIn("has ended: FAILED\nworker:0", body["text"])

    def test_what_fails_for_a_moment_is_sent_again(self):
        receiver = Receiver(self, [500])
        self.assert_succeeds(self.start(receiver, "true"))
        self.assertEqual(receiver.events(), ["start", "start", "end"])

    def test_a_redirection_is_not_followed_and_a_note_says_so(self):
        receiver, gate = Receiver(self, [302]), self.pipe("gate")
        job = self.start(receiver, f"read word < {gate.path}")
        job.wait_for(
            lambda events: any("did not reach" in event.get("note", {}).get("sentence", "")
                               for event in events), "note")
        gate.write(1)
        self.assert_succeeds(job)
        self.assertEqual([path for path, _, _ in receiver.received], [PATH, PATH])
        notes = [event["sentence"] for event in job.events("note")]
        self.assertIn(f'The alert "start" did not reach {receiver.server}: it answers 302, and '
                      "redirections are not followed", notes)
        self.assert_path_is_nowhere(job.folder)

    def test_https_by_an_authority_of_its_own_through_a_proxy(self):
        certificate = certificates.make_certificate(self.site.folder)
        receiver, proxy = Receiver(self, certificate=certificate), Proxy(self)
        job = self.start(receiver, "true", properties=[
            ("tony.alerts.ca-file", certificate[1]), ("tony.alerts.proxy", proxy.url)])
        self.assert_succeeds(job)
        self.assertEqual(receiver.events(), ["start", "end"])
        self.assertIsNone(receiver.bodies()[0]["job"]["page"])  # only `tony open` leads to it
        self.assertEqual(set(proxy.asked), {f"CONNECT {receiver.server.removeprefix('https://')} HTTP/1.1"})
        self.assert_path_is_nowhere(job.folder)

    def test_a_certificate_that_nobody_known_has_signed(self):
        receiver, gate = Receiver(self, certificate=certificates.make_certificate(self.site.folder)), self.pipe("gate")
        job = self.start(receiver, f"read word < {gate.path}", properties=[("tony.alerts.events", "start")])
        job.wait_for(
            lambda events: any(receiver.server in event.get("note", {}).get("sentence", "") for event in events), "note")
        gate.write(1)
        self.assert_succeeds(job)
        self.assertIn("certificate", " ".join(event["sentence"] for event in job.events("note")))
        self.assertEqual(receiver.received, [])

    def test_a_worker_that_is_killed_is_a_restart(self):
        receiver, gate = Receiver(self), self.pipe("gate")
        job = self.start(receiver, f"read word < {gate.path}", *conf(am__retry_count=1))
        (pid,) = job.wait_until_running("worker:0")
        os.kill(pid, signal.SIGKILL)
        restart = receiver.wait_for(2)[1]
        self.assertEqual((restart["event"], restart["guilty"], restart["attempt"]),
                         ("restart", "worker:0", 2))
        self.assertEqual(restart["retries_left"], 0)
        gate.write(1)
        self.assert_succeeds(job)
        self.assertEqual(receiver.events(), ["start", "restart", "end"])

    def test_another_application_master_does_not_repeat_the_start(self):
        receiver, gate = Receiver(self), self.pipe("gate")
        job = self.start(receiver, f"read word < {gate.path}")
        job.wait_until_running("worker:0")
        receiver.wait_for(1)
        os.kill(machine.master_of(job.id), signal.SIGKILL)
        job.wait_until_attached_again(1)
        gate.write(1)
        self.assert_succeeds(job)
        self.assertEqual(receiver.events(), ["start", "end"])
        self.assertEqual(receiver.bodies()[1]["master_attempt"], 2)

    def test_a_receiver_that_hangs_does_not_hold_the_verdict(self):
        receiver = Receiver(self, [0, 0])
        job = self.start(receiver, "true")
        job.wait_for(lambda events: any("ended" in event for event in events), "verdict")
        heard = time.monotonic()
        self.assert_succeeds(job)
        self.assertLess(time.monotonic() - heard, 9)

    def test_a_hang_is_told(self):
        receiver, gate = Receiver(self), self.pipe("gate")
        job = self.start(
            receiver, "for step in 1 2 3 4 5 6; do echo step=$step > $TONY_PROGRESS; "
            "for turn in $(seq 100000); do :; done; done; "
            f"read word < {gate.path}",
            *conf(task__metrics_interval_ms=100, task__hang_limit_ms=1000))
        self.assertEqual([body["event"] for body in receiver.wait_for(2)], ["start", "hang"])
        self.assertIn("worker:0 has named no step", receiver.bodies()[1]["sentence"])
        gate.write(1)
        self.assert_succeeds(job)


class RefusedTest(JobTest):
    """What is wrong with alerts is said before a job starts."""

    def refused(self, *properties, arguments=()):
        """What tony-submit says of a job file with these properties."""
        job_file = self.write_job(("tony.containers.command", "true"),
                                  ("tony.worker.instances", 1), *properties)
        return self.assert_refused(2, str(job_file), *arguments)

    def test_a_secret_that_others_can_read(self):
        path = self.site.folder / "alert.key"
        path.write_text(SECRET, encoding="ascii")
        path.chmod(0o640)
        said = self.refused(("tony.alerts.secret-file", path))
        self.assertIn(f"others than its owner have access to {path}; run: chmod 600", said)

    def test_an_address_on_the_command_line(self):
        said = self.refused(arguments=["--conf", f"tony.alerts.urls=https://127.0.0.1{PATH}"])
        self.assertIn("others may read a command line", said)
        self.assertNotIn("pathsecret", said)

    def test_a_bad_address_is_not_repeated(self):
        said = self.refused(("tony.alerts.urls", f"ftp://127.0.0.1{PATH}"))
        self.assertIn("job.xml:4: tony.alerts.urls: address 1 begins with neither", said)
        self.assertNotIn("pathsecret", said)

    def test_a_proxy_with_a_password(self):
        said = self.refused(("tony.alerts.proxy", "http://me:word@127.0.0.1:3128"))
        self.assertIn("tony.alerts.proxy: this is no proxy that tony can use", said)
        self.assertIn("write http://HOST:PORT", said)

    def test_an_unknown_event(self):
        self.assertIn("'stop' is no event", self.refused(("tony.alerts.events", "start,stop")))

    def test_a_dry_run_hides_the_path(self):
        job_file = self.write_job(("tony.containers.command", "true"), ("tony.worker.instances", 1),
                                  ("tony.alerts.urls", f"https://127.0.0.1{PATH}"))
        for options in ([], ["--json"]):
            result = self.site.run("tony-submit", "--dry-run", str(job_file), *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("https://127.0.0.1/[redacted]", result.stdout)
            self.assertNotIn("pathsecret", result.stdout + result.stderr)


if __name__ == "__main__":
    integration_case.main()
