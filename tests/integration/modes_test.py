#!/usr/bin/env python3
"""The frameworks JAX and MXNet, torchrun in a task, tasks that start one by one, and preprocessing."""

import base64
import os
import pathlib
import signal
import sys
import textwrap

import integration_case
import machine
import tony_cli
from integration_case import JobTest, conf

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ModesTest(JobTest):
    """Jobs whose tasks write down what they find."""

    def write_program(self, text):
        """A Python program; returns its path."""
        path = self.site.folder / "program.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path


class JaxTest(ModesTest):
    """What JAX finds."""

    def test_processes_are_numbered(self):
        tasks = self.environments(*conf(application__framework="jax"), worker=2, chief=1, reader=1)
        coordinator = tasks["chief:0"]["JAX_COORDINATOR_ADDRESS"]
        self.assertRegex(coordinator, r"^127\.0\.0\.1:\d+$")
        for task in tasks.values():
            self.assertEqual(task["JAX_COORDINATOR_ADDRESS"], coordinator)
            self.assertEqual(task["JAX_COORDINATOR_BIND_ADDRESS"], coordinator)
            self.assertEqual(task["JAX_NUM_PROCESSES"], "3")
            self.assertEqual(task["JAX_CPU_COLLECTIVES_IMPLEMENTATION"], "gloo")
            self.assertNotIn("JAX_LOCAL_DEVICE_IDS", task)
        self.assertEqual(
            [task.get("JAX_PROCESS_ID") for task in tasks.values()], ["1", "2", "0", None]
        )

    def test_gpus(self):
        tasks = self.environments(
            *conf(application__framework="jax", local__gpus=4, worker__gpus=2), worker=2
        )
        self.assertEqual([task["JAX_LOCAL_DEVICE_IDS"] for task in tasks.values()], ["0,1"] * 2)

    def test_tony_jax_tells_jax_where_it_is(self):
        """JAX is played by the one class of it that tony.jax extends."""
        clusters = self.site.folder / "src" / "jax" / "_src" / "clusters"
        clusters.mkdir(parents=True)
        for folder in (clusters.parents[1], clusters.parents[0]):
            (folder / "__init__.py").touch()
        (clusters / "__init__.py").write_text(
            textwrap.dedent("""
                class ClusterEnv:
                    _cluster_types = []
                    def __init_subclass__(cls):
                        cls._cluster_types.append(cls)
                class Slurm(ClusterEnv):
                    pass
                """),
            encoding="utf-8",
        )
        program = self.write_program("""
            from jax._src.clusters import ClusterEnv
            import tony.jax
            first = ClusterEnv._cluster_types[0]
            print(first.name, first.is_env_present(), first.get_process_id(), "of",
                  first.get_process_count(),
                  first.get_coordinator_address(timeout_secs=3, override_coordinator_port=None))
            """)
        job = self.submit(
            f"python3 {program}",
            *("--shell_env", f"PYTHONPATH={clusters.parents[2]}:{ROOT}/python"),
            *conf(application__framework="jax"),
            workers=2,
        )
        self.assert_succeeds(job)
        for index in range(2):
            self.assertRegex(
                job.log(f"worker:{index}"), rb"^tony True %d of 2 127\.0\.0\.1:\d+\n$" % index
            )

    def test_a_program_that_does_not_name_its_launcher(self):
        job = self.submit(
            "echo 'ValueError: Number of processes must be defined.' >&2; exit 1",
            *conf(application__framework="jax"),
        )
        self.assertIn("write `import tony.jax` before", self.assert_ends(job, 1, "TASK_FAILED"))

    def test_without_processes(self):
        said = self.assert_refused(
            2, "--executes", "true", *conf(application__framework="jax", node__instances=1)
        )
        self.assertIn("a JAX job needs the task type worker or chief", said)


class TorchrunTest(ModesTest):
    """What a torchrun in each task finds."""

    def test_each_task_is_a_node_of_one_group(self):
        tasks = self.environments(*conf(application__framework="pytorch"), worker=2, reader=1)
        for index in range(2):
            task = tasks[f"worker:{index}"]
            self.assertEqual(
                [task[f"PET_{name}"] for name in ("NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")],
                ["2", str(index), task["MASTER_ADDR"], task["MASTER_PORT"]],
            )
        self.assertNotIn("PET_NODE_RANK", tasks["reader:0"])


class FirstComeTest(ModesTest):
    """tony.application.distributed-mode=FCFS."""

    def ready_before_running(self, mode):
        """How many tasks of three are ready when the job begins to run."""
        job = self.submit(
            'echo $TASK_INDEX of $TASK_NUM $DISTRIBUTED_MODE "$CLUSTER_SPEC$TF_CONFIG"',
            *conf(application__distributed_mode=mode),
            workers=3,
        )
        self.assert_succeeds(job)
        ready = 0
        for event in job.all_events():
            if event.get("state_changed", {}).get("state") == "RUNNING":
                break
            ready += event.get("task_changed", {}).get("state") == "READY"
        return job, ready

    def test_no_task_waits_for_another(self):
        job, ready = self.ready_before_running("FCFS")
        self.assertEqual(ready, 1)
        for index in range(3):
            self.assertEqual(job.log(f"worker:{index}"), b"%d of 3 FCFS \n" % index)
        job, ready = self.ready_before_running("GANG")
        self.assertEqual(ready, 3)
        self.assertRegex(job.log("worker:0"), rb'^0 of 3 GANG \{"worker":\[')

    def test_a_restart(self):
        job = self.submit(
            "[ $TASK_INDEX = 0 ] || exit $((TONY_EPOCH == 0))",
            *conf(application__distributed_mode="fcfs", am__retry_count=1),
            workers=2,
        )
        self.assert_succeeds(job)
        self.assertEqual(len(job.events("epoch_opened")), 1)

    def test_frameworks_that_need_addresses(self):
        said = self.assert_refused(
            *(2, "--executes", "true"),
            *conf(application__distributed_mode="FCFS", application__framework="pytorch"),
            *self.types(worker=2),
        )
        self.assertIn("tony.application.distributed-mode: with FCFS a task starts before", said)


