"""The API of a job's page under requests that schemathesis makes from openapi.json."""

import json
import pathlib
import subprocess

import integration_case
import machine
import tony_cli
from integration_case import conf
from job_page import Page

REQUIREMENTS = pathlib.Path(__file__).with_name("page_fuzz_requirements.txt")
DEADLINE_SECONDS = 300
# What the contract does not say: a pattern may be none of RE2's, a cursor nobody's, and an address
# too long. A job that may not be changed from elsewhere is not changed, so POST gets 403.
CONFIGURATION = """
max-failures = 20
[parameters]
"path.job" = "{job}"
"path.task" = "worker-0"
"path.attempt" = 1
"path.stream" = "stdout"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "403", "404", "409", "414"]
negative_data_rejection.expected-statuses = ["400", "403", "404", "405", "411", "413", "414", "415", "431"]
missing_required_header.enabled = false
[generation]
max-examples = 15
"""


# Stays in the job's configuration, and nowhere else.
PLANTED = "planted-4711"
# What many requests may leave in a process: caches, and connections that are kept for a while.
KEPT_MB, KEPT_FILES = 64, 70


def memory_mb(pid):
    """Resident memory of a process."""
    return machine.memory_kb(pid) / 1024


def open_files(pid):
    """The number of a process's descriptors."""
    return sum(1 for _ in pathlib.Path(f"/proc/{pid}/fd").iterdir())


class PageFuzzTest(integration_case.JobTest):
    """Against one real job."""

    def ask_as_the_contract_says(self, page, settings, *options):
        """Makes requests from the contract of the page's server, and checks every answer."""
        configuration, traffic = self.site.folder / "schemathesis.toml", self.site.folder / "traffic.har"
        configuration.write_text(settings, encoding="utf-8")
        python = pathlib.Path(tony_cli.examples_python(REQUIREMENTS))
        base = f"http://{page.host}{page.base}"
        run = subprocess.run(
            [python.with_name("schemathesis"), "--config-file", configuration, "run",
             f"{base}api/v1/openapi.json", "--url", base, "--header", f"Cookie: {page.cookie}",
             "--phases", "coverage,fuzzing", "--seed", "1", "--no-color", "--report-har-path", traffic, *options],
            cwd=self.site.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=DEADLINE_SECONDS, check=False)
        self.assertEqual(run.returncode, 0, run.stdout[-20_000:])
        self.assertRegex(run.stdout, r"\n *(\d{2,}) generated, \1 passed\n")
        self.assert_nothing_leaks(page, json.loads(traffic.read_text(encoding="utf-8")))

    def assert_nothing_leaks(self, page, traffic):
        """No answer has a secret of the job, of its user or of another visitor; none is a server's error."""
        secrets = (PLANTED, "PRIVATE KEY", page.cookie.partition("=")[2])
        entries = traffic["log"]["entries"]
        self.assertGreater(len(entries), 10)
        for entry in entries:
            answer = entry["response"]
            self.assertLess(answer["status"], 500, entry["request"]["url"])
            said = json.dumps([answer["headers"], answer["content"].get("text", "")])
            for secret in secrets:
                self.assertNotIn(secret, said, entry["request"]["url"])

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
        page = Page(self.start_portal())
        page.enter()
        self.ask_as_the_contract_says(page, CONFIGURATION.format(job=job.id))
        # The job's own API, which has the contract of a live page.
        page.base = f"{page.base}jobs/{job.id}/"
        self.ask_as_the_contract_says(page, CONFIGURATION.format(job=job.id))
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


if __name__ == "__main__":
    integration_case.main()
