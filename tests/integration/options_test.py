#!/usr/bin/env python3
"""tony-submit's options: TonY's thirteen in all their spellings, and ours, by dry runs."""

import itertools
import json

import integration_case
from integration_case import JobTest

ONE_WORKER = ("--conf", "tony.worker.instances=1", "--conf", "tony.local.memory=64g")


def spellings(name, value):
    """All ways to write an option: one dash or two, `_` or `-`, value apart or after `=`."""
    for dashes, written in itertools.product(("-", "--"), sorted({name, name.replace("_", "-")})):
        if value is None:
            yield [f"{dashes}{written}"]
        else:
            yield [f"{dashes}{written}={value}"]
            yield [f"{dashes}{written}", value]


class OptionsTest(JobTest):
    """Each option changes what a dry run prints, however it is written."""

    def setUp(self):
        super().setUp()
        (self.site.folder / "src").mkdir()
        (self.site.folder / "venv/bin").mkdir(parents=True)
        (self.site.folder / "venv/pyvenv.cfg").touch()
        (self.site.folder / "venv/bin/python").touch()

    def dry_run(self, *arguments):
        result = self.site.run("tony-submit", "--dry-run", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def assert_means(self, name, value, look, expected, *others):
        """`look` finds `expected` in the dry run with the option, and not without it."""
        self.assertNotEqual(look(self.dry_run(*others)), expected)
        for words in spellings(name, value):
            with self.subTest(words=words):
                self.assertEqual(look(self.dry_run(*words, *others)), expected)

    def assert_sets(self, name, value, key, expected, *others):
        """The option puts `expected` under a configuration key."""

        def look(printed):
            return printed["configuration"].get(key)

        origin = f"--{name}"
        self.assert_means(name, value, look, {"value": expected, "origin": origin}, *others)

    def test_executes(self):
        self.assert_means(
            *(
                "executes",
                "train.py --fast",
                lambda run: run["tasks"][0]["command"],
                "train.py --fast",
            ),
            *("--conf=tony.containers.command=other", *ONE_WORKER),
        )

    def test_task_params(self):
        self.assert_means(
            *(
                "task_params",
                "--steps 5",
                lambda run: run["tasks"][0]["command"],
                "train.py --steps 5",
            ),
            *("--executes=train.py", *ONE_WORKER),
        )

    def test_python_binary_path(self):
        def look(run):
            return run["tasks"][0]["command"]

        rest = ("--executes=train.py", *ONE_WORKER)
        self.assert_means(
            "python_binary_path", "/usr/bin/python3", look, "/usr/bin/python3 train.py", *rest
        )
        self.assert_means("python_binary_path", "bin/python", look, "bin/python train.py", *rest)
        self.assert_means(
            "python_binary_path",
            "bin/python",
            look,
            "venv/bin/python train.py",
            "--python_venv=venv",
            *rest,
        )

    def test_python_venv(self):
        self.assert_means(
            *("python_venv", "venv", lambda run: run["python_venv"], f"{self.site.folder}/venv"),
            *("--executes=true", *ONE_WORKER),
        )

    def test_src_dir(self):
        self.assert_means(
            *("src_dir", "src", lambda run: run["src_dir"], f"{self.site.folder}/src"),
            *("--executes=true", *ONE_WORKER),
        )

    def test_shell_env_and_container_env(self):
        def look(run):
            return run["tasks"][0]["environment"].get("COLOR")

        for name in ("shell_env", "container_env"):
            self.assert_means(name, "COLOR=a=b, c", look, "a=b, c", "--executes=true", *ONE_WORKER)
            self.assert_means(
                name,
                "COLOR=red",
                look,
                "red",
                f"--{name}=SHAPE=round",
                "--executes=true",
                *ONE_WORKER,
            )

    def test_conf(self):
        self.assert_means(
            *("conf", "tony.worker.vcores=3", lambda run: run["total"]["vcores"], 3),
            *("--executes=true", *ONE_WORKER),
        )

    def test_conf_file_and_the_file_alone(self):
        path = self.write_job(("tony.worker.instances", 2), ("tony.worker.command", "true"))

        def look(run):
            return run["total"]["count"]

        self.assert_means("conf_file", str(path), look, 2, "--executes=true")
        self.assertEqual(look(self.dry_run("job.xml")), 2)
        self.assertEqual(look(self.dry_run("job.xml", "--conf", "tony.worker.instances=3")), 3)

    def test_hdfs_classpath(self):
        (self.site.folder / "one.jar").touch()
        self.assert_sets(
            *("hdfs_classpath", "one.jar,missing.jar", "tony.containers.resources"),
            *(f"{self.site.folder}/one.jar::one.jar", "--executes=true", *ONE_WORKER),
        )
        said = self.site.run(
            "tony-submit", "--dry-run", "--executes=true", "--hdfs_classpath=missing.jar"
        )
        self.assertIn("--hdfs_classpath: 'missing.jar' does not exist; it is skipped", said.stderr)

    def test_sidecar_tensorboard_log_dir(self):
        self.assert_sets(
            *(
                "sidecar_tensorboard_log_dir",
                "/logs",
                "tony.application.tensorboard-log-dir",
                "/logs",
            ),
            *("--executes=true", *ONE_WORKER),
        )
        run = self.dry_run("--sidecar_tensorboard_log_dir=/logs", "--executes=true", *ONE_WORKER)
        self.assertEqual([task["task"] for task in run["tasks"]], ["worker:0", "tensorboard:0"])
        self.assertEqual(run["tasks"][1]["environment"]["TB_LOG_DIR"], "/logs")

    def test_help(self):
        for words in [*spellings("help", None), ["-h"]]:
            result = self.site.run("tony-submit", *words)
            self.assertEqual(result.returncode, 0)
            self.assertIn("--executes COMMAND", result.stdout)

    def test_debug(self):
        for words in spellings("debug", None):
            self.assertEqual(
                self.dry_run(*words, "--executes=true", *ONE_WORKER)["total"]["count"], 1
            )

    def test_dry_run_for_people(self):
        for words in spellings("dry-run", None):
            result = self.site.run("tony-submit", *words, "--executes=true", *ONE_WORKER)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Task worker:0: true\n", result.stdout)
            self.assertIn("  TASK_INDEX=0\n", result.stdout)

    def test_bad_usage(self):
        cases = {
            ("--exceutes", "true"): "unknown option '--exceutes'; did you mean '--executes'?",
            ("-src-dri=x",): "unknown option '--src-dri'; did you mean '--src_dir'?",
            ("--zzzzzzzzzz",): "unknown option '--zzzzzzzzzz'; --help lists all options",
            ("train.py",): "'train.py' is no job file. Two ways to run this program",
            ("train",): "unexpected argument 'train'; name the program with --executes",
            ("--executes",): "--executes needs a value: --executes=COMMAND",
            ("--executes", "--src_dir", "src"): "it is followed by the option '--src_dir'",
            ("--conf", "tony.worker.instances"): "is not of the form NAME=VALUE",
            ("--task_params=x", "job.xml"): "--task_params has no effect without --executes",
            (): "there is no job: name a job file, or a command with --executes",
        }
        for words, sentence in cases.items():
            with self.subTest(words=words):
                result = self.site.run_bare("tony-submit", *words)
                self.assertEqual(result.returncode, 2)
                self.assertIn(sentence, result.stderr)


if __name__ == "__main__":
    integration_case.main()
