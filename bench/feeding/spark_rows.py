"""The rows of bench/feed in Spark: both clusters in one SparkContext take turns, and a Spark job does nothing."""

import contextlib
import os
import shutil

import records
import sides
from report import median

MASTER = "local-cluster[2,1,1024]"
EXECUTORS = 2
THEIR_PARTITIONS = 10


class Stage:
    """The SparkContext, and the clusters, which start when a row wants them. Not thread safe."""

    def __init__(self, settings):
        from pyspark.sql import SparkSession  # pylint: disable=import-outside-toplevel,import-error
        builder = SparkSession.builder.master(MASTER).appName("bench/feed")
        for key, value in (("ui.enabled", "false"), ("ui.showConsoleProgress", "false"), ("executor.memory", "1g"),
                           ("driver.host", "127.0.0.1"), ("driver.bindAddress", "127.0.0.1"),
                           ("task.maxFailures", "1")):
            builder = builder.config(f"spark.{key}", value)
        self.settings = settings
        self.spark = builder.getOrCreate()
        self.sc = self.spark.sparkContext
        self.sc.setLogLevel("OFF")
        self._work = os.path.join(os.environ["SPARK_HOME"], "work", self.sc.applicationId)
        self._ours = self._theirs = None

    def warm(self):
        """Both executors have run a task."""
        with sides.as_side(self.sc, "none"):
            self.sc.parallelize(range(EXECUTORS), EXECUTORS).barrier().mapPartitions(lambda rows: rows).count()

    @property
    def ours(self):
        """The cluster of tony, in Spark's executors."""
        if self._ours is None:
            self._ours = sides.Ours(self.sc, self.settings.folder, EXECUTORS)
        return self._ours

    @property
    def theirs(self):
        """The cluster of TensorFlowOnSpark."""
        if self._theirs is None:
            self._theirs = sides.Theirs(self.sc, self.settings.folder, EXECUTORS)
        return self._theirs

    def nothing(self, data):
        """Seconds of a Spark job that reads the data and does nothing with them."""
        with sides.as_side(self.sc, "none"):
            if hasattr(data, "schema"):
                return sides.timed(data.write.format("noop").mode("overwrite").save)
            return sides.timed(data.foreachPartition, lambda rows: [None for _ in rows] and None)

    def close(self):
        """Ends everything, also after an error."""
        for side in (self._ours, self._theirs):
            if side is not None:
                with contextlib.suppress(Exception):
                    side.close()
        self.spark.stop()
        shutil.rmtree(self._work, ignore_errors=True)


def placing(stage, report):
    """TFCluster.run() in warm executors, to its return, when all nodes run."""
    stage.warm()
    seconds = []
    for _ in range(stage.settings.rounds + 1):
        ours = sides.Ours(stage.sc, stage.settings.folder, EXECUTORS)
        seconds.append(ours.start_seconds)
        ours.close()
    report.at_most("placing in warm Spark executors -> RUNNING", median(seconds[1:]), 2, 0.5, "s")
    report.note(f"the first one {seconds[0]:.2f} s; the first of TensorFlowOnSpark {stage.theirs.start_seconds:.2f} s")


