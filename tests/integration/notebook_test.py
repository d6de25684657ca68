"""`tony notebook`: a real Jupyter as a job, asked through the proxy as a browser asks it."""

import json
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

import integration_case
import machine
import tony_cli
from job_page import Page

REQUIREMENTS = pathlib.Path(__file__).with_name("notebook_requirements.txt")
DEADLINE_SECONDS = 120  # Jupyter takes its time on a loaded machine

# A client of a kernel, in the environment that has a WebSocket library: executes the cells of its
# standard input, one a line, and prints one line of JSON for each. "interrupt" interrupts the cell
# before it, as the button in the browser does.
KERNEL = r"""
import json, sys, urllib.request, uuid, websocket
base, token, cookie = sys.argv[1:]
headers = {"Authorization": f"token {token}", "Cookie": cookie}
def post(path):
    request = urllib.request.Request(base + path, b"{}", headers, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")
kernel = post("api/kernels")["id"]
channel = websocket.create_connection(
    base.replace("http", "ws") + f"api/kernels/{kernel}/channels", timeout=60,
    header=[f"Authorization: token {token}", f"Cookie: {cookie}"], origin=base.rstrip("/"))
session = uuid.uuid4().hex
for line in sys.stdin:
    cell = json.loads(line)
    message = {"header": {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request",
                          "session": session, "username": "", "version": "5.3"},
               "parent_header": {}, "metadata": {}, "channel": "shell",
               "content": {"code": cell["code"], "silent": False}}
    channel.send(json.dumps(message))
    said, error = "", ""
    while True:
        answer = json.loads(channel.recv())
        if answer["parent_header"].get("msg_id") != message["header"]["msg_id"]:
            continue
        if answer["msg_type"] == "stream":
            said += answer["content"]["text"]
            if cell.get("interrupt") and "begun" in said:
                cell["interrupt"] = False
                post(f"api/kernels/{kernel}/interrupt")
        elif answer["msg_type"] == "error":
            error = answer["content"]["ename"]
        elif answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
            break
    print(json.dumps({"said": said, "error": error}), flush=True)
"""


class NotebookTest(integration_case.JobTest):
    """Each with a job of its own."""

    @classmethod
    def setUpClass(cls):
        cls.python = tony_cli.examples_python(REQUIREMENTS)

    def start(self, *arguments):
        """Starts `tony notebook`; returns the process, the page's address and the token."""
        process = self.site.start(self, "tony", "notebook", "--memory", "1g", *arguments,
                                  deadline_seconds=DEADLINE_SECONDS)
        url = process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)\?token=([0-9a-f]+)\n", url)
        self.assertTrue(found, url + ("" if url else process.stderr.read()))
        return process, found[1], found[2]

    def execute(self, cells, base, token, cookie=""):
        """What a kernel says to the cells."""
        kernel = subprocess.run(
            [self.python, "-c", KERNEL, base, token, cookie], capture_output=True, text=True,
            input="".join(json.dumps(cell) + "\n" for cell in cells), timeout=DEADLINE_SECONDS,
            check=False)
        self.assertEqual(kernel.returncode, 0, kernel.stderr)
        return [json.loads(line) for line in kernel.stdout.splitlines()]

    def test_the_jobs_page_leads_to_it(self):
        process, _, token = self.start("--python", self.python)
        page = Page(self.site.verb("open")["url"])
        self.assertEqual(page.enter()[0], 303)
        visitor = page.lead()
        self.assertEqual(visitor.ask()[0], 403)
        self.assertEqual(visitor.enter()[0], 303)
        # Jupyter leads to its login, whose address stays the gate's.
        status, headers, _ = visitor.ask("/lab")
        self.assertEqual(status, 302)
        self.assertRegex(headers["Location"], "^/")
        said = self.execute([{"code": "print(6 * 7)"}], f"http://{visitor.host}/", token,
                            visitor.cookie)
        self.assertEqual(said, [{"said": "42\n", "error": ""}])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(tony_cli.DEADLINE_SECONDS), 4)

    def test_a_cell_is_executed_and_another_one_interrupted(self):
        folder = self.site.folder / "work"
        folder.mkdir()
        process, base, token = self.start("--python", self.python, str(folder))
        with urllib.request.urlopen(f"{base}?token={token}", timeout=60) as page:
            self.assertIn("Jupyter", page.read().decode())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{base}api/contents", timeout=60)
        self.assertEqual(refused.exception.code, 403)
        # Nobody reads the token in a command line.
        self.assertEqual(machine.processes_with(token), {})
        cells = [
            {"code": "import os; print(6 * 7, os.getcwd()); open('made', 'w').close()"},
            {"code": "import time; print('begun', flush=True); time.sleep(600)",
             "interrupt": True},
            {"code": "print('still here')"},
        ]
        said = self.execute(cells, base, token)
        self.assertEqual(said[0], {"said": f"42 {folder}\n", "error": ""})
        self.assertEqual(said[1], {"said": "begun\n", "error": "KeyboardInterrupt"})
        self.assertEqual(said[2], {"said": "still here\n", "error": ""})
        self.assertTrue((folder / "made").exists())
        job = self.site.job_folder()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(tony_cli.DEADLINE_SECONDS), 4)
        self.assert_nothing_left(job)

    def test_without_jupyter_the_user_is_told_what_to_do(self):
        bare = self.site.folder / "bare"
        subprocess.run(["python3", "-m", "venv", "--without-pip", bare], check=True)
        result = self.site.run("tony", "notebook", "--memory", "64m", "--python",
                               str(bare / "bin/python"), deadline_seconds=DEADLINE_SECONDS)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("has neither jupyterlab nor notebook; install one with:", result.stderr)
        result = self.site.run("tony", "notebook", "--memory", "64m", "--python", "no-such-python")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no no-such-python here; --python names another one", result.stderr)

    def test_bad_usage(self):
        for words, says in (
            (["no-such-folder"], "'no-such-folder' is no folder"),
            (["--port", "0"], "--port '0' is no port"),
            (["--gpus", "x"], "tony.notebook.gpus"),
        ):
            result = self.site.run("tony", "notebook", *words)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(says, result.stderr)


if __name__ == "__main__":
    integration_case.main()
