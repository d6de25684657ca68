#!/usr/bin/env python3
"""The command lines of TonY's README and examples, from ClusterSubmitter on, still mean a job.

Each passes a dry run, or is refused with the sentence that says what this version does not have.
"""

import json
import shlex
import zipfile

import integration_case
from integration_case import JobTest

# So that the same lines pass on a small machine.
BIG_MACHINE = ("--conf", "tony.local.memory=512g", "--conf", "tony.local.gpus=16")

README_FILE = (
    ("tony.worker.instances", 4),
    ("tony.worker.memory", "4g"),
    ("tony.worker.gpus", 1),
    ("tony.ps.memory", "3g"),
)
DOCKER = (("tony.docker.enabled", "true"), ("tony.docker.containers.image", "registry/image:v1"))


class TonyCommandLinesTest(JobTest):
    """The lines are TonY's, unchanged except for the paths of files."""

    def setUp(self):
        super().setUp()
        models = self.site.folder / "src/models"
        models.mkdir(parents=True)
        (models / "mnist_distributed.py").touch()
        self.write_venv("my-venv.zip", "Python/bin/python")
        self.write_venv("venv.zip", "venv/bin/python")

    def write_venv(self, name, interpreter):
        with zipfile.ZipFile(self.site.folder / name, "w") as archive:
            archive.writestr(interpreter, "")

    def dry_run(self, line):
        return self.site.run("tony-submit", "--dry-run", "--json", *BIG_MACHINE, *shlex.split(line))

    def assert_passes(self, line, command, **counts):
        """The line passes; its first task runs `command`, and there are so many of each type."""
        result = self.dry_run(line)
        self.assertEqual(result.returncode, 0, result.stderr)
        run = json.loads(result.stdout)
        self.assertEqual(run["tasks"][0]["command"], command)
        self.assertEqual({row["type"]: row["count"] for row in run["containers"]}, counts)
        return run

    def assert_needs_later(self, line, *sentences):
        """The line is refused, for these reasons and no other."""
        result = self.dry_run(line)
        self.assertEqual(result.returncode, 2, result.stdout)
        said = [problem for problem in result.stderr.splitlines() if "has no effect" not in problem]
        self.assertEqual(len(said), len(sentences), result.stderr)
        for sentence, problem in zip(sentences, said):
            self.assertIn(sentence, problem)

    def test_readme_with_a_virtual_environment(self):
        self.write_job(*README_FILE, name="tony.xml")
        line = """
            -executes models/mnist_distributed.py
            -task_params '--input_dir /path/to/hdfs/input --output_dir /path/to/hdfs/output'
            -python_venv my-venv.zip -python_binary_path Python/bin/python -src_dir src"""
        command = (
            "venv/Python/bin/python models/mnist_distributed.py "
            "--input_dir /path/to/hdfs/input --output_dir /path/to/hdfs/output"
        )
        run = self.assert_passes(f"{line} -conf_file tony.xml", command, worker=4)
        self.assertEqual(run["containers"][0]["gpus"], 1)
        # As it stands there the line finds its tony.xml on the Java class path.
        self.assert_passes(line, command, am=1)

    def test_readme_of_old(self):
        self.assert_passes(
            """
            -task_params '--data_dir hdfs://default/data --working_dir hdfs://default/wd --steps 9'
            -python_binary_path Python/bin/python -python_venv my-venv.zip
            -executes src/mnist_distributed.py
            -shell_env LD_LIBRARY_PATH=/usr/java/latest/jre/lib/amd64/server
            -conf tony.ps.instances=2 -conf tony.worker.instances=2""",
            "venv/Python/bin/python src/mnist_distributed.py "
            "--data_dir hdfs://default/data --working_dir hdfs://default/wd --steps 9",
            **{"ps": 2, "worker": 2},
        )

    def test_readme_with_docker(self):
        self.write_job(*README_FILE, *DOCKER, name="tony.xml")
        self.assert_passes(
            """
            -executes models/mnist_distributed.py -task_params '--input_dir /in --output_dir /out'
            -src_dir src -python_binary_path /home/user_name/python_virtual_env/bin/python
            -conf_file tony.xml""",
            "/home/user_name/python_virtual_env/bin/python models/mnist_distributed.py "
            "--input_dir /in --output_dir /out",
            worker=4,
        )

    def test_readme_of_remote_files(self):
        self.assert_needs_later(
            "--executes train.py --conf tony.worker.instances=1 "
            "--python_venv hdfs://nameservice01/user/tony/venv.zip",
            "is remote, and the local backend copies local files only",
        )

    def test_tensorflow_examples(self):
        self.write_job(
            ("tony.worker.instances", 3),
            ("tony.worker.memory", "4g"),
            ("tony.application.security.enabled", "false"),
            name="tony-test.xml",
        )
        for program, options in (
            ("mnist_distributed.py", "--steps 1000 --data_dir /tmp/data --working_dir /tmp/model"),
            (
                "mnist_estimator_distributed.py",
                "--learning_rate 0.001 --model_dir /tmp/model --dropout 0.5",
            ),
            ("mnist_keras_distributed.py", "--working-dir /tmp/model"),
        ):
            self.assert_passes(
                f"""
                --python_venv={self.site.folder}/venv.zip --src_dir={self.site.folder}/src
                --executes={program} --task_params="{options}"
                --conf_file={self.site.folder}/tony-test.xml
                --python_binary_path=venv/bin/python""",
                f"venv/venv/bin/python {program} {options}",
                worker=3,
            )

    def test_tensorboard_sidecar(self):
        self.write_job(("tony.worker.instances", 3), name="tony.xml")
        self.assert_passes(
            """
            -executes models/mnist_distributed.py -task_params '--input_dir /in --output_dir /out'
            -src_dir src -python_binary_path /home/user_name/python_virtual_env/bin/python
            -sidecar_tensorboard_log_dir /path/to/hdfs/tensorboard_log_dir -conf_file tony.xml""",
            "/home/user_name/python_virtual_env/bin/python models/mnist_distributed.py "
            "--input_dir /in --output_dir /out",
            **{"worker": 3, "tensorboard": 1},
        )

    def test_pytorch_example(self):
        self.write_job(
            ("tony.application.security.enabled", "false"),
            ("tony.ps.instances", 0),
            ("tony.worker.instances", 2),
            ("tony.application.framework", "pytorch"),
            name="tony-test.xml",
        )
        run = self.assert_passes(
            f"""
            --python_venv={self.site.folder}/venv.zip --src_dir={self.site.folder}/src
            --executes=mnist_distributed.py --conf_file={self.site.folder}/tony-test.xml
            --python_binary_path=bin/python""",
            "venv/bin/python mnist_distributed.py",
            worker=2,
        )
        self.assertEqual(run["tasks"][1]["environment"]["RANK"], "1")

    def test_horovod_example(self):
        workers = (("tony.worker.instances", 4), ("tony.worker.memory", "3g"))
        job = (*workers, *DOCKER)
        horovod = ("tony.application.framework", "horovod")
        debug = (
            ("tony.horovod.driver.mode.debug", "true"),
            ("tony.driver.instances", 1),
            ("tony.driver.vcores", 2),
            ("tony.application.untracked.jobtypes", "driver"),
            ("tony.driver.command", "python horovod_debug_driver.py -t -p 9999"),
        )
        line = f"""
            --src_dir={self.site.folder}/src --executes=tensorflow2_mnist.py
            --conf_file={self.site.folder}/tony-test.xml --python_binary_path=python3"""
        self.write_job(*workers, horovod, name="tony-test.xml")
        self.assert_passes(line, "python3 tensorflow2_mnist.py", worker=4, driver=1)
        self.write_job(*workers, horovod, *debug, name="tony-test.xml")
        run = self.assert_passes(line, "python3 tensorflow2_mnist.py", worker=4, driver=1)
        self.assertIn(debug[-1][1], [task["command"] for task in run["tasks"]])
        self.write_job(*job, horovod, name="tony-test.xml")
        self.assert_passes(line, "python3 tensorflow2_mnist.py", worker=4, driver=1)
        self.write_job(*job, horovod, *debug, name="tony-test.xml")
        self.assert_passes(line, "python3 tensorflow2_mnist.py", worker=4, driver=1)

    def test_mxnet_example(self):
        self.write_venv("MxNetPython3.5.zip", "Python3.5/bin/python3")
        self.write_job(
            *(("tony.application.security.enabled", "false"), ("tony.scheduler.instances", 1)),
            *(("tony.server.instances", 2), ("tony.ps.instances", 0), ("tony.worker.instances", 2)),
            *(("tony.worker.vcores", 2), ("tony.worker.memory", "4G")),
            *(("tony.application.framework", "mxnet"), ("tony.application.name", "mxnet - linear")),
            name="tony_mxnet_job.xml",
        )
        run = self.assert_passes(
            """
            --python_venv=./MxNetPython3.5.zip --src_dir="./src"
            --shell_env=DMLC_USE_KUBERNETES=1 --shell_env=PS_VERBOSE=0
            --conf_file=./tony_mxnet_job.xml --executes=mxnet_dist_ex.py
            --task_params="--param1 --param2" --python_binary_path=Python3.5/bin/python3""",
            "venv/Python3.5/bin/python3 mxnet_dist_ex.py --param1 --param2",
            scheduler=1,
            server=2,
            worker=2,
        )
        roles = [task["environment"]["DMLC_ROLE"] for task in run["tasks"]]
        self.assertEqual(roles, ["scheduler", "server", "server", "worker", "worker"])

    def test_ray_example(self):
        self.write_venv("ray.zip", "bin/python")
        start = "source $PWD/venv/bin/activate; ray start --num-cpus=1"
        self.write_job(
            *(
                ("tony.worker.instances", 2),
                ("tony.worker.memory", "3g"),
                ("tony.head.instances", 1),
            ),
            (
                "tony.head.command",
                f"{start} --head --redis-port=`./discovery.py --head-port`; ray stop",
            ),
            ("tony.worker.command", f"{start} --address=`./discovery.py --head-address` --block"),
            name="tony.xml",
        )
        self.assert_passes(
            "-python_venv ray.zip -src_dir src -conf_file tony.xml",
            f"{start} --address=`./discovery.py --head-address` --block",
            **{"worker": 2, "head": 1},
        )

    def test_cloud_examples(self):
        self.write_venv("tf.zip", "tf/bin/python3.5")
        self.write_job(*README_FILE, name="tony.xml")
        for options in (
            "--data_dir /tmp/ --working_dir /tmp/",
            "--data_dir gs://bucket/data --steps 1000",
        ):
            self.assert_passes(
                f"""
                --src_dir={self.site.folder}/src --task_params='{options}'
                --conf_file={self.site.folder}/tony.xml --executes mnist_distributed.py
                --python_venv={self.site.folder}/tf.zip --python_binary_path=tf/bin/python3.5""",
                f"venv/tf/bin/python3.5 mnist_distributed.py {options}",
                worker=4,
            )


class NoFileTest(JobTest):
    """A job from options alone."""

    def test_a_command_a_folder_and_a_number_are_enough(self):
        program = self.site.folder / "DIR"
        program.mkdir()
        (program / "train.py").write_text(
            "import os; print('trained as', os.environ['TASK_INDEX'])"
        )
        job = self.site.submit(
            *(
                "--executes",
                "python3 train.py",
                "--src_dir",
                "DIR",
                "--conf",
                "tony.worker.instances=2",
            ),
            *("--conf", "tony.local.memory=8g"),
        )
        self.assert_succeeds(job)
        for index in range(2):
            self.assertEqual(job.log(f"worker:{index}"), f"trained as {index}\n".encode())


if __name__ == "__main__":
    integration_case.main()