class _Compared:
    """Rounds of one data set. Not thread safe."""

    def __init__(self, stage, data, count, partitions):
        total = records.total(count // partitions) * partitions
        self.rounds = []
        for number in range(stage.settings.rounds + 1):
            if number % 2:
                its = stage.theirs.train(data, count, total)
            mine = stage.ours.train(data, count, total)
            if not number % 2:
                its = stage.theirs.train(data, count, total)
            floor = stage.nothing(data)
            if number:  # the first one warms all three
                self.rounds.append((mine, its, floor))

    def report(self, what, report, span, call):
        """span, call: gate and aim; None: no row."""
        if span:
            report.at_least(f"{what}: span", median([mine.span / its.span for mine, its, _ in self.rounds]), *span)
        if call:
            report.at_least(f"{what}: train()", median([its.call / mine.call for mine, its, _ in self.rounds]), *call)
        for name, fed in (("tony", [mine for mine, _, _ in self.rounds]),
                          ("TensorFlowOnSpark", [its for _, its, _ in self.rounds])):
            span, call = median([one.span for one in fed]), median([one.call for one in fed])
            report.note(f"{name}: {span:,.0f} records/s, in {call:.2f} s")
        report.note(f"no-op job: in {median([floor for _, _, floor in self.rounds]):.2f} s")


def _made(stage, lists):
    """An RDD whose rows are made in Spark's Python, its rows and partitions."""
    partitions = stage.settings.spark_partitions
    count = stage.settings.records // (sides.BATCH * partitions) * sides.BATCH * partitions
    make = records.maker(count // partitions, lists)
    return stage.sc.parallelize(range(partitions), partitions).mapPartitionsWithIndex(make), count, partitions


def rdd_numpy(stage, report):
    """Rows that are numpy arrays."""
    _Compared(stage, *_made(stage, False)).report("RDD of numpy", report, (10, 30), (6, 20))


def rdd_lists(stage, report):
    """Rows that are lists, made in the same Python process that feeds them."""
    _Compared(stage, *_made(stage, True)).report("RDD of lists made in Python", report, (5, 50), (4, 30))


def rdd_stored(stage, report):
    """Rows that are lists, which Spark holds pickled."""
    from pyspark import StorageLevel  # pylint: disable=import-outside-toplevel,import-error
    with sides.as_side(stage.sc, "none"):
        data, count, partitions = _made(stage, True)
        data.persist(StorageLevel.MEMORY_AND_DISK).count()
    try:
        _Compared(stage, data, count, partitions).report("RDD stored as lists", report, (2, 4), None)
    finally:
        data.unpersist()


def _frame(stage, binary):
    partitions = stage.settings.spark_partitions
    count = stage.settings.records // (sides.BATCH * partitions) * sides.BATCH * partitions
    folder = f"{stage.settings.folder}/{'binary' if binary else 'array'}"
    os.mkdir(folder)
    records.write_parquet(folder, partitions, count // partitions, binary)
    # A partition for each file.
    stage.spark.conf.set("spark.sql.files.minPartitionNum", partitions)
    return stage.spark.read.parquet(folder), count, partitions


def frame_array(stage, report):
    """A DataFrame of Parquet with an array<float>."""
    _Compared(stage, *_frame(stage, False)).report("DataFrame array<float>", report, (5, 20), (2.5, 10))


def frame_binary(stage, report):
    """The same with the arrays' bytes."""
    _Compared(stage, *_frame(stage, True)).report("DataFrame binary column", report, (15, 30), None)


def partitions(stage, report):
    """Partitions of 100 records: many of them for tony and for a job that does nothing, a few for TensorFlowOnSpark."""
    make = records.maker(sides.BATCH, False)
    total = records.total(sides.BATCH)

    def data(count):
        return stage.sc.parallelize(range(count), count).mapPartitionsWithIndex(make)
    count, few = stage.settings.partitions, min(THEIR_PARTITIONS, stage.settings.partitions)
    # Both are warm after a few.
    stage.ours.train(data(few), few * sides.BATCH, few * total)
    mine = stage.ours.train(data(count), count * sides.BATCH, count * total).call
    its = stage.theirs.train(data(few), few * sides.BATCH, few * total).call
    stage.nothing(data(few))
    floor = stage.nothing(data(count))
    report.at_most(f"{count} partitions of 100: over the no-op job", mine / floor, 1.5, 1, "x")
    report.at_least(f"{count} partitions of 100: a partition, faster", (its / few) / (mine / count), 5, None)
    report.note(f"seconds a partition: tony {mine / count:.3f}, TensorFlowOnSpark {its / few:.3f} (of {few}), "
                f"no-op {floor / count:.3f}")


# The order: placing needs executors without a node of tony's.
ROWS = {"placing": placing, "rdd-numpy": rdd_numpy, "rdd-lists": rdd_lists, "rdd-stored": rdd_stored,
        "frame-array": frame_array, "frame-binary": frame_binary, "partitions": partitions}
