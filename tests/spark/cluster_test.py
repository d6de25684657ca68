#!/usr/bin/env python3
"""tony.cluster with real Spark, whose local executors feed nodes that are tasks of this machine.

    cluster_test.py PROGRAMS [unittest's arguments]

It runs itself again with the Python of requirements.txt, as this process is Spark's driver. One SparkContext serves all
tests of a class.
"""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "integration"), str(HERE.parent / "support")]

# pylint: disable=wrong-import-position
import cluster_functions
import integration_case
import machine
import tony_cli
from integration_case import OwnSiteTest
from step_server import StepServer

MEMORY = {"tony.worker.memory": "400m", "tony.chief.memory": "400m"}
# The second restart takes longer than four attempts of Spark.
RESTARTS = {**MEMORY, "tony.am.retry-count": 2, "tony.am.retry-backoff-ms": 5000}
IN_ENVIRONMENT = "TONY_TEST_IN_ENVIRONMENT"
TFCluster = TFParallel = tony = dfutil = None  # pylint: disable=invalid-name


class SparkTest(OwnSiteTest):
    """A test with a SparkContext, that of its class."""

    MASTER = ""
    PLACE = "tony"

    @classmethod
    def setUpClass(cls):
        from pyspark.sql import SparkSession  # pylint: disable=import-outside-toplevel
        builder = SparkSession.builder.master(cls.MASTER).appName("tony's tests")
        for key, value in (("ui.enabled", "false"), ("ui.showConsoleProgress", "false"), ("executor.memory", "512m"),
                           ("task.maxFailures", "2"), ("driver.host", "127.0.0.1"),
                           ("driver.bindAddress", "127.0.0.1")):
            builder = builder.config(f"spark.{key}", value)
        cls.spark = builder.getOrCreate()
        cls.sc = cls.spark.sparkContext
        cls.sc.setLogLevel("OFF")
        cls.addClassCleanup(cls.spark.stop)

    def setUp(self):
        super().setUp()
        self.told = self.site.folder / "told"
        self.told.mkdir()

    def fed(self, function, count=1, *arguments, **options):
        """A cluster that Spark feeds."""
        cluster = TFCluster.run(self.sc, function, [str(self.told), *map(str, arguments)], count, place=self.PLACE,
                                input_mode=TFCluster.InputMode.SPARK, **{"job": MEMORY, **options})
        self.addCleanup(cluster.nodes.job.ask_to_stop)
        return cluster

    def kept_by_node(self):
        """What the nodes have left."""
        import pickle  # pylint: disable=import-outside-toplevel
        return [pickle.loads(path.read_bytes()) for path in sorted(self.told.iterdir())]

    def kept(self):
        """All of it, as one list."""
        return sum(self.kept_by_node(), [])


class SourcesTests:
    """What each kind of master has to feed."""

    def test_rdd_of_rows(self):
        rows = [([float(number)] * 20, number) for number in range(1000)]
        cluster = self.fed(cluster_functions.take_rows, 2)
        cluster.train(self.sc.parallelize(rows, 4), 2)
        cluster.shutdown()
        self.assertEqual(sorted(self.kept(), key=lambda row: row[1]), sorted(rows * 2, key=lambda row: row[1]))

    def test_data_frame(self):
        rows = [([float(number), 0.5], number) for number in range(1000)]
        frame = self.spark.createDataFrame(rows, "image array<float>, label long").repartition(3)
        cluster = self.fed(cluster_functions.take_rows)
        cluster.train(frame, 2)
        cluster.train(frame.rdd, 1)
        cluster.shutdown()
        self.assertEqual(sorted(map(tuple, self.kept()), key=lambda row: row[1]),
                         sorted(rows * 3, key=lambda row: row[1]))

    def test_a_data_frame_of_bytes(self):
        frame = self.spark.createDataFrame([(bytearray([number] * 50),) for number in range(200)], "image binary")
        cluster = self.fed(cluster_functions.take_rows)
        cluster.train(frame, 1)
        cluster.shutdown()
        self.assertEqual(sorted(map(tuple, self.kept())), [(bytes([number] * 50),) for number in range(200)])

    def test_nodes_that_train_together(self):
        path = self.site.folder / "steps"
        server = StepServer(path, 2)
        self.addCleanup(server.join)
        cluster = self.fed(cluster_functions.train_in_step, 2, path, even="drop")
        # Five partitions, of which some have an odd number of rows.
        rows = self.sc.parallelize([(number, "x" * number) for number in range(1007)], 5)
        lost = sum(rows.glom().map(lambda partition: len(partition) % 2).collect())
        with self.assertLogs("tony.cluster.TFCluster") as logs:
            cluster.train(rows, 1)
            cluster.train(self.spark.createDataFrame([(number, 0.5) for number in range(2000, 2011)]).coalesce(1), 1)
        cluster.shutdown(timeout=60)
        server.join()
        self.assertEqual((server.uneven, len(self.kept()), len(set(self.kept()))), (False,) + (1007 - lost + 10,) * 2)
        self.assertIn(f"even='drop': {lost} rows were left out", "".join(logs.output))
        self.assertIn("even='drop': 1 rows were left out", logs.output[-1])

    def test_nodes_that_train_together_and_want_no_more(self):
        cluster = self.fed(cluster_functions.take_until_200, 2, even="repeat")
        cluster.train(self.sc.parallelize([[0.5] * 100] * 20000, 50), 2)
        cluster.shutdown(timeout=60)
        # The first one that has them ends the feed for both.
        self.assertEqual(max(map(len, self.kept_by_node())), 200)

    def test_inference(self):
        cluster = self.fed(cluster_functions.double, 2)
        self.assertEqual(cluster.inference(self.sc.parallelize(range(1000), 5)).collect(),
                         [2 * number for number in range(1000)])
        twice = cluster.inference(self.sc.parallelize(range(10), 3))
        self.assertEqual((twice.sum(), twice.count()), (90, 10))
        cluster.shutdown()

    def test_a_node_that_is_started_again(self):
        cluster = self.fed(cluster_functions.die_twice, job=RESTARTS)
        cluster.train(self.sc.parallelize(range(1000), 4), 1)
        cluster.shutdown()
        self.assertEqual(sorted(self.kept()), list(range(1000)))

    def test_a_node_in_another_container(self):
        cluster = self.fed(cluster_functions.lose_container_once)
        cluster.train(self.sc.parallelize(range(1000), 4), 1)
        cluster.shutdown()
        self.assertEqual(sorted(self.kept()), list(range(1000)))

    def test_a_node_that_fails(self):
        cluster = self.fed(cluster_functions.fail_while_fed)
        with self.assertRaises(tony.JobFailed if self.PLACE == "spark" else cluster_functions.CityError) as failed:
            cluster.train(self.sc.parallelize([[0.5] * 100] * 20000, 2), 1)
        if self.PLACE == "spark":
            self.assertIn("CityError", "\n".join(failed.exception.tail))
        # Spark removes the folders in which its executors' nodes have run; the logs stay.
        self.assertTrue(cluster.nodes.await_end(60))
        lines = [line.text for line in cluster.nodes.job.logs("worker:0")]
        self.assertTrue(any(line.endswith("CityError: Ulm") for line in lines), [*lines, cluster.nodes.job.status().notes])


