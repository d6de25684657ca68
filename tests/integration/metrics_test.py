#!/usr/bin/env python3
"""The metrics of jobs for Prometheus, which has a token in place of a browser's cookie."""

import http.client
import json
import os
import pathlib
import re
import signal
import ssl

import integration_case
import job_page
import machine
import tony_cli
from integration_case import conf
from portal_shared_test import SharedPortalCase
from portal_test import Portal

TOKEN = "0123456789abcdef" * 4
RIGHT = f"Bearer {TOKEN}"
OFTEN = conf(task__metrics_interval_ms=100)
# One line of the format: a comment with the family's help or type, or a sample.
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\S+)')
COMMENT = re.compile(r"# (HELP|TYPE) ([a-z_]+) \S.*")


def parse(text):
    """The samples of a text in the format 0.0.4, strictly: {name: {labels: value}}."""
    families, heads = {}, []
    assert text.endswith("\n")
    for line in text.splitlines():
        comment, sample = COMMENT.fullmatch(line), SAMPLE.fullmatch(line)
        assert comment or sample, line
        if comment:
            heads.append(comment.groups())
            assert heads.count(comment.groups()) == 1, line
        else:
            name, labels, value = sample.groups()
            assert heads[-2:] == [("HELP", name), ("TYPE", name)], line
            assert labels not in families.setdefault(name, {}), line
            families[name][labels] = float(value)
    return families


def samples_of(families, name):
    """The values of a family by the labels besides the task's."""
    of_task = re.compile(r'job="[^"]*",task="[^"]*",attempt="[^"]*",?')
    return {of_task.sub("", labels): value for labels, value in families.get(name, {}).items()}


class MetricsCase(integration_case.JobTest):
    """What tests with a token need."""

    def token_file(self, text=TOKEN + "\n", mode=0o600):
        path = self.site.folder / "metrics.token"
        path.touch(0o600)
        path.write_text(text, encoding="ascii")
        path.chmod(mode)
        return path

    def scrape(self, page, path="/metrics", authorization=RIGHT):
        """The samples of what is at `path` of a page's server."""
        status, headers, text = page.get(path, Authorization=authorization)
        self.assertEqual(status, 200, text)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return parse(text)


