#!/usr/bin/env python3
"""Alerts of real jobs, as a webhook on this machine receives them."""

import hashlib
import hmac
import html
import http.server
import json
import os
import signal
import threading
import time

import integration_case
import machine
from integration_case import JobTest, conf

SECRET = "a key of more than sixteen letters"
PATH = "/services/T0/B0/pathsecret"
DEADLINE_SECONDS = 60


class Receiver:
    """A webhook on loopback. `answers`: the codes of its next answers, then 200; 0 hangs."""

    def __init__(self, test, answers=()):
        self._changed = threading.Condition()
        self._answers = list(answers)
        self._leaving = threading.Event()
        self.received = []  # (path, headers, body)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Keeps what comes."""

            def do_POST(self):  # pylint: disable=invalid-name
                """Answers as the test wishes."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code = receiver.take(self.path, dict(self.headers), body)
                if code == 0:
                    receiver.hang()
                    return
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        test.addCleanup(self._server.server_close)
        test.addCleanup(self._server.shutdown)
        test.addCleanup(self._leaving.set)
        self.server = f"http://127.0.0.1:{self._server.server_port}"
        self.url = self.server + PATH

    def take(self, path, headers, body):
        """Keeps a message; returns the code of its answer."""
        with self._changed:
            self.received.append((path, headers, body))
            self._changed.notify_all()
            return self._answers.pop(0) if self._answers else 200

    def hang(self):
        """Returns when the test is over."""
        self._leaving.wait(DEADLINE_SECONDS)

    def wait_for(self, count):
        """Waits for so many messages; returns their bodies."""
        end = time.monotonic() + DEADLINE_SECONDS
        with self._changed:
            while len(self.received) < count:
                if not self._changed.wait(end - time.monotonic()):
                    raise AssertionError(f"{len(self.received)} of {count} alerts came")
        return self.bodies()

    def bodies(self):
        """The messages so far."""
        return [json.loads(body) for _, _, body in self.received]

    def events(self):
        """The names of their events."""
        return [body["event"] for body in self.bodies()]


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