class LocalTest(SourcesTests, SparkTest):
    """Spark's tasks are threads of its driver."""

    MASTER = "local[2]"

    def test_direct_mode(self):
        cluster = TFCluster.run(self.sc, cluster_functions.describe, [str(self.told), 2], 2, master_node="chief",
                                job=MEMORY)
        cluster.shutdown()
        self.assertEqual(sorted(path.name for path in self.told.iterdir()), ["chief-0", "worker-0"])

    def test_independent_instances(self):
        self.assertEqual(TFParallel.run(self.sc, lambda args, ctx: (args, ctx.worker_num), "a", 2, job=MEMORY),
                         [("a", 0), ("a", 1)])

    def test_stream(self):
        from pyspark.streaming import StreamingContext  # pylint: disable=import-outside-toplevel
        ssc = StreamingContext(self.sc, 1)
        cluster = self.fed(cluster_functions.take_until_200)
        cluster.train(ssc.queueStream([self.sc.parallelize(range(start, start + 100), 2) for start in (0, 100)]))
        ssc.start()
        cluster.shutdown(ssc)
        self.assertEqual(sorted(self.kept()), list(range(200)))

    def test_a_stream_whose_node_fails(self):
        from pyspark.streaming import StreamingContext  # pylint: disable=import-outside-toplevel
        ssc = StreamingContext(self.sc, 3600)  # a graceful stop would wait for the end of the hour
        told = self.site.folder / "fail"
        os.mkfifo(told)
        cluster = self.fed(cluster_functions.fail_when_told, 1, told)
        cluster.train(ssc.queueStream([self.sc.parallelize(range(100), 2)]))
        ssc.start()
        told.write_text("", encoding="utf-8")
        with self.assertRaises(cluster_functions.CityError):
            cluster.shutdown(ssc)

    def test_a_stream_that_cannot_be_fed_any_more(self):
        from pyspark.streaming import StreamingContext  # pylint: disable=import-outside-toplevel
        ssc = StreamingContext(self.sc, 1)
        cluster = self.fed(cluster_functions.fail_while_fed)
        cluster.train(ssc.queueStream([self.sc.parallelize(range(100), 2)] * 1000))
        ssc.start()
        with self.assertRaises(cluster_functions.CityError):
            cluster.shutdown(ssc)

    def test_structured_streaming(self):
        source, cluster = self.site.folder / "source", self.fed(cluster_functions.take_rows)
        source.mkdir()
        for part in range(3):
            lines = "".join(f"{part},{number}\n" for number in range(100))
            (source / f"{part}.csv").write_text(lines, encoding="utf-8")
        stream = self.spark.readStream.schema("part int, number int").option("maxFilesPerTrigger", 1).csv(str(source))
        query = stream.writeStream.foreachBatch(lambda frame, _: cluster.train(frame, 1)).trigger(
            availableNow=True).option("checkpointLocation", str(self.site.folder / "checkpoint")).start()
        self.assertTrue(query.awaitTermination(120))
        self.assertIsNone(query.exception())
        cluster.shutdown()
        self.assertEqual(sorted(self.kept()), sorted((part, number) for part in range(3) for number in range(100)))

    def test_tfrecords(self):
        frame = self.spark.createDataFrame([(1, 0.5, [1, 2], "a", bytearray(b"\xff"))],
                                           "i long, f float, a array<long>, s string, b binary")
        folder = str(self.site.folder / "records")
        dfutil.saveAsTFRecords(frame, folder)
        with self.assertRaisesRegex(tony.TonyError, "exists already"):
            dfutil.saveAsTFRecords(frame, folder)
        loaded = dfutil.loadTFRecords(self.sc, folder, ["b"])
        self.assertTrue(dfutil.isLoadedDF(loaded))
        self.assertEqual(loaded.dtypes, [("a", "array<bigint>"), ("b", "binary"), ("f", "float"), ("i", "bigint"),
                                         ("s", "string")])
        self.assertEqual([row.asDict() for row in loaded.collect()], [row.asDict() for row in frame.collect()])

    def test_estimator(self):
        from tony.cluster import pipeline  # pylint: disable=import-outside-toplevel
        rows = [(number, [float(number)] * 3, "not used") for number in range(100)]
        frame = self.spark.createDataFrame(rows, "label long, image array<float>, other string")
        estimator = pipeline.TFEstimator(cluster_functions.keep_columns, {"folder": str(self.told)}, place="tony",
                                         job=MEMORY)
        estimator.setInputMapping({"label": "y", "image": "x"}).setEpochs(2).setBatchSize(30)
        model = estimator.fit(frame)
        self.assertIsInstance(model, pipeline.TFModel)
        self.assertEqual(model.getInputMapping(), {"label": "y", "image": "x"})
        kept = self.kept()
        self.assertEqual(sorted(kept), sorted([(number, [float(number)] * 3) for number in range(100)] * 2))


