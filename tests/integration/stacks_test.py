"""`tony stacks`: where the processes of a running job are, and what is kept of them before a kill."""

import os
import re
import signal

import integration_case

# Rank 1 loads a batch and never comes to the exchange for which all others wait. `{said}` is the
# pipe on which each rank says that it is where it is to be found.
TRAIN = '''
import os, socket, sys, time
RANK = int(os.environ["TASK_INDEX"])

def said():
    with open("{said}", "w") as pipe:
        pipe.write("here\\n")

def load_batch():
    said()
    time.sleep(1000)

def all_reduce():
    with socket.create_server(("127.0.0.1", 0)) as server:
        said()
        server.accept()

def train_step():
    if RANK == 1:
        load_batch()
    all_reduce()

train_step()
'''


class StacksCase(integration_case.JobTest):
    """Starts jobs that stay where they are, and asks where that is."""

    def start(self, *arguments, workers=1, script=TRAIN, python="python3", name="said"):
        """A job of Python ranks, each of which is where it stays; returns the job."""
        pipe = self.pipe(name)
        path = self.site.folder / "train.py"
        path.write_text(script.format(said=pipe.path), encoding="utf-8")
        job = self.submit(f"{python} {path}", *arguments, workers=workers)
        for _ in range(workers):
            pipe.read()
        return job

    def stacks(self, job, *arguments):
        """What `tony stacks` prints for people."""
        result = self.site.run("tony", "stacks", job.id, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def end(self, job):
        """Kills the job, which leaves nothing behind."""
        self.assertEqual(self.site.run("tony", "kill", job.id).returncode, 0)
        self.assert_ends(job, 4, "KILLED_BY_USER")


class StacksTest(StacksCase):
    """Against one real job each."""

    def test_the_rank_that_the_others_wait_for_is_named(self):
        job = self.start(workers=4)
        text = self.stacks(job)
        self.assertRegex(text, r"^worker:1 is in load_batch \(train\.py:11\) while 3 others are in "
                               r"(accept|all_reduce) \(\w+\.py:\d+\)\n")
        self.assertRegex(text, r"\nworker:1 \(pid \d+ on \S+, python3[^)]*\) – the suspect\n"
                               r"    load_batch  +\S+/train\.py:11\n    train_step  +\S+/train\.py:20\n")
        self.assertRegex(text, r"\n3 processes: worker:0 \(.*\), worker:2 \(.*\), worker:3 \(.*\)\n")
        self.assertNotIn("could not be read", text)
        found = self.site.verb("stacks", job.id)
        self.assertEqual(found["job"], job.id)
        self.assertTrue(found["suspect"].startswith("worker:1 is in load_batch"))
        suspect = found["groups"][0]
        self.assertEqual([member["task"] for member in suspect["members"]], ["worker:1"])
        (stack,) = suspect["stacks"]
        self.assertEqual([frame["function"] for frame in found["stacks"][stack]["frames"]],
                         ["load_batch", "train_step", "<module>"])
        self.assertEqual([task["task"] for task in found["tasks"]],
                         [f"worker:{index}" for index in range(4)])
        self.end(job)

    def test_one_task_and_all_its_threads(self):
        script = TRAIN.replace("def load_batch", '''
import threading
def watch(begun):
    begun.set()
    time.sleep(1000)
begun = threading.Event()
threading.Thread(target=watch, args=[begun], daemon=True).start()
begun.wait()

def load_batch''')
        job = self.start(workers=2, script=script)
        text = self.stacks(job, "--task", "worker:1", "--all")
        self.assertRegex(text, r"\n  main thread .*\n    load_batch ")
        self.assertRegex(text, r"\n  thread .*\n    watch ")
        self.assertNotIn("worker:0", text)
        result = self.site.run("tony", "stacks", job.id, "--task", "worker:7")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("worker:7", result.stderr)
        self.end(job)

    def test_what_cannot_be_read_is_said(self):
        tools = self.site.folder / "tools"  # no eu-stack and no py-spy is on this PATH
        tools.mkdir()
        (tools / "python3").symlink_to(os.path.realpath("/usr/bin/python3"))
        job = self.start("--shell_env", f"PATH={tools}", workers=1, python="python3 -I")
        text = self.stacks(job)
        self.assertIn("started with -I, -E or -S", text)
        self.assertIn("no stack, only where the kernel holds it", text)
        self.end(job)

    def test_a_stopped_executor_is_named_and_not_waited_for(self):
        job = self.start(workers=2)
        executor = self.executor_of(job, "worker:0")
        os.kill(executor, signal.SIGSTOP)
        text = self.stacks(job)
        os.kill(executor, signal.SIGCONT)
        self.assertIn("worker:0: its executor has not answered within 2 s", text)
        self.assertIn("load_batch", text)
        self.end(job)

    def test_the_key_switches_the_hook_off(self):
        job = self.start("--conf", "tony.task.stacks=false", workers=1)
        (program,) = job.wait_until_running("worker:0")
        with open(f"/proc/{program}/environ", "rb") as environment:
            self.assertNotIn(b"TONY_STACKS_DIR", environment.read())
        self.assertIn("tony.task.stacks is off", self.stacks(job))
        self.end(job)

    def test_a_sitecustomize_and_a_python_path_of_the_job_go_on_working(self):
        own = self.site.folder / "own"
        own.mkdir()
        (own / "sitecustomize.py").write_text(
            "import builtins, sys\nbuiltins.customized = True\nsys.path.append('/added')\n",
            encoding="utf-8")
        (own / "mine.py").write_text("VALUE = 7\n", encoding="utf-8")
        job = self.submit(
            "python3 -c 'import mine, sys; print(customized, mine.VALUE, sys.path[-1], "
            "[p for p in sys.path if \"_stacks\" in p])'",
            "--shell_env", f"PYTHONPATH={own}")
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0").strip(), b"True 7 /added []")

    def test_a_time_out_of_the_task_keeps_its_stacks(self):
        job = self.start("--conf", "tony.task.executor.execution-timeout-ms=10000", workers=2)
        sentence = self.assert_ends(job, 3, "TASK_TIMED_OUT")
        self.assertRegex(sentence, r"execution-timeout-ms has passed; it was in "
                                   r"(load_batch|accept|all_reduce) \(\w+\.py:\d+\); its stacks are in ")
        path = re.search(r"its stacks are in (\S+)", sentence).group(1)
        with open(path, encoding="utf-8") as kept:
            self.assertIn("train_step", kept.read())
        text = self.stacks(job)
        self.assertIn(path, text)
        self.assertIn("train_step", text)
        kept = self.site.verb("stacks", job.id)["kept"]
        self.assertIn(path, [one["path"] for one in kept])

    def test_a_time_out_of_the_job_keeps_the_stacks_of_its_tasks(self):
        job = self.start("--conf", "tony.application.timeout=12000", workers=2)
        sentence = self.assert_ends(job, 3, "APPLICATION_TIMEOUT")
        self.assertIn("`tony stacks` shows where the programs were", sentence)
        kept = {one["task"]: one["text"] for one in self.site.verb("stacks", job.id)["kept"]}
        self.assertEqual(sorted(kept), ["worker:0", "worker:1"])
        self.assertIn("load_batch", kept["worker:1"])
        self.assertIn("all_reduce", kept["worker:0"])

    def test_a_job_that_ended_by_itself_has_none(self):
        job = self.submit("true")
        self.assert_succeeds(job)
        result = self.site.run("tony", "stacks", job.id)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no stacks were kept", result.stderr)

    def test_every_way_of_containment(self):
        for way in ("cgroup", "namespace", "process-tree"):
            if self.submit("exit 0", "--conf", f"tony.task.containment={way}").wait() != 0:
                continue  # it does not work here
            with self.subTest(way=way):
                job = self.start("--conf", f"tony.task.containment={way}", name=way)
                self.assertEqual(job.wait_for_task("worker:0", "RUNNING")["containment"], way)
                text = self.stacks(job)
                self.assertRegex(text, r"\n    all_reduce +\S+train\.py:\d+\n")
                self.assertNotIn("could not be read", text)
                self.end(job)


if __name__ == "__main__":
    integration_case.main()