class PreprocessingTest(ModesTest):
    """tony.application.enable-preprocess."""

    def preprocess(self, first, then, *arguments, workers=2):
        """Starts a job that runs `first`, and then `then` in each worker."""
        return self.submit(
            then,
            *conf(application__enable_preprocess="true", am__command=first, am__memory="64m"),
            *arguments,
            workers=workers,
        )

    def test_its_parameters_reach_the_tasks(self):
        job = self.preprocess(
            "echo $PREPROCESSING_JOB $JOB_NAME; echo 'Model parameters: --rate 0.1 --name=\"a b\"'",
            "echo $JOB_NAME $TASK_NUM $MODEL_PARAMS $CLUSTER_SPEC; echo ${PREPROCESSING_JOB-unset}",
        )
        self.assert_succeeds(job)
        self.assertIn(b"true am\n", job.log("am:0"))
        self.assertRegex(
            job.log("worker:0"),
            rb'^worker 2 --rate 0\.1 --name="a b" \{"worker":\["[^"]*","[^"]*"\]\}\nunset\n$',
        )
        (ended,) = (
            change
            for change in job.events("task_changed")
            if tony_cli.task_name(change["task"]) == "am:0" and change["state"] == "SUCCEEDED"
        )
        parameters = base64.b64decode(ended["exit"]["model_parameters"])
        self.assertEqual(parameters, b'--rate 0.1 --name="a b"')

    def test_one_command_for_both(self):
        job = self.submit(
            "echo Model parameters: 7; echo ${PREPROCESSING_JOB-no} ${MODEL_PARAMS-none}",
            *conf(application__enable_preprocess="true", am__memory="64m"),
        )
        self.assert_succeeds(job)
        self.assertEqual(job.log("am:0"), b"Model parameters: 7\ntrue none\n")
        self.assertEqual(job.log("worker:0"), b"Model parameters: 7\nno 7\n")

    def test_its_failure_ends_the_job(self):
        job = self.preprocess(
            "exit 3", "true", *conf(application__fail_on_worker_failure_enabled="false")
        )
        self.assertEqual(
            self.assert_ends(job, 1, "TASK_FAILED"),
            "main:0 exited with code 3; worker, which depends on main, does not start",
        )

    def test_it_runs_once_although_a_task_starts_again(self):
        job = self.preprocess(
            "echo Model parameters: $TONY_EPOCH",
            "echo $MODEL_PARAMS; exit $((TONY_EPOCH == 0))",
            *conf(am__retry_count=1),
            workers=1,
        )
        self.assert_succeeds(job)
        self.assertEqual(job.log("worker:0", attempt=2), b"0\n")

    def test_parameters_outlive_the_application_master(self):
        running, gate = self.pipe("running"), self.pipe("gate")
        job = self.detach(
            "true",
            *conf(application__enable_preprocess="true", am__memory="64m"),
            *conf(prep__instances=1, prep__memory="64m", application__prepare_stage="prep"),
            *conf(prep__command=f"echo > {running.path}; read < {gate.path}"),
            *conf(am__command="echo Model parameters: kept"),
            *conf(worker__command="echo $MODEL_PARAMS"),
        )
        running.read()
        os.kill(machine.master_of(job), signal.SIGKILL)
        gate.write()
        result = self.site.run("tony", "wait", job)
        self.assertEqual(result.returncode, 0, result.stderr)
        logs = self.site.run("tony", "logs", job, "worker:0")
        self.assertIn("kept", logs.stdout)

    def test_without_a_command(self):
        said = self.assert_refused(
            2,
            *conf(application__enable_preprocess="true", worker__command="true"),
            *self.types(worker=1),
        )
        self.assertIn("tony.application.enable-preprocess: there is no command to run first", said)


class MxNetTest(ModesTest):
    """The roles of MXNet's parameter server, played with exactly its variables."""

    def test_all_roles_meet(self):
        program = str(pathlib.Path(__file__).with_name("mxnet_roles.py"))
        job = self.site.submit(
            *("--executes", f"{sys.executable} -B {program}"),
            *self.types(scheduler=1, server=2, worker=3),
            *conf(application__framework="mxnet"),
        )
        self.assert_succeeds(job)
        self.assertEqual(
            job.log("scheduler:0"), b"met 2 servers and 3 workers at its own port\n"
        )
        for index in range(3):
            self.assertEqual(job.log(f"worker:{index}"), b"sum of 2 servers: 2.0\n")


if __name__ == "__main__":
    integration_case.main()