class LocalClusterTest(SourcesTests, SparkTest):
    """Spark's executors are processes of their own, and the nodes are in them."""

    MASTER = "local-cluster[2,1,1024]"
    PLACE = "spark"

    def test_a_spark_executor_that_is_killed(self):
        cluster = self.fed(cluster_functions.lose_spark_executor_once)
        cluster.train(self.sc.parallelize(range(1000), 4), 1)
        cluster.shutdown()
        self.assertEqual(sorted(self.kept()), list(range(1000)))


class CrowdedTest(SparkTest):
    """More nodes than Spark has executors. A SparkContext of its own: an executor that is placed while its job ends
    keeps its Spark executor for a minute."""

    MASTER = "local-cluster[1,1,1024]"
    PLACE = "spark"

    def test_more_nodes_than_spark_executors(self):
        with self.assertRaisesRegex(TimeoutError, "after 4 s these nodes of job .* do not run yet: worker:"):
            self.fed(cluster_functions.take_rows, 2, reservation_timeout=4)
        (job,) = tony.jobs()
        self.assertEqual(tony.attach(job.id).wait(60).outcome, "KILLED")
        machine.wait_until(lambda: not machine.processes_with(job.id), 60, 0.05)


class StoppedTest(SparkTest):
    """A SparkContext that ends in the middle."""

    MASTER = "local-cluster[1,2,1024]"
    PLACE = "spark"

    def test_a_spark_context_that_is_stopped_while_nodes_are_fed(self):
        told, gate = self.pipe("fed"), self.pipe("gate")
        cluster = self.fed(cluster_functions.take_rows_behind_a_gate, 1, told.path, gate.path)
        # More than the slots hold.
        rows = self.sc.parallelize([(b"x" * 8000, number) for number in range(4000)], 4)
        training = self.in_thread(cluster.train, rows, 1)
        self.assertEqual(told.read(), "fed")
        self.sc.stop()
        with self.assertRaisesRegex(Exception, "SparkContext was (shut down|stopped)"):
            training.result(60)
        with self.assertRaisesRegex(tony.TonyError, "Spark does not place nodes any more: the SparkContext was stopped"):
            cluster.shutdown(timeout=60)
        machine.wait_until(lambda: not machine.processes_with(cluster.nodes.job.id), 60, 0.05)
        self.assertEqual(machine.processes_with(cluster.nodes.job.id), {})


def load_package():
    """Imports the package beside the programs."""
    global tony, TFCluster, TFParallel, dfutil  # pylint: disable=global-statement
    tony = integration_case.import_package()
    TFCluster, TFParallel, dfutil = (integration_case.import_package(f"tony.cluster.{name}")
                                     for name in ("TFCluster", "TFParallel", "dfutil"))


if __name__ == "__main__":
    if IN_ENVIRONMENT not in os.environ:
        python = tony_cli.examples_python(HERE / "requirements.txt")
        os.execve(python, [python, "-B", *sys.argv], {**os.environ, IN_ENVIRONMENT: "1", "PYSPARK_PYTHON": python})
    integration_case.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    load_package()
    unittest.main()
