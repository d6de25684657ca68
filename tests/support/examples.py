"""Jobs of the examples, and what is to hold of them, for tests."""

import os
import pathlib
import re
import select
import subprocess
import time

import machine
import tony_cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 300
CHECKPOINT_EVERY = 20
ACCURACY = 0.95
DEADLINE_SECONDS = 120


class ExampleJobs:
    """For a test case; it names its example. Not thread safe."""

    example = check = logger = ""  # folder, check script, the task that prints the accuracy
    job_file, program = "job.xml", "train.py"
    loggers = ()  # all tasks that log steps
    deadline_seconds = DEADLINE_SECONDS  # for a whole job

    def make_site(self):
        """Where the test's jobs are."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.python = cls.find_python()

    @staticmethod
    def find_python():
        """The interpreter of the environment that the example needs."""
        return tony_cli.examples_python()

    def start(self, *task_params, retries=0, conf=(), site=None):
        """Starts the example with options for its program; returns the job."""
        self.site = site or self.make_site()
        self.checkpoints = self.site.folder / "checkpoints"
        self.checkpoints.mkdir()
        steps = ("--steps", str(STEPS), "--checkpoint-every", str(CHECKPOINT_EVERY))
        return self.site.submit(
            *("--python_binary_path", self.python, "--executes", self.program),
            *("--task_params", " ".join((*steps, *task_params))),
            *("--conf", f"tony.application.checkpoint-dir={self.checkpoints}"),
            *("--conf", f"tony.am.retry-count={retries}"),
            *(word for line in conf for word in ("--conf", line)),
            ROOT / "examples" / self.example / self.job_file,
        )

    def assert_succeeds(self, job):
        code = job.wait(self.deadline_seconds)
        self.assertEqual(code, 0, self.describe(job))
        self.assertEqual(job.verdict["outcome"], "SUCCEEDED")
        self.assertEqual(self.remaining(job), {})

    def remaining(self, job):
        """The job's processes that live although it has ended."""
        if self.site.cluster:  # whose ApplicationMaster clears up after YARN has heard of the end
            machine.wait_until(lambda: not machine.processes_with(job.id), self.deadline_seconds)
        return machine.processes_with(job.id)

    def assert_trained(self, job):
        """The task that prints the accuracy did so once, in all its attempts."""
        printed = "".join(path.read_text() for path in job.logs(self.logger.replace("-", ":")))
        accuracies = re.findall(r"^test accuracy: ([0-9.]+)$", printed, re.MULTILINE)
        self.assertEqual(len(accuracies), 1, printed)
        self.assertGreaterEqual(float(accuracies[0]), ACCURACY)

    def assert_trained_in_one_epoch(self, job):
        """The job succeeds without a restart, and trains as one."""
        self.assert_succeeds(job)
        self.assert_trained(job)
        for task in self.loggers:
            self.assertEqual(set(self.assert_each_step_once(task)), {0})
        code, said = self.run_check()
        self.assertEqual(code, 0, said)

    def describe(self, job):
        """The events and the programs' last output, for messages."""
        parts = [job.describe()]
        for log in job.all_logs():
            text = log.read_text(errors="replace")
            parts.append(f"--- {'/'.join(log.parts[-3:])}\n{text[-2000:]}")
        return "\n".join(parts)

    def run_check(self):
        """Returns the exit code of the example's check on what the job left, and what it says."""
        result = subprocess.run(
            [self.python, "-B", ROOT / "examples/checks" / self.check, self.checkpoints],
            env=self.site.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return result.returncode, result.stdout

    def logged_steps(self, task):
        """The lines of a task's step log so far."""
        return tony_cli.json_lines(self.checkpoints / f"steps-{task}.jsonl")

    def wait_for_steps(self, job, steps):
        """Waits until the program has logged at least `steps` steps."""
        log = self.checkpoints / f"steps-{self.logger}.jsonl"
        client = os.pidfd_open(job.client.pid)
        self.addCleanup(os.close, client)
        end = time.monotonic() + DEADLINE_SECONDS
        command = ["tail", "--lines=+1", "--follow=name", "--retry", log]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        ) as tail:
            left = steps
            while left > 0:
                ready, _, _ = select.select(
                    [tail.stdout, client], [], [], max(0, end - time.monotonic())
                )
                if tail.stdout not in ready:
                    break
                left -= tail.stdout.read(4096).count(b"\n")
            tail.terminate()
        if left > 0:
            self.fail(f"no {steps} steps\n{self.describe(job)}")

    def assert_each_step_once(self, task):
        """Returns the epochs in which the steps ran, in the order of the steps."""
        lines = self.logged_steps(task)
        self.assertEqual([line["step"] for line in lines], list(range(1, STEPS + 1)), task)
        return [line["epoch"] for line in lines]

    def assert_one_restart(self, job, cause):
        """One new epoch, because of the second worker, that begins behind a checkpoint."""
        (opened,) = job.events("epoch_opened")
        self.assertEqual(tony_cli.task_name(opened["guilty"]), "worker:1")
        self.assertIn(cause, opened["cause"])
        for task in self.loggers:
            epochs = self.assert_each_step_once(task)
            self.assertEqual(epochs, sorted(epochs))
            self.assertEqual(set(epochs), {0, 1})
            self.assertEqual(epochs.index(1) % CHECKPOINT_EVERY, 0)