class JobMetricsTest(MetricsCase):
    """Of one job, at the port of its page."""

    def start(self, command="", *arguments):
        """A job that waits; a client of its page's server without a cookie, and the pipe."""
        gate = self.pipe("gate")
        job = self.submit(f"{command} read word < {gate.path}", *OFTEN,
                          *conf(metrics__token_file=self.token_file()), *arguments)
        job.wait_until_running("worker:0")
        return job, gate

    def client(self, job):
        return job_page.Page(self.site.verb("open", job.id)["url"])

    def test_only_the_metrics_and_only_with_the_token(self):
        job, gate = self.start()
        page = self.client(job)
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            status, headers, text = page.get("/metrics", **header)
            self.assertEqual((status, headers["Content-Type"]), (401, "application/problem+json"), text)
            self.assertIn("Bearer", headers["WWW-Authenticate"])
            self.assertEqual(json.loads(text)["status"], 401)
        self.assertEqual(self.scrape(page)["tony_job_state"][f'job="{job.id}",state="RUNNING"'], 1)
        for path in ("/", page.base, f"{page.base}metrics", f"{page.base}api/v1/jobs", "/metrics/", "/healthz"):
            self.assertEqual(page.get(path, Authorization=RIGHT)[0], 403, path)
        self.assertEqual(page.get("/metrics", "POST", "{}", Authorization=RIGHT)[0], 405)
        self.assertEqual(page.get("/metrics", Authorization=RIGHT, Host="evil.example")[0], 403)
        # One wrong token has come so far. Behind the tenth the next one has to wait, but for the right one.
        for _ in range(9):
            self.assertEqual(page.get("/metrics", Authorization="Bearer wrong")[0], 401)
        status, headers, _ = page.get("/metrics", Authorization="Bearer wrong")
        self.assertEqual(status, 429)
        self.assertTrue(0 < int(headers["Retry-After"]) <= 600)
        self.assertEqual(page.get("/metrics", Authorization=RIGHT)[0], 200)
        # The page itself goes on, and shows the file's path at most.
        self.assertEqual(page.enter()[0], 303)
        keys = page.ask(f"jobs/{job.id}/config")[1]
        self.assertIn("tony.metrics.token-file", keys)
        self.assertNotIn(TOKEN, keys)
        gate.write(1)
        self.assert_succeeds(job)
        for path in job.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(TOKEN.encode(), path.read_bytes(), path)

    def test_the_page_listens_before_anybody_opens_it(self):
        with_token, gate = self.start()
        without = self.submit(f"read word < {gate.path}")
        without.wait_until_running("worker:0")
        here = "0100007F"

        def listeners(job):
            return machine.listeners_of([machine.master_of(job.id)]).count(here)

        before = listeners(without)
        # The page and the port of the job's program.
        self.assertEqual(listeners(with_token), before + 2)
        gate.write(2)
        self.assert_succeeds(with_token)
        self.assert_succeeds(without)

    def test_the_next_applicationmaster_has_the_port_and_the_token(self):
        job, gate = self.start()
        page = self.client(job)
        lost = machine.master_of(job.id)
        os.kill(lost, signal.SIGKILL)
        job.wait_until_attached_again(1)
        self.assertNotEqual(machine.master_of(job.id), lost)
        # Nobody has opened the page of this one.
        self.assertTrue(machine.wait_until(lambda: page.get("/metrics", Authorization=RIGHT)[0] == 200,
                                           tony_cli.DEADLINE_SECONDS, 0.1))
        self.assertEqual(self.scrape(page)["tony_job_state"][f'job="{job.id}",state="RUNNING"'], 1)
        self.assertEqual(page.get("/metrics", Authorization="Bearer wrong")[0], 401)
        gate.write(1)
        self.assert_succeeds(job)

    def test_what_is_measured(self):
        place = self.site.folder / "cgroup"
        job, gate = self.start(f'cat /proc/self/cgroup > {place}; echo "$(seq 100)"; '
                               'echo "step=7 loss=0.25 my_value=-3" > "$TONY_PROGRESS";')
        page = self.client(job)
        wanted = {"tony_task_cpu_seconds_total", "tony_task_memory_bytes", "tony_task_memory_proportional_bytes",
                  "tony_task_log_bytes_total", "tony_task_step", "tony_task_report"}
        families = machine.wait_until(
            lambda: (lambda found: found if wanted <= found.keys() and samples_of(
                found, "tony_task_log_bytes_total") == {"": 292} else None)(self.scrape(page)), 30, 0.2)
        self.assertTrue(families, self.scrape(page))
        self.assertEqual(samples_of(families, "tony_task_log_bytes_total"), {"": 292})
        self.assertEqual(samples_of(families, "tony_task_report"), {'name="loss"': 0.25, 'name="my_value"': -3})
        self.assertEqual(samples_of(families, "tony_task_step"), {"": 7})
        (proportional,) = samples_of(families, "tony_task_memory_proportional_bytes").values()
        (resident,) = samples_of(families, "tony_task_memory_peak_bytes").values()
        self.assertTrue(0 < proportional <= 2 * resident, (proportional, resident))
        group = place.read_text(encoding="ascii").splitlines()[-1].split(":")[2]
        if pathlib.Path(f"/sys/fs/cgroup{group}/cpu.pressure").exists():
            def pressure():
                return samples_of(self.scrape(page), "tony_task_pressure_waiting_seconds_total").keys()
            self.assertTrue(machine.wait_until(
                lambda: pressure() >= {'resource="cpu"', 'resource="io"', 'resource="memory"'}, 30, 0.2), pressure())
        gate.write(1)
        self.assert_succeeds(job)

    def test_a_file_that_is_no_secret_is_refused(self):
        for text, mode, said in (
                (TOKEN, 0o640, "others than its owner have access to {path}; run: chmod 600"),
                ("too short", 0o600, "has no token of 32 to 1024 letters, digits and -._~+/=; run: openssl rand")):
            path = self.token_file(text, mode)
            job = self.write_job(("tony.containers.command", "true"), ("tony.worker.instances", 1),
                                 ("tony.metrics.token-file", path))
            self.assertIn(said.format(path=path), self.assert_refused(2, str(job)))


