#!/usr/bin/env python3
"""What a task finds in its environment: devices, the framework's variables, the other tasks."""

import json

import integration_case
from integration_case import PRINT_ALL, JobTest


class EnvironmentTest(JobTest):
    """Each task prints its environment."""

    def test_tasks_without_gpus_see_none(self):
        self.site.environment["CUDA_VISIBLE_DEVICES"] = "0,1"
        for task in self.environments("--conf=tony.local.gpus=4", worker=2).values():
            self.assertEqual(task["CUDA_VISIBLE_DEVICES"], "")

    def test_gpus_are_exclusive(self):
        tasks = self.environments(
            "--conf=tony.local.gpus=4", "--conf=tony.worker.gpus=2", worker=2, ps=1
        )
        devices = [
            tasks[f"worker:{index}"]["CUDA_VISIBLE_DEVICES"].split(",") for index in range(2)
        ]
        self.assertEqual([len(each) for each in devices], [2, 2])
        self.assertEqual(sorted(devices[0] + devices[1]), ["0", "1", "2", "3"])
        self.assertEqual(tasks["ps:0"]["CUDA_VISIBLE_DEVICES"], "")

    def test_gpus_are_exclusive_between_jobs(self):
        devices = self.pipe("devices")
        gate = self.pipe("gate")
        jobs = [
            self.submit(
                f"echo $CUDA_VISIBLE_DEVICES > {devices.path}; read < {gate.path}",
                *("--conf=tony.local.gpus=4", "--conf=tony.worker.gpus=2"),
            )
            for _ in range(2)
        ]
        held = [devices.read().split(",") for _ in jobs]
        self.assertEqual(sorted(held[0] + held[1]), ["0", "1", "2", "3"])
        gate.write(2)
        for job in jobs:
            self.assert_succeeds(job)

    def test_general_variables(self):
        tasks = self.environments("--conf=tony.worker.env=ONE=1", "--shell_env=ALL=2", worker=2)
        for index, task in enumerate(tasks.values()):
            self.assertEqual(
                (task["JOB_NAME"], task["TASK_INDEX"], task["TASK_NUM"], task["ONE"], task["ALL"]),
                ("worker", str(index), "2", "1", "2"),
            )
            self.assertEqual((task["TONY_EPOCH"], task["TONY_ATTEMPT"]), ("0", "1"))
            self.assertTrue(task["TONY_CHECKPOINT_DIR"].endswith("/checkpoints"))
        self.assertEqual([task.get("IS_CHIEF") for task in tasks.values()], ["true", None])
        self.assertEqual(["TB_PORT" in task for task in tasks.values()], [True, False])

    def test_tensorflow(self):
        tasks = self.environments(chief=1, worker=2, ps=1, evaluator=1, tensorboard=1)
        cluster = json.loads(tasks["chief:0"]["CLUSTER_SPEC"])
        self.assertEqual(sorted(cluster), ["chief", "evaluator", "ps", "worker"])
        addresses = [address for members in cluster.values() for address in members]
        self.assertEqual(len(set(addresses)), 5)
        training = {name: members for name, members in cluster.items() if name != "evaluator"}
        for name in ("chief:0", "worker:1", "ps:0"):
            kind, index = name.split(":")
            self.assertEqual(
                json.loads(tasks[name]["TF_CONFIG"]),
                {"cluster": training, "task": {"type": kind, "index": int(index)}},
            )
        self.assertEqual(json.loads(tasks["evaluator:0"]["TF_CONFIG"])["cluster"], cluster)
        self.assertEqual(json.loads(tasks["tensorboard:0"]["TF_CONFIG"])["cluster"], training)
        self.assertEqual(
            [name for name, task in tasks.items() if "TB_PORT" in task], ["tensorboard:0"]
        )

    def test_pytorch(self):
        tasks = self.environments("--conf=tony.application.framework=pytorch", worker=3)
        (master,) = {task["MASTER_ADDR"] + ":" + task["MASTER_PORT"] for task in tasks.values()}
        for rank, task in enumerate(tasks.values()):
            expected = {
                "RANK": str(rank),
                "WORLD": "3",
                "WORLD_SIZE": "3",
                "LOCAL_RANK": str(rank),
                "LOCAL_WORLD_SIZE": "3",
                "INIT_METHOD": f"tcp://{master}",
            }
            self.assertEqual({name: task.get(name) for name in expected}, expected)
            self.assertNotIn("TF_CONFIG", task)

    def test_local_rank_counts_those_who_see_the_same_devices(self):
        tasks = self.environments(
            *("--conf=tony.application.framework=pytorch", "--conf=tony.local.gpus=2"),
            "--conf=tony.worker.gpus=1",
            worker=2,
        )
        for task in tasks.values():
            self.assertEqual((task["LOCAL_RANK"], task["LOCAL_WORLD_SIZE"]), ("0", "1"))

    def test_sidecar_is_no_member_of_the_cluster(self):
        tasks = self.environments(
            "--conf=tony.application.sidecar.jobtypes=helper", worker=2, helper=1
        )
        for task in tasks.values():
            self.assertEqual(list(json.loads(task["CLUSTER_SPEC"])), ["worker"])
            self.assertEqual(list(json.loads(task["TF_CONFIG"])["cluster"]), ["worker"])

    def test_without_tasks_the_command_runs_in_the_masters_container(self):
        job = self.site.submit("--executes", PRINT_ALL, "--conf=tony.am.memory=64m")
        self.assert_succeeds(job)
        task = json.loads(job.log("am:0"))
        self.assertEqual(task["JOB_ID"], job.id)
        self.assertIn("TB_PORT", task)

    def test_working_folder(self):
        program = self.site.folder / "src"
        (program / "models").mkdir(parents=True)
        (program / "models/train.py").write_text(
            "print(open('data.csv').read(), open('more/one').read())"
        )
        (self.site.folder / "data.csv").write_text("1,2")
        (self.site.folder / "folder").mkdir()
        (self.site.folder / "folder/one").write_text("one")
        job = self.submit(
            "python3 models/train.py; echo $PWD",
            *("--src_dir=src", "--conf=tony.worker.resources=data.csv,folder::more"),
        )
        self.assert_succeeds(job)
        (container,) = {task["container"] for task in job.events("task_changed")}
        folder = job.folder / "containers" / container
        self.assertEqual(job.log("worker:0").decode(), f"1,2 one\n{folder}\n")


if __name__ == "__main__":
    integration_case.main()