class TensorFlowParameterServer(ExampleJobs):
    """A chief, two workers and a parameter server, asynchronously."""

    example = "tensorflow-ps"
    check = "check_parameter_server.py"
    logger = "chief-0"
    loggers = ("chief-0",)


class TensorFlowMultiWorker(ExampleJobs):
    """Two workers in step with each other."""

    example = "tensorflow-mwms"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")


class PyTorchDistributedDataParallel(ExampleJobs):
    """Two workers in step with each other."""

    example = "pytorch-ddp"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")


class Jax(ExampleJobs):
    """Two workers in step with each other."""

    example = "jax"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")
    deadline_seconds = 2 * DEADLINE_SECONDS  # JAX compiles the program first

    @staticmethod
    def find_python():
        return tony_cli.examples_python(ROOT / "examples/jax/requirements.txt")


class HorovodPyTorch(ExampleJobs):
    """Two workers in step with each other. Only where Horovod is built."""

    example = "horovod-pytorch"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")
    # All ranks meet in each step: where others want the processors too, it takes minutes.
    deadline_seconds = 2 * DEADLINE_SECONDS

    @staticmethod
    def find_python():
        return tony_cli.horovod_python()


class CollectivePyTorch(ExampleJobs):
    """Some workers in step with each other, by tony.collective, which tony brings along."""

    example = "collective-pytorch"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")
    deadline_seconds = 2 * DEADLINE_SECONDS  # as Horovod's

    def start(self, *task_params, retries=0, conf=(), site=None):
        return super().start("--library tony.collective.torch", *task_params, retries=retries,
                             conf=(*self.conf(), *conf), site=site)

    def conf(self):
        """The common settings of its jobs."""
        return ()


class CollectiveKeras(ExampleJobs):
    """Some workers in step with each other, by tony.collective, which tony brings along."""

    example = "collective-keras"
    check = "check_synchronous.py"
    logger = "worker-0"
    loggers = ("worker-0", "worker-1")
    deadline_seconds = 2 * DEADLINE_SECONDS  # as Horovod's


class Elastic:
    """The additions of examples whose one to three workers come and go; they train until end_training()."""

    loggers = ("worker-0", "worker-1", "worker-2")
    COMMIT_EVERY = 5
    # More than from a commit to the next one.
    SOME_STEPS = COMMIT_EVERY + 2

    def start_elastic(self, *conf, retries=0):
        """Returns the job."""
        job = self.start("--slow-step-seconds 0.03", f"--commit-every {self.COMMIT_EVERY}",
                         "--steps 1000000", retries=retries, conf=conf)
        self.job = job
        self.seen = {}  # for each worker and step the numbers of processes that did it
        return job

    def end_training(self):
        """All end after their next commit."""
        (self.checkpoints / "end").touch()

    def wait_for_round(self, index, size, behind=0, count=SOME_STEPS):
        """Until the worker has done `count` steps in rounds of `size` processes, not counting those
        up to step `behind`."""
        def found():
            lines = self.logged_steps(f"worker-{index}")
            for line in lines:
                self.seen.setdefault((index, line["step"]), set()).add(line["size"])
            sizes = [line["size"] for line in lines if line["step"] > behind]
            return sizes.count(size) >= count or self.job.client.poll() is not None

        machine.wait_until(found, DEADLINE_SECONDS, pause_seconds=0.02)
        self.assertIsNone(self.job.client.poll(), self.describe(self.job))
        self.assertTrue(found(), self.describe(self.job))

    def last_step(self, index):
        """The progress of worker `index`."""
        return self.logged_steps(f"worker-{index}")[-1]["step"]

    def rounds_of(self, index):
        """The rounds of worker `index`, in all its attempts: rank, size, behind which step each
        began."""
        printed = "".join(path.read_text() for path in self.job.logs(f"worker:{index}"))
        line = r"^rank (\d+) of (\d+) goes on behind step (\d+)$"
        found = re.findall(line, printed, re.MULTILINE)
        return [tuple(map(int, numbers)) for numbers in found]

    def assert_trained_through(self, job):
        """It succeeds in one epoch, and ends with what one process would have reached."""
        self.assert_succeeds(job)
        self.assertEqual(job.events("epoch_opened"), [])
        code, said = self.run_check()
        self.assertEqual(code, 0, said)


class HorovodElastic(Elastic, HorovodPyTorch):
    """With Horovod and PyTorch."""

    job_file, program = "elastic.xml", "train_elastic.py"


class CollectiveElasticPyTorch(Elastic, CollectivePyTorch):
    """With tony.collective and PyTorch."""

    example, program = "collective-elastic-pytorch", "train_elastic.py"


class CollectiveElasticKeras(Elastic, CollectiveKeras):
    """With tony.collective and Keras."""

    example = "collective-elastic-keras"
