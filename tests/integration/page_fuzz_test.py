"""The API of a job's page under requests that schemathesis makes from openapi.json."""

import json
import pathlib
import subprocess

import integration_case
import machine
import tony_cli
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


class PageFuzzTest(integration_case.JobTest):
    """Against one real job."""

    def ask_as_the_contract_says(self, page, settings):
        """Makes requests from the contract of the page's server, and checks every answer."""
        configuration = self.site.folder / "schemathesis.toml"
        configuration.write_text(settings, encoding="utf-8")
        python = pathlib.Path(tony_cli.examples_python(REQUIREMENTS))
        base = f"http://{page.host}{page.base}"
        run = subprocess.run(
            [python.with_name("schemathesis"), "--config-file", configuration, "run",
             f"{base}api/v1/openapi.json", "--url", base, "--header", f"Cookie: {page.cookie}",
             "--phases", "coverage,fuzzing", "--seed", "1", "--no-color"],
            cwd=self.site.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=DEADLINE_SECONDS, check=False)
        self.assertEqual(run.returncode, 0, run.stdout[-20_000:])
        self.assertRegex(run.stdout, r"\n *(\d{3,}) generated, \1 passed\n")

    def test_every_answer_of_the_portal_is_as_its_contract_says(self):
        job = self.submit("true")
        self.assert_succeeds(job)
        portal = subprocess.Popen(self.site.command("tony", "portal", "--json"), cwd=self.site.folder,
                                  env=self.site.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        for clean_up in (portal.stdout.close, portal.wait, portal.terminate):
            self.addCleanup(clean_up)
        page = Page(json.loads(portal.stdout.readline())["url"])
        page.enter()
        self.ask_as_the_contract_says(page, CONFIGURATION.format(job=job.id))
        self.assertIsNone(portal.poll())

    def test_every_answer_is_as_the_contract_says(self):
        gate = self.pipe("gate")
        job = self.submit(f"for i in $(seq 1000); do echo line $i; done; read word < {gate.path}")
        job.wait_until_running("worker:0")
        page = Page(self.site.verb("open", job.id)["url"])
        page.enter()
        self.ask_as_the_contract_says(page, CONFIGURATION.format(job=job.id))
        (master,) = machine.programs_of(job.id, "tony-am")
        self.assertGreater(master, 0)
        gate.write()
        self.assert_succeeds(job)


if __name__ == "__main__":
    integration_case.main()
