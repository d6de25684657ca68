"""The APIs of a job's page and of the portal under requests that schemathesis makes from openapi.json."""

import json
import pathlib
import subprocess
import urllib.parse

import integration_case
import machine
import tony_cli
from integration_case import conf
from job_page import Page
from portal_shared_test import SharedPortalCase, Visitor

REQUIREMENTS = pathlib.Path(__file__).with_name("page_fuzz_requirements.txt")
DEADLINE_SECONDS = 300
# What the contract does not say: a pattern may be none of RE2's, a cursor nobody's, and an address
# too long. A job that may not be changed from elsewhere is not changed, so POST gets 403.
CONFIGURATION = """
max-failures = 20
[parameters]
"path.job" = "{job}"
"path.task" = "worker-0"
"path.address" = "{job}"
"path.attempt" = 1
"path.stream" = "stdout"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "403", "404", "409", "414"]
negative_data_rejection.expected-statuses = ["400", "403", "404", "405", "411", "413", "414", "415", "431"]
missing_required_header.enabled = false
[generation]
max-examples = 15
"""
# Whoever has sent a form is led on, and whoever has guessed too many passwords has to wait.
LOGIN_CONFIGURATION = CONFIGURATION.replace('"409"', '"409", "303", "429"').replace('"405"', '"405", "429"')


# Stays in the job's configuration, and nowhere else.
PLANTED = "planted-4711"
TOKEN = "0123456789abcdef" * 4
# What many requests may leave in a process: caches, and connections that are kept for a while.
KEPT_MB, KEPT_FILES = 64, 70


def memory_mb(pid):
    """Resident memory of a process."""
    return machine.memory_kb(pid) / 1024


def open_files(pid):
    """The number of a process's descriptors."""
    return sum(1 for _ in pathlib.Path(f"/proc/{pid}/fd").iterdir())


class FuzzCase(integration_case.JobTest):
    """What tests with schemathesis need."""

    def fuzz(self, contract, settings, secrets, *options):
        """Makes requests from the contract at a URL, and checks every answer. Returns the statuses of the answers by
        the method and path of the request."""
        configuration, traffic = self.site.folder / "schemathesis.toml", self.site.folder / "traffic.har"
        configuration.write_text(settings, encoding="utf-8")
        python = pathlib.Path(tony_cli.examples_python(REQUIREMENTS))
        run = subprocess.run(
            [python.with_name("schemathesis"), "--config-file", configuration, "run", contract,
             "--phases", "coverage,fuzzing", "--seed", "1", "--no-color", "--report-har-path", traffic, *options],
            cwd=self.site.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=DEADLINE_SECONDS, check=False)
        self.assertEqual(run.returncode, 0, run.stdout[-20_000:])
        self.assertRegex(run.stdout, r"\n *(\d{2,}) generated, \1 passed(, \d+ skipped)?\n")
        entries = json.loads(traffic.read_text(encoding="utf-8"))["log"]["entries"]
        self.assertGreater(len(entries), 10)
        self.assert_nothing_leaks(entries, (PLANTED, "PRIVATE KEY", *secrets))
        statuses = {}
        for entry in entries:
            asked = entry["request"]
            of_path = statuses.setdefault((asked["method"], urllib.parse.urlsplit(asked["url"]).path), set())
            of_path.add(entry["response"]["status"])
        return statuses

    def assert_are_named(self, contract, path, method, statuses, reached):
        """The contract names each of the statuses that the path has answered with, and `reached` are among them."""
        named = {int(status) for status in contract["paths"][path][method.lower()]["responses"].keys() - {"default"}}
        self.assertLessEqual(statuses, named, (method, path))
        self.assertLessEqual(reached, statuses, (method, path))

    def assert_nothing_leaks(self, entries, secrets):
        """No answer has a secret of the job, of its user or of another visitor; none is a server's error."""
        for entry in entries:
            answer = entry["response"]
            self.assertLess(answer["status"], 500, entry["request"]["url"])
            said = json.dumps([answer["headers"], answer["content"].get("text", "")])
            for secret in secrets:
                self.assertNotIn(secret, said, entry["request"]["url"])


