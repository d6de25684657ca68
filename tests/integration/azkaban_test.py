#!/usr/bin/env python3
"""tony as a step of flows that Azkaban's own classes run (tests/azkaban).

    azkaban_test.py PROGRAMS [unittest's arguments]

PROGRAMS is the folder of tony-submit and its companions. Exits with 77 where Java or Maven is
missing.
"""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import integration_case
from integration_case import JobTest

# pylint: disable=wrong-import-order
import machine
import yarn_cluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
AZKABAN = ROOT / "integrations" / "azkaban"
DEADLINE_SECONDS = 120
# What a killed step may take beyond its tasks' grace, on a machine that does other things, too.
SOON_SECONDS = 60
SMALL = "tony.worker.instances=1\ntony.worker.memory=64m\n"


class Flow:
    """A flow that runs: its lines as they come. Not thread safe."""

    def __init__(self, test, project, plugins, execution, name, properties):
        java = os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64") + "/bin/java"
        command = [java, "--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp",
                   test.class_path, "RunFlow", project, name, plugins, execution]
        self.process = subprocess.Popen(
            [*command, *properties], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=test.site.environment)
        self._lines = []
        self._changed = threading.Condition()
        self._over = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        test.addCleanup(self._stop)

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _stop(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def wait_for(self, pattern):
        """Waits for a line; returns the match."""
        end = time.monotonic() + DEADLINE_SECONDS
        with self._changed:
            while True:
                for line in self._lines:
                    if match := re.search(pattern, line):
                        return match
                if self._over or not self._changed.wait(end - time.monotonic()):
                    raise AssertionError(f"no line {pattern}\n{self.text}")

    def wait(self):
        """Waits for the flow's end; returns its exit code."""
        code = self.process.wait(DEADLINE_SECONDS)
        self._reader.join(DEADLINE_SECONDS)
        return code

    def cancel(self):
        """Does what a click on Kill does."""
        self.process.stdin.write("cancel\n")
        self.process.stdin.flush()

    @property
    def text(self):
        return "".join(self._lines)

    def status(self, step, attempt=0):
        """How an attempt ended."""
        return self.wait_for(rf"^= {step} {attempt} (\w+)").group(1)


class AzkabanTest(JobTest):
    """Each test has a project, the job types of this repository, and an execution's folder."""

    class_path = None

    def setUp(self):
        super().setUp()
        self.project = self.site.folder / "project"
        self.project.mkdir()
        self.plugins = self.site.folder / "jobtypes"
        shutil.copytree(AZKABAN / "jobtypes", self.plugins)
        (self.plugins / "commonprivate.properties").write_text("execute.as.user=false\n")
        self.tony = f"{integration_case.programs}/tony-submit --step --conf " \
                    f"tony.local.dir={self.site.local_dir}"
        self.set_command(self.tony)

    def set_command(self, command):
        """Puts the command of all steps into the job type."""
        path = self.plugins / "tony" / "plugin.properties"
        text = re.sub(r"(?m)^command=.*", f"command={command}",
                      (AZKABAN / "jobtypes/tony/plugin.properties").read_text())
        self.assertIn(command, text)
        path.write_text(text)

    def run_flow(self, name, execution=7):
        """Starts the project's flow, whose files are links to the project's, as Azkaban has it."""
        folder = self.site.folder / "executions" / str(execution)
        shutil.copytree(self.project, folder, copy_function=os.link)
        return Flow(self, self.project, self.plugins, folder, name, [
            f"azkaban.flow.execid={execution}", "azkaban.flow.projectname=p",
            "azkaban.webserverhost=web:8081", f"user.to.proxy={getpass.getuser()}",
            "azkaban.link.attempt.url=https://web:8443/attempt"])

    def write_job(self, text, name="train"):
        """A step of a project of its own."""
        (self.project / f"{name}.job").write_text(f"type=tony\n{SMALL}{text}", encoding="utf-8")

    def job_id(self):
        """The id of the only job."""
        return self.site.job_folder().name

    def await_nothing_left(self, seconds):
        """Nobody of the site runs any more; returns how long that took."""
        began = time.monotonic()

        def living():
            found = machine.processes_with(str(self.site.folder))
            return {pid: words for pid, words in found.items()
                    if machine.lives(pid) and "RunFlow" not in str(words)}
        machine.wait_until(lambda: not living(), seconds, pause_seconds=0.02)
        self.assertEqual(living(), {})
        return time.monotonic() - began

    def start_waiting(
            self, more="", body="touch {f}/begun; until test -e {f}/over; do sleep 0.1; done"):
        """A step whose task has begun and waits for the file `over`; returns its flow."""
        (self.project / "wait.sh").write_text(body.format(f=self.site.folder))
        self.write_job(f"executes=bash wait.sh\nsrc_dir=.\n{more}")
        flow = self.run_flow("train")
        self.await_begun(flow)
        return flow

    def await_begun(self, flow):
        begun = self.site.folder / "begun"
        found = machine.wait_until(
            lambda: begun.exists() or flow.process.poll() is not None, DEADLINE_SECONDS, 0.02)
        self.assertTrue(found and begun.exists(), flow.text)

    def assert_killed(self):
        """The only job was stopped by its user."""
        status = self.site.verb("status", self.job_id())
        self.assertIn("KILLED", json.dumps(status))


class Flows(AzkabanTest):
    def run_example(self, kind):
        for part in ("programs", kind):
            shutil.copytree(AZKABAN / "example" / part, self.project, dirs_exist_ok=True)
        before = (self.project / "src/train.py").read_bytes()
        flow = self.run_flow("evaluate")
        self.assertEqual(flow.wait(), 0, flow.text)
        for step in ("prepare", "train", "evaluate"):
            self.assertEqual(flow.status(step), "SUCCEEDED")
        self.assertIn("evaluate| y = 3.00 x -1.00", flow.text)
        # The step's outputs reached its successor, and its own id stands alone.
        flow.wait_for(rf"evaluate\| the training was job {self.job_id()}$")
        flow.wait_for(rf"train\|.*(^| ){self.job_id()}( |$)")
        self.assertIn("https://web:8443/attempt", flow.text)
        # The project's files are links to the executor's cache.
        self.assertEqual((self.project / "src/train.py").read_bytes(), before)

    def test_flow_1_0(self):
        self.run_example("flow-1.0")

    def test_flow_2_0(self):
        self.run_example("flow-2.0")

    def test_odd_characters(self):
        (self.project / "show.py").write_text(
            "import json, os, sys\n"
            f"with open('{self.site.folder}/shown', 'w', encoding='utf-8') as shown:\n"
            "    json.dump([sys.argv[1:], "
            "{k: v for k, v in os.environ.items() if k.startswith('ODD')}, "
            "os.environ['AZKABAN_INPUT_DATASET']], shown)\n"
            "open('show.py', 'a').write('# written in place')\n")
        before = (self.project / "show.py").read_bytes()
        self.write_job(
            "src_dir=.\n"
            "executes='python3 show.py'\n"
            "task_params='größe' \"a  b\" x=1,2 C:\\\\\\\\x it\\\\'s $((1+1))\n"
            "worker_env.ODD_A=a, b=c; \"d\" 'e' größe $HOME\n"
            "worker_env.ODD_B=two\\nlines\n"
            "worker_env.ODD_C='quoted word'\n"
            "azkaban.input.dataset=/in/a,/in/b\n"
            "tony.application.name=größe, \"1\"\n")
        flow = self.run_flow("train")
        self.assertEqual(flow.wait(), 0, flow.text)
        words, variables, dataset = json.loads((self.site.folder / "shown").read_text("utf-8"))
        self.assertEqual(words, ["größe", "a  b", "x=1,2", "C:\\x", "it's", "2"])
        self.assertEqual(variables, {"ODD_A": "a, b=c; \"d\" 'e' größe $HOME",
                                     "ODD_B": "two\nlines", "ODD_C": "quoted word"})
        self.assertEqual(dataset, "/in/a;/in/b")
        # The project's files are links to the executor's cache.
        self.assertEqual((self.project / "show.py").read_bytes(), before)

    def test_a_command_without_options_runs_what_the_properties_say(self):
        self.set_command(f"{integration_case.programs}/tony-submit")
        self.write_job(f"executes=true\ntony.local.dir={self.site.local_dir}\n")
        flow = self.run_flow("train")
        self.assertEqual(flow.wait(), 0, flow.text)
        flow.wait_for(rf"train\|.*Job {self.job_id()} of step azkaban\|web:8081\|p\|7\|train")

    def test_what_is_wrong_is_named(self):
        self.write_job("executes=true\ntony.worker.gpuz=1\n")
        flow = self.run_flow("train")
        self.assertEqual(flow.wait(), 1)
        flow.wait_for(r"train\| .*_props_.*:\d+: tony.worker.gpuz: unknown key; did you mean "
                      r"tony.worker.gpus\?")
        self.assertFalse((self.site.local_dir / "jobs").exists())

    def test_a_failed_job_fails_the_step(self):
        self.write_job("executes=exit 3\n")
        flow = self.run_flow("train")
        self.assertEqual(flow.wait(), 1)
        self.assertEqual(flow.status("train"), "FAILED")


class Outputs(JobTest):
    """The file for the following steps; Azkaban itself is not needed."""

    def run_step(self, outputs, *properties):
        file = self.site.folder / "properties"
        file.write_text("\n".join((SMALL, "azkaban.job.id=train", *properties)))
        self.site.environment.update(JOB_PROP_FILE=str(file), JOB_OUTPUT_PROP_FILE=str(outputs))
        return self.site.run("tony-submit", "--step")

    def test_a_file_that_cannot_be_written(self):
        for outputs, why in (("/dev/full", "No space left"),
                             (self.site.folder / "none", "No such file")):
            for command, code in (("true", 0), ("exit 7", 1)):
                with self.subTest(outputs=outputs, command=command):
                    result = self.run_step(outputs, f"executes={command}")
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertRegex(result.stderr, "JOB_OUTPUT_PROP_FILE.*changes nothing for the "
                                                    f"job.*{why}")

    def test_all_values_are_texts_and_configure_nothing(self):
        outputs = self.site.folder / "outputs"
        outputs.touch()
        result = self.run_step(outputs, "executes=true", "azkaban.job.id=tony.worker")
        self.assertEqual(result.returncode, 0, result.stderr)
        values = json.loads(outputs.read_text())
        self.assertEqual({type(value) for value in values.values()}, {str})
        self.assertEqual(values["step.tony.worker.verdict"], "SUCCEEDED")
        self.assertEqual(values["step.tony.worker.exit"], "0")
        # The log has them, too: after a failure Azkaban removes the file.
        self.assertIn(f"step.tony.worker.job {self.site.job_folder().name}", result.stdout)

    def test_bad_properties(self):
        for properties, words in ((["a=\\u12"], ":5: '\\u12': four hexadecimal digits"),
                                  (["main.args=--detach"], ":5: main.args: --detach does not"),
                                  (["task_params=x"], "--task_params has no effect without"),
                                  (["a=b"], "tony.worker.command"),
                                  (["executes=x", "src_dir=none"], ":6: src_dir: ")):
            with self.subTest(properties=properties):
                result = self.run_step("/dev/null", *properties)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(words, result.stderr)
        self.assertFalse((self.site.local_dir / "jobs").exists())


class Kills(AzkabanTest):
    def test_retry_adopts(self):
        """The first attempt's client is lost; the second one follows the same job."""
        flow = self.start_waiting("retries=1\n")
        (client,) = [pid for pid in machine.processes_with(str(self.site.local_dir))
                     if machine.name_of(pid) == "tony-submit"]
        os.kill(client, signal.SIGKILL)
        self.assertEqual(flow.status("train", 0), "FAILED")
        flow.wait_for(rf"^train\|.*{self.job_id()}")
        (self.site.folder / "over").touch()
        self.assertEqual(flow.wait(), 0, flow.text)
        self.assertEqual(flow.status("train", 1), "SUCCEEDED")
        self.job_id()  # there is one only

    def test_kill(self):
        flow = self.start_waiting()
        flow.cancel()
        self.await_nothing_left(SOON_SECONDS)
        self.assertEqual(flow.status("train"), "KILLED")
        self.assert_killed()

    def test_kill_of_a_wrapper(self):
        """Azkaban tells only the wrapper, which tells nobody."""
        self.set_command(f'bash -c "{self.tony}; true"')
        flow = self.start_waiting()
        flow.cancel()
        self.await_nothing_left(SOON_SECONDS)
        self.assert_killed()

    def test_kill_of_stubborn_tasks(self):
        flow = self.start_waiting(
            "tony.task.kill-grace-ms=1000\n",
            "trap '' TERM INT; touch {f}/begun; while true; do sleep 0.1; done")
        flow.cancel()
        self.await_nothing_left(SOON_SECONDS + 1)
        self.assert_killed()

    def test_kill_during_submission(self):
        """At whatever moment it comes, no job goes on."""
        self.write_job("executes=sleep 1000\n")
        for execution, delay in enumerate((0.0, 0.05, 0.1, 0.2, 0.4)):
            with self.subTest(delay=delay):
                flow = self.run_flow("train", execution)
                flow.wait_for(r"^train\| Working directory")
                # The moment is what is tested.
                time.sleep(delay)
                flow.cancel()
                self.assertEqual(flow.wait(), 1)
                self.await_nothing_left(SOON_SECONDS)

    def test_the_executor_is_killed(self):
        """Azkaban's own process is gone, and its folder with it: nobody will adopt the job."""
        flow = self.start_waiting()
        flow.process.kill()
        shutil.rmtree(self.site.folder / "executions")
        self.await_nothing_left(SOON_SECONDS)
        self.assert_killed()


def main():
    yarn_cluster.skip_without()
    AzkabanTest.class_path = subprocess.run(
        [ROOT / "tests/azkaban/class-path"], check=True, stdout=subprocess.PIPE,
        text=True).stdout.strip()
    integration_case.main()


if __name__ == "__main__":
    main()