class PortalMetricsTest(MetricsCase):
    """Of all running jobs, from the portal of one user."""

    def targets(self, page):
        """The paths that Prometheus would find, by job."""
        status, _, text = page.get("/metrics/jobs", Authorization=RIGHT)
        self.assertEqual(status, 200, text)
        found = {}
        for target in json.loads(text):
            self.assertEqual(target["targets"], [page.host])
            path = target["labels"]["__metrics_path__"]
            found[path.rpartition("/")[2]] = path
        return found

    def test_running_jobs_are_found_and_read(self):
        portal = Portal(self, "--metrics-token-file", str(self.token_file()))
        page = portal.page
        self.assertEqual(self.targets(page), {})
        gate = self.pipe("gate")
        job = self.submit(f'echo step=3 > "$TONY_PROGRESS"; read word < {gate.path}', *OFTEN)
        job.wait_until_running("worker:0")
        found = machine.wait_until(lambda: self.targets(page), tony_cli.DEADLINE_SECONDS, 0.2)
        self.assertEqual(found, {job.id: f"/metrics/jobs/{job.id}"})
        families = machine.wait_until(
            lambda: (lambda all: all if "tony_task_step" in all else None)(self.scrape(page, found[job.id])), 30, 0.2)
        self.assertTrue(families)
        self.assertEqual(samples_of(families, "tony_task_step"), {"": 3})

        # The token opens nothing else, and neither does the visitor's cookie open these.
        for path in ("/", page.base, f"{page.base}api/v1/jobs", f"{page.base}jobs/{job.id}/metrics"):
            self.assertEqual(page.get(path, Authorization=RIGHT)[0], 403, path)
        for path in ("/metrics/jobs/other", "/metrics/jobs/..", "/metrics/jobs/", "/metrics/jobsx"):
            self.assertEqual(page.get(path, Authorization=RIGHT)[0], 404, path)
        self.assertEqual(page.enter()[0], 303)
        for path in ("/metrics/jobs", found[job.id]):
            self.assertEqual(page.get(path)[0], 401, path)
            self.assertEqual(page.get(path, Authorization="Bearer wrong")[0], 401, path)
        self.assertEqual(page.get("/metrics/jobs", Authorization=RIGHT, Host="evil.example")[0], 403)
        gate.write(1)
        self.assert_succeeds(job)
        self.assertTrue(machine.wait_until(lambda: not self.targets(page), tony_cli.DEADLINE_SECONDS, 0.2))

    def test_without_a_token_file_there_is_nothing(self):
        portal = Portal(self)
        self.assertEqual(portal.enter().get("/metrics/jobs", Authorization=RIGHT)[0], 403)
        portal.end()
        said = self.site.run("tony", "portal", "--metrics-token-file", str(self.token_file(mode=0o644)))
        self.assertEqual(said.returncode, 3)
        self.assertIn("chmod 600", said.stderr)


class SharedPortalMetricsTest(SharedPortalCase):
    """From a portal of several users, over TLS."""

    def test_a_token_in_place_of_a_password(self):
        certificate, key = self.make_certificate()
        users = self.file("users", self.line("alice:control", "correct horse"))
        self.start("--certificate", certificate, "--key", key, "--users", users,
                   "--metrics-token-file", self.file("token", TOKEN))
        context = ssl.create_default_context(cafile=certificate)

        def ask(path, **headers):
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=tony_cli.DEADLINE_SECONDS,
                                                     context=context)
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            text = response.read().decode()
            connection.close()
            return response.status, text

        self.assertEqual(ask("/metrics/jobs", Authorization=RIGHT), (200, "[]\n"))
        self.assertEqual(ask("/metrics/jobs")[0], 401)
        self.assertEqual(ask("/api/v1/jobs", Authorization=RIGHT)[0], 403)
        self.assertEqual(ask("/metrics/jobs", Authorization=RIGHT, Host="evil.example")[0], 403)


if __name__ == "__main__":
    integration_case.main()