class PageFuzzTest(FuzzCase):
    """Against one real job."""

    def ask_as_the_contract_says(self, page, settings, *options):
        """Makes requests below the page's address from the contract of its server."""
        base = f"http://{page.host}{page.base}"
        self.fuzz(f"{base}api/v1/openapi.json", settings, (page.cookie.partition("=")[2],),
                  "--url", base, "--header", f"Cookie: {page.cookie}", *options)

    def watched(self, *options, first=":"):
        """A job that has printed some lines and waits; its page, its ApplicationMaster and the pipe."""
        gate = self.pipe("gate")
        job = self.submit(f"{first}; for i in $(seq 1000); do echo line $i; done; read word < {gate.path}",
                          "--conf", f"tony.worker.env=API_TOKEN={PLANTED}", *options)
        job.wait_until_running("worker:0")
        page = Page(self.site.verb("open", job.id)["url"])
        page.enter()
        (master,) = machine.programs_of(job.id, "tony-am")
        return job, page, master, gate

    def test_every_answer_of_the_portal_is_as_its_contract_says(self):
        job = self.submit("echo said", "--conf", f"tony.worker.env=API_TOKEN={PLANTED}")
        self.assert_succeeds(job)
        token_file = self.site.folder / "metrics.token"
        token_file.touch(0o600)
        token_file.write_text(TOKEN + "\n", encoding="ascii")
        page = Page(self.start_portal("--metrics-token-file", str(token_file)))
        page.enter()
        settings = CONFIGURATION.format(job=job.id)
        self.ask_as_the_contract_says(page, settings, "--exclude-path-regex", "^/(metrics/|login|logout)")
        # The rest lies where the contract's `servers` say. What the token opens is closed without it, which
        # schemathesis tries as well.
        statuses = self.fuzz(
            f"http://{page.host}{page.base}api/v1/openapi.json", settings, (TOKEN, page.cookie.partition("=")[2]),
            "--header", f"Cookie: {page.cookie}", "--header", f"Authorization: Bearer {TOKEN}",
            "--include-path-regex", "^/metrics/")
        contract = page.api("openapi.json")
        for path, name in (("/metrics/jobs", "/metrics/jobs"), (f"/metrics/jobs/{job.id}", "/metrics/jobs/{address}")):
            self.assert_are_named(contract, name, "GET", statuses["GET", path], reached={200, 401})
        # A portal of one user has no login.
        for method, status in (("GET", 403), ("POST", 405)):
            self.assertEqual(page.get("/login", method, "" if method == "POST" else None)[0], status)
            self.assert_are_named(contract, "/login", method, {status}, reached={status})
        # The job's own API, which has the contract of a live page.
        page.base = f"{page.base}jobs/{job.id}/"
        self.ask_as_the_contract_says(page, settings)
        self.assertIsNone(self.portal.poll())

    def test_every_answer_is_as_the_contract_says(self):
        job, page, master, gate = self.watched()
        memory, files = memory_mb(master), open_files(master)
        self.ask_as_the_contract_says(page, CONFIGURATION.format(job=job.id))
        self.assertLess(memory_mb(master), memory + KEPT_MB)
        self.assertLess(open_files(master), files + KEPT_FILES)
        gate.write()
        self.assert_succeeds(job)

    def test_a_visitor_who_may_change_something_sends_what_comes_to_mind(self):
        # It takes its time to end, so the ApplicationMaster hears the further wishes to stop, too.
        job, page, _, gate = self.watched(*conf(task__kill_grace_ms=10 * 60 * 1000), first="trap '' TERM")
        settings = CONFIGURATION.format(job=job.id)
        own = ("--header", f"Origin: http://{page.host}", "--header", "Sec-Fetch-Site: same-origin")
        for path in ("stacks$", "stop$"):
            self.ask_as_the_contract_says(page, settings, *own, "--include-path-regex", path)
        gate.write()
        self.assert_ends(job, 4)


class LoginFuzzTest(FuzzCase, SharedPortalCase):
    """The login of a portal of several users."""

    def test_every_answer_of_the_login_is_as_the_contract_says(self):
        certificate, key = self.make_certificate()
        users = self.file("users", self.line("alice:control", "correct horse"))
        self.start("--certificate", certificate, "--key", key, "--users", users, stderr=subprocess.DEVNULL)
        visitor, witness = Visitor(certificate, self.port), Visitor(certificate, self.port)
        for one in (visitor, witness):
            self.assertEqual(one.log_in("alice", "correct horse")[0], 303)
        origin = f"https://localhost:{self.port}"
        statuses = self.fuzz(
            f"{origin}/api/v1/openapi.json", LOGIN_CONFIGURATION,
            [one.cookie.partition("=")[2] for one in (visitor, witness)],
            "--tls-verify", str(certificate), "--header", f"Cookie: {visitor.cookie}", "--header", f"Origin: {origin}",
            "--include-path-regex", "^/(login|logout)$")
        contract = json.loads(witness.ask("/api/v1/openapi.json")[2])
        for path in ("/login", "/logout"):
            self.assert_are_named(contract, path, "GET", statuses["GET", path], reached={200})
        self.assert_are_named(contract, "/login", "POST", statuses["POST", "/login"] | {303}, reached={403, 429})
        self.assert_are_named(contract, "/logout", "POST", statuses["POST", "/logout"], reached={303})
        # One visitor has logged out, and the other one is still there. This portal has no token.
        self.assertEqual(visitor.ask("/api/v1/session")[0], 403)
        self.assertEqual(witness.ask("/api/v1/session")[0], 200)
        for one, status in ((visitor, 403), (witness, 404)):
            self.assertEqual(one.ask("/metrics/jobs")[0], status)
            self.assert_are_named(contract, "/metrics/jobs", "GET", {status}, reached={status})


if __name__ == "__main__":
    integration_case.main()
