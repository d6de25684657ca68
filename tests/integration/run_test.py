#!/usr/bin/env python3
"""`tony run`: a program of a folder, without a job file; and `tony rerun`, `diff`, `rm`, `list`."""

import json
import signal
import subprocess
import sys

import integration_case
from integration_case import JobTest

PROGRAM = """import os, sys
try:
    import torch
except ImportError:
    pass
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], *sys.argv[1:], flush=True)
sys.exit(int(os.environ.get("CODE", 0)) if os.environ["RANK"] == "1" else 0)
"""


class RunTest(JobTest):
    """A folder with a program."""

    def setUp(self):
        super().setUp()
        self.folder = self.site.folder / "project"
        self.folder.mkdir()
        (self.folder / "train.py").write_text(PROGRAM)

    def tony_run(self, *words, code=0, memory="64m"):
        """Runs `tony run` in the program's folder; returns its result."""
        command = self.site.command("tony", "run", "--memory", memory)
        # The options of the site stand before the program's words.
        result = subprocess.run(
            [*command, *words],
            cwd=self.folder,
            env=self.site.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result

    def test_output_of_all_ranks_and_the_verdict(self):
        result = self.tony_run("-np", "2", sys.executable, "train.py", "--lr", "0.1")
        lines = result.stdout.splitlines()
        self.assertEqual(
            sorted(lines[:2]),
            [f"worker:{rank} | rank {rank} of 2 --lr 0.1" for rank in range(2)],
        )
        self.assertEqual(lines[2], "SUCCEEDED (TASKS_SUCCEEDED): All 2 tracked tasks succeeded")
        self.assertEqual(
            result.stderr,
            f"tony: each task gets a copy of this folder: 1 file, 1 KiB\n"
            "tony: framework pytorch, as train.py imports torch (--framework chooses another)\n",
        )
        (job,) = self.site.verb("list")
        self.assertEqual((job["name"], job["framework"]), ("train.py", "pytorch"))
        self.assert_nothing_left(self.site.job_folder())

    def test_exit_code_is_that_of_tony_submit(self):
        result = self.tony_run(
            "-np", "2", "--conf", "tony.worker.env=CODE=3", sys.executable, "train.py", code=1
        )
        self.assertIn("FAILED (TASK_FAILED): worker:1 exited with code 3", result.stdout)
        self.tony_run("nothing.py", code=2)
        result = self.tony_run("train.py", memory="64000g", code=5)
        self.assertIn("tony-submit: ", result.stderr)

    def test_a_lone_script(self):
        self.assertIn("worker:0 | rank 0 of 1\n", self.tony_run("train.py").stdout)

    def test_a_virtual_environment_in_the_folder_is_left_out(self):
        environment = self.folder / ".venv"
        (environment / "bin").mkdir(parents=True)
        (environment / "pyvenv.cfg").write_text("")
        (environment / "bin/python").symlink_to(sys.executable)
        (self.folder / "train.py").write_text("import os\nprint(sorted(os.listdir()))\n")
        result = self.tony_run(".venv/bin/python", "train.py")
        self.assertIn("a copy of this folder without .venv: 1 file, ", result.stderr)
        self.assertIn("['train.py']", result.stdout)

    def test_control_c_stops_the_job(self):
        (self.folder / "train.py").write_text("print('on', flush=True)\nimport time; time.sleep(600)\n")
        command = self.site.command("tony", "run", "--memory", "64m")
        with subprocess.Popen(
            [*command, "train.py"],
            cwd=self.folder,
            env=self.site.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as run:
            self.assertEqual(run.stdout.readline(), "worker:0 | on\n")
            run.send_signal(signal.SIGINT)
            self.assertIn("KILLED (KILLED_BY_USER): Stopped by the user", run.stdout.read())
            self.assertEqual(run.wait(60), 4)
        self.assert_nothing_left(self.site.job_folder())

    def test_detached(self):
        job_id = self.tony_run("--detach", "train.py").stdout.strip()
        self.assertEqual(self.site.run("tony", "wait", job_id).returncode, 0)

    def test_tony_submit_says_how(self):
        result = subprocess.run(
            [self.site.programs / "tony-submit", "train.py"],
            cwd=self.folder, capture_output=True, text=True, check=False,
        )
        self.assertEqual(result.returncode, 2)
        self.assertEqual(
            result.stderr,
            "tony-submit: 'train.py' is no job file. Two ways to run this program in two tasks:\n"
            "  tony run -np 2 python3 train.py\n"
            "  tony-submit --executes 'python3 train.py' --src_dir . --conf "
            "tony.worker.instances=2 --conf tony.application.framework=pytorch\n",
        )


class AgainTest(JobTest):
    """Past jobs: submitted again, compared, listed and removed."""

    def test_rerun_and_diff(self):
        first = self.submit("echo $TAG; exit $CODE", "--shell_env", "CODE=1")
        self.assert_ends(first, 1, "TASK_FAILED")
        again = self.site.run("tony", "rerun", "--json", "--conf", "tony.execution.envs=CODE=0")
        self.assertEqual(again.returncode, 0, again.stderr)
        second = json.loads(again.stdout.splitlines()[0])["submitted"]["job_id"]
        diff = self.site.verb("diff", first.id, second)
        self.assertEqual(
            [line["right"] for line in diff["outcome"][:2]],
            ["SUCCEEDED", "The tracked task succeeded"],
        )
        self.assertIn("tony.execution.envs", [line["what"] for line in diff["configuration"]])

    def test_rerun_resumes(self):
        command = "cat $TONY_CHECKPOINT_DIR/step; echo 5 > $TONY_CHECKPOINT_DIR/step"
        first = self.submit(command)
        self.assert_succeeds(first)
        result = self.site.run("tony", "rerun", first.id, "--resume", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        logs = self.site.run("tony", "logs", "latest", "worker:0", "--stdout")
        self.assertEqual(logs.stdout, "5\n")

    def test_list_and_rm(self):
        running = self.detach("sleep 600")
        failed = self.submit("exit 3")
        self.assert_ends(failed, 1)
        (row,) = self.site.verb("list", "--failed", "--size")
        self.assertEqual(row["id"], failed.id)
        self.assertGreater(row["bytes"], 0)
        self.assertEqual([job["id"] for job in self.site.verb("list", "--running")], [running])
        text = self.site.run("tony", "list", "--failed", "-n", "1").stdout
        self.assertTrue(text.endswith("TASK_FAILED: worker:0 exited with code 3\n"), text)
        refused = self.site.run("tony", "rm", running)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(
            refused.stderr,
            f"tony: job {running} runs, and a running job is not removed; tony kill {running} "
            "ends it\n",
        )
        removed = self.site.run("tony", "rm", "--keep", "0")
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertIn(f"{failed.id}  FAILED  ", removed.stdout)
        self.assertEqual([job["id"] for job in self.site.verb("list")], [running])
        self.assertEqual(self.site.run("tony", "stop", running).returncode, 0)


if __name__ == "__main__":
    integration_case.main()
