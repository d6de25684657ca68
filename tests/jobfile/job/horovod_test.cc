// Horovod jobs: the driver that they get, what Horovod is told, and job files that cannot work.
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr char kRemoveOrDebug[] =
    "; remove it, or set tony.horovod.driver.mode.debug=true to bring a driver of your own\n";

/// A Horovod job that is good but for `more`, whose first property stands in line 5 of job.xml.
class HorovodTest : public SpecTest {
 protected:
  LoadedJob LoadWith(const Properties& more) {
    Properties properties = {{"tony.application.framework", "horovod"},
                             {"tony.worker.instances", "2"},
                             {"tony.worker.command", "python3 train.py"}};
    properties.insert(properties.end(), more.begin(), more.end());
    return Load(properties);
  }
  BuildResult Build(const Properties& more) {
    LoadedJob loaded = LoadWith(more);
    EXPECT_THAT(RenderProblems(loaded.result.problems), IsEmpty());
    return std::move(loaded.result);
  }
  std::string ProblemsWith(const Properties& more) {
    return RenderProblems(LoadWith(more).result.problems);
  }
  std::string NotesWith(const Properties& more) { return RenderProblems(Build(more).notes); }
  std::map<std::string, std::string> Variables(const Properties& more) {
    return Build(more).job.horovod.variables;
  }

  /// The properties of a job with its own driver; `more` begins in line 6.
  static Properties Debug(const Properties& more) {
    Properties properties = {{"tony.horovod.driver.mode.debug", "true"}};
    properties.insert(properties.end(), more.begin(), more.end());
    return properties;
  }
};

TEST_F(HorovodTest, GetsADriver) {
  const BuildResult result = Build({});
  const core::JobDescription& job = result.job;
  EXPECT_EQ(job.framework, core::Framework::kHorovod);
  ASSERT_EQ(job.types.size(), 2u);
  EXPECT_EQ(job.types[0].name, "worker");
  EXPECT_EQ(job.types[1], (core::TaskType{.name = "driver",
                                          .instances = 1,
                                          .resources = {256, 1, 0},
                                          .tracking = core::Tracking::kUntracked}));
  EXPECT_FALSE(job.horovod.own_driver);
  EXPECT_EQ(job.horovod.driver_start, milliseconds(60'000));
  EXPECT_EQ(job.horovod.rendezvous, milliseconds(600'000));
  EXPECT_EQ(job.horovod.network_interfaces, "");
  EXPECT_THAT(job.horovod.variables, ElementsAre(Pair("HOROVOD_GLOO_TIMEOUT_SECONDS", "2000")));
  EXPECT_THAT(RenderProblems(result.notes), IsEmpty());
}

TEST_F(HorovodTest, TheDriverNeedsNeitherCommandNorFilesOfTheContainers) {
  folder_.Write("data", "");
  const BuildResult result = Build({{"tony.containers.command", "python3 train.py"},
                                    {"tony.containers.resources", "data"},
                                    {"tony.chief.instances", "1"}});
  const core::TaskType* const driver = result.job.FindType("driver");
  EXPECT_EQ(driver->command, "");
  EXPECT_THAT(driver->files, IsEmpty());
  EXPECT_EQ(result.job.FindType("chief")->files.size(), 1u);
}

TEST_F(HorovodTest, TheDriversSizeCanBeSet) {
  const BuildResult result = Build({{"tony.driver.instances", "1"},
                                    {"tony.driver.memory", "1g"},
                                    {"tony.driver.vcores", "3"},
                                    {"tony.driver.gpus", "0"},
                                    {"tony.application.untracked.jobtypes", "driver"}});
  EXPECT_EQ(result.job.FindType("driver")->resources, (core::Resources{1024, 3, 0}));
}

TEST_F(HorovodTest, TheDriverStartsWithTheProcesses) {
  const BuildResult after = Build({{"tony.prep.instances", "1"},
                                   {"tony.prep.command", "true"},
                                   {"tony.worker.depends-on", "prep"}});
  EXPECT_THAT(after.job.FindType("driver")->depends_on, ElementsAre("prep"));
  const BuildResult stages = Build({{"tony.prep.instances", "1"},
                                    {"tony.prep.command", "true"},
                                    {"tony.application.prepare-stage", "prep"},
                                    {"tony.application.training-stage", "worker"}});
  EXPECT_THAT(stages.job.FindType("driver")->depends_on, ElementsAre("prep"))
      << "the driver is in no stage and need not be";
}

TEST_F(HorovodTest, OnAClusterTheDriverIsATypeAsOthersAre) {
  const BuildResult built = Build({{"tony.backend", "yarn"},
                                   {"tony.docker.enabled", "true"},
                                   {"tony.docker.containers.image", "all"},
                                   {"tony.docker.driver.image", "small"},
                                   {"tony.application.node-label", "gpu"},
                                   {"tony.driver.node-label", "cpu"},
                                   {"tony.worker.allocation-tags", "w"}});
  const YarnSettings& yarn = built.yarn;
  EXPECT_THAT(built.images.by_type,
              ElementsAre(Pair("am", "all"), Pair("driver", "small"), Pair("worker", "all")));
  EXPECT_EQ(yarn.node_labels.at("driver"), "cpu");
  EXPECT_EQ(yarn.node_labels.at("worker"), "gpu");
  EXPECT_THAT(yarn.placements.at("driver").tags, ElementsAre("driver"));
}

TEST_F(HorovodTest, InOtherJobsADriverIsATypeLikeAnyOther) {
  const LoadedJob loaded = Load({{"tony.worker.instances", "1"},
                                 {"tony.driver.instances", "2"},
                                 {"tony.driver.gpus", "1"},
                                 {"tony.containers.command", "true"}});
  EXPECT_THAT(RenderProblems(loaded.result.problems), IsEmpty());
  const core::TaskType* const driver = loaded.result.job.FindType("driver");
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(driver->instances, 2);
  EXPECT_EQ(driver->command, "true");
  EXPECT_EQ(driver->resources, (core::Resources{2048, 1, 1}));
  EXPECT_EQ(driver->tracking, core::Tracking::kTracked);
  EXPECT_EQ(loaded.result.job.horovod, core::HorovodSettings());
  EXPECT_EQ(Load({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}})
                .result.job.FindType("driver"),
            nullptr);
}

// TonY's own example of it (issue 536).
TEST_F(HorovodTest, AJobMayBringItsOwnDriver) {
  const BuildResult result = Build(Debug({{"tony.driver.instances", "1"},
                                          {"tony.driver.vcores", "2"},
                                          {"tony.application.untracked.jobtypes", "driver"},
                                          {"tony.driver.command", "python driver.py -t -p 9999"}}));
  EXPECT_TRUE(result.job.horovod.own_driver);
  const core::TaskType* const driver = result.job.FindType("driver");
  EXPECT_EQ(driver->command, "python driver.py -t -p 9999");
  EXPECT_EQ(driver->resources, (core::Resources{2048, 2, 0}));
  EXPECT_EQ(driver->tracking, core::Tracking::kUntracked);
  EXPECT_EQ(Build(Debug({{"tony.driver.instances", "1"},
                         {"tony.driver.env", "A=1"},
                         {"tony.driver.command", "x"}}))
                .job.FindType("driver")
                ->tracking,
            core::Tracking::kUntracked)
      << "whatever the list says";
}

TEST_F(HorovodTest, TimesAndInterfacesArrive) {
  const core::HorovodSettings horovod = Build({{"tony.horovod.driver.start-timeout-ms", "1"},
                                               {"tony.horovod.rendezvous-timeout-ms", "90000"},
                                               {"tony.horovod.gloo-timeout-sec", "90"},
                                               {"tony.horovod.network-interfaces", "eth0, ib0"}})
                                            .job.horovod;
  EXPECT_EQ(horovod.driver_start, milliseconds(1));
  EXPECT_EQ(horovod.rendezvous, milliseconds(90'000));
  EXPECT_EQ(horovod.network_interfaces, "eth0,ib0");
  EXPECT_EQ(horovod.variables.at("HOROVOD_GLOO_TIMEOUT_SECONDS"), "90");
  EXPECT_EQ(Variables({{"tony.horovod.gloo-timeout-sec", "0"}}).at("HOROVOD_GLOO_TIMEOUT_SECONDS"),
            "0")
      << "no limit";
}

// Names and forms as horovod/runner/common/util/config_parser.py sets them.
TEST_F(HorovodTest, HorovodIsToldWhatIsSet) {
  EXPECT_THAT(
      Variables({{"tony.horovod.fusion-threshold-mb", "4096"},
                 {"tony.horovod.cycle-time-ms", "2.5"},
                 {"tony.horovod.cache-capacity", "0"},
                 {"tony.horovod.hierarchical-allreduce", "false"},
                 {"tony.horovod.hierarchical-allgather", "true"},
                 {"tony.horovod.torus-allreduce", "TRUE"},
                 {"tony.horovod.num-nccl-streams", "2"},
                 {"tony.horovod.thread-affinity", "0, 8"}}),
      ElementsAre(
          Pair("HOROVOD_CACHE_CAPACITY", "0"), Pair("HOROVOD_CYCLE_TIME", "2.5"),
          Pair("HOROVOD_FUSION_THRESHOLD", "4294967296"),
          Pair("HOROVOD_GLOO_TIMEOUT_SECONDS", "2000"), Pair("HOROVOD_HIERARCHICAL_ALLGATHER", "1"),
          Pair("HOROVOD_HIERARCHICAL_ALLREDUCE", "0"), Pair("HOROVOD_NUM_NCCL_STREAMS", "2"),
          Pair("HOROVOD_THREAD_AFFINITY", "0,8"), Pair("HOROVOD_TORUS_ALLREDUCE", "1")));
  EXPECT_THAT(Variables({{"tony.horovod.autotune", "true"},
                         {"tony.horovod.autotune-log-file", "tune.csv"},
                         {"tony.horovod.autotune-warmup-samples", "1"},
                         {"tony.horovod.autotune-steps-per-sample", "5"},
                         {"tony.horovod.autotune-bayes-opt-max-samples", "7"},
                         {"tony.horovod.autotune-gaussian-process-noise", "0.5"}}),
              ElementsAre(Pair("HOROVOD_AUTOTUNE", "1"),
                          Pair("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "7"),
                          Pair("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.5"),
                          Pair("HOROVOD_AUTOTUNE_LOG", "tune.csv"),
                          Pair("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "5"),
                          Pair("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "1"),
                          Pair("HOROVOD_GLOO_TIMEOUT_SECONDS", "2000")));
}

TEST_F(HorovodTest, HorovodIsToldWhatToReport) {
  EXPECT_THAT(
      Variables({{"tony.horovod.timeline-filename", "timeline.json"},
                 {"tony.horovod.timeline-mark-cycles", "true"},
                 {"tony.horovod.stall-check", "true"},
                 {"tony.horovod.stall-check-warning-time-seconds", "30"},
                 {"tony.horovod.stall-check-shutdown-time-seconds", "31"},
                 {"tony.horovod.log-level", "debug"},
                 {"tony.horovod.log-with-timestamp", "false"}}),
      ElementsAre(Pair("HOROVOD_GLOO_TIMEOUT_SECONDS", "2000"), Pair("HOROVOD_LOG_HIDE_TIME", "1"),
                  Pair("HOROVOD_LOG_LEVEL", "DEBUG"), Pair("HOROVOD_STALL_CHECK_DISABLE", "0"),
                  Pair("HOROVOD_STALL_CHECK_TIME_SECONDS", "30"),
                  Pair("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "31"),
                  Pair("HOROVOD_TIMELINE", "timeline.json"),
                  Pair("HOROVOD_TIMELINE_MARK_CYCLES", "1")));
  EXPECT_EQ(Variables({{"tony.horovod.stall-check", "false"}}).at("HOROVOD_STALL_CHECK_DISABLE"),
            "1");
  EXPECT_EQ(Variables({{"tony.horovod.timeline-filename", ""}}).count("HOROVOD_TIMELINE"), 0u)
      << "set to nothing is not set";
}

TEST_F(HorovodTest, TheWrittenConfigurationBuildsTheSameJob) {
  const LoadedJob first = LoadWith({{"tony.horovod.cycle-time-ms", "0.5"},
                                    {"tony.horovod.network-interfaces", "eth0,ib0"},
                                    {"tony.driver.memory", "300m"}});
  const LoadedJob again = LoadWritten(first.configuration);
  EXPECT_THAT(RenderProblems(again.result.problems), IsEmpty());
  EXPECT_EQ(again.result.job, first.result.job);
}

TEST_F(HorovodTest, ProcessesAreWorkersOrAChief) {
  EXPECT_EQ(ProblemsOf({{"tony.application.framework", "horovod"},
                        {"tony.workers.instances", "2"},
                        {"tony.workers.command", "true"}}),
            "job.xml:2: tony.application.framework: a Horovod job needs the task type worker or "
            "chief; did you mean tony.worker.instances where tony.workers.instances is set?\n");
  EXPECT_EQ(
      ProblemsOf({{"tony.application.framework", "horovod"}, {"tony.containers.command", "true"}}),
      "job.xml:2: tony.application.framework: a Horovod job needs the task type worker or "
      "chief; set tony.worker.instances\n");
  EXPECT_EQ(ProblemsOf({{"tony.application.framework", "horovod"},
                        {"tony.containers.command", "true"},
                        {"tony.worker.instances", "0"}}),
            "job.xml:4: tony.worker.instances: a Horovod job needs the task type worker or chief; "
            "set it to 1 or more\n");
  EXPECT_THAT(ProblemsOf({{"tony.application.framework", "horovod"},
                          {"tony.chief.instances", "1"},
                          {"tony.chief.command", "true"}}),
              IsEmpty());
  EXPECT_EQ(NotesWith({{"tony.evaluator.instances", "1"}, {"tony.evaluator.command", "true"}}),
            "job.xml:5: tony.evaluator.instances: evaluator gets no ranks: Horovod's processes are "
            "chief and worker\n");
}

TEST_F(HorovodTest, TonysDriverTakesNoProgram) {
  EXPECT_EQ(ProblemsWith({{"tony.driver.command", "python driver.py"}}),
            std::string("job.xml:5: tony.driver.command: tony's own driver has no use for it") +
                kRemoveOrDebug);
  EXPECT_EQ(ProblemsWith({{"tony.driver.env", "A=1"}}),
            std::string("job.xml:5: tony.driver.env: tony's own driver has no use for it") +
                kRemoveOrDebug);
  EXPECT_THAT(ProblemsWith({{"tony.driver.resources", "/etc/hosts"}}),
              HasSubstr("job.xml:5: tony.driver.resources: tony's own driver has no use"));
  EXPECT_THAT(ProblemsWith({{"tony.driver.port-release", "true"}}),
              HasSubstr("job.xml:5: tony.driver.port-release: tony's own driver has no use"));
  EXPECT_EQ(ProblemsWith({{"tony.driver.gpus", "1"}}),
            std::string("job.xml:5: tony.driver.gpus: tony's own driver has no use for GPUs") +
                kRemoveOrDebug);
  EXPECT_EQ(ProblemsWith({{"tony.driver.instances", "one"}}),
            "job.xml:5: tony.driver.instances: 'one' is not a whole number; write 0 to 10000, "
            "without a unit\n");
  for (const std::string number : {"0", "2"}) {
    EXPECT_EQ(
        ProblemsWith({{"tony.driver.instances", number}}),
        std::string("job.xml:5: tony.driver.instances: a Horovod job has one driver, which is "
                    "tony's") +
            kRemoveOrDebug);
  }
}

TEST_F(HorovodTest, MisspeltKeysOfTheDriverAreFound) {
  EXPECT_EQ(ProblemsWith({{"tony.driver.memroy", "1g"}}),
            "job.xml:5: tony.driver.memroy: unknown key; did you mean tony.driver.memory?\n");
  EXPECT_EQ(ProblemsWith({{"tony.drvier.memory", "1g"}}),
            "job.xml:5: tony.drvier.memory: unknown key; did you mean tony.driver.memory?\n");
}

TEST_F(HorovodTest, ADriverOfTheJobsOwnIsOneTaskWithACommand) {
  EXPECT_EQ(ProblemsWith(Debug({{"tony.driver.command", "x"}})),
            "job.xml:5: tony.horovod.driver.mode.debug: a driver of your own is one task; set "
            "tony.driver.instances=1\n");
  EXPECT_EQ(ProblemsWith(Debug({{"tony.driver.command", "x"}, {"tony.driver.instances", "2"}})),
            "job.xml:7: tony.driver.instances: a driver of your own is one task; set "
            "tony.driver.instances=1\n");
  EXPECT_EQ(
      ProblemsWith(Debug({{"tony.driver.instances", "1"}, {"tony.containers.command", "train"}})),
      "job.xml:5: tony.horovod.driver.mode.debug: the job's own driver has no command; set "
      "tony.driver.command\n")
      << "the containers' command is the training";
}

TEST_F(HorovodTest, TheDriversPlaceInTheJobIsFixed) {
  EXPECT_EQ(ProblemsWith({{"tony.driver.depends-on", "worker"}}),
            "job.xml:5: tony.driver.depends-on: the driver waits for what Horovod's processes wait "
            "for, by itself; remove it\n");
  EXPECT_EQ(ProblemsWith({{"tony.worker.depends-on", "driver"}}),
            "job.xml:5: tony.worker.depends-on: the driver starts when it knows the hosts of all "
            "processes, so they cannot wait for it; take it out; no process begins before it has a "
            "rank\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.sidecar.jobtypes", "driver"}}),
            "job.xml:5: tony.application.sidecar.jobtypes: 'driver' cannot be a sidecar: without "
            "it no process has a rank; take it out\n");
}

TEST_F(HorovodTest, ProcessesAreTracked) {
  EXPECT_EQ(ProblemsWith({{"tony.application.untracked.jobtypes", "driver,worker"}}),
            "job.xml:5: tony.application.untracked.jobtypes: 'worker' are Horovod's processes, for "
            "which the job waits; take it out\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.sidecar.jobtypes", "worker"}}),
            "job.xml:5: tony.application.sidecar.jobtypes: 'worker' are Horovod's processes, for "
            "which the job waits; take it out\n");
}

TEST_F(HorovodTest, OneProcessCannotStartAnewAlone) {
  for (const std::string scope : {"task", "type"}) {
    for (const std::string type : {"worker", "driver"}) {
      EXPECT_EQ(ProblemsWith({{"tony." + type + ".restart-scope", scope}}),
                "job.xml:5: tony." + type +
                    ".restart-scope: Horovod's processes cannot take back one that has left them, "
                    "so all begin anew, from the last checkpoint; remove it or set it to job\n");
    }
  }
  EXPECT_THAT(ProblemsWith({{"tony.worker.restart-scope", "job"},
                            {"tony.ps.instances", "1"},
                            {"tony.ps.command", "true"},
                            {"tony.ps.restart-scope", "task"}}),
              IsEmpty());
}

TEST_F(HorovodTest, ChiefAndWorkersBeginTogether) {
  const Properties chief = {{"tony.chief.instances", "1"},
                            {"tony.prep.instances", "1"},
                            {"tony.containers.command", "true"}};
  const auto problems = [&](const Properties& more) {
    Properties properties = chief;
    properties.insert(properties.end(), more.begin(), more.end());
    return ProblemsWith(properties);
  };
  EXPECT_EQ(problems({{"tony.chief.depends-on", "prep"}}),
            "job.xml:8: tony.chief.depends-on: chief and worker wait for different types, and "
            "Horovod's processes begin together; let both wait for the same ones\n");
  EXPECT_THAT(problems({{"tony.worker.depends-on", "chief"}}),
              HasSubstr("job.xml:8: tony.worker.depends-on: chief and worker wait for different"));
  EXPECT_THAT(problems({{"tony.application.prepare-stage", "prep,chief"}}),
              HasSubstr("job.xml:8: tony.application.prepare-stage: chief and worker wait for"));
  EXPECT_THAT(problems({{"tony.worker.depends-on", "prep"}, {"tony.chief.depends-on", "prep"}}),
              IsEmpty());
}

TEST_F(HorovodTest, GlooWaitsAsLongAsTheRendezvousMayTake) {
  EXPECT_EQ(ProblemsWith({{"tony.horovod.gloo-timeout-sec", "599"}}),
            "job.xml:5: tony.horovod.gloo-timeout-sec: a process would give up after "
            "tony.horovod.gloo-timeout-sec, 599 s, while the others still have the time of "
            "tony.horovod.rendezvous-timeout-ms, 600000 ms; set tony.horovod.gloo-timeout-sec to "
            "600 or more, or to 0, or tony.horovod.rendezvous-timeout-ms to 599000 or less\n");
  EXPECT_THAT(ProblemsWith({{"tony.horovod.rendezvous-timeout-ms", "2000001"}}),
              HasSubstr("job.xml:5: tony.horovod.rendezvous-timeout-ms: a process would give up "
                        "after tony.horovod.gloo-timeout-sec, 2000 s"));
  EXPECT_THAT(ProblemsWith({{"tony.horovod.rendezvous-timeout-ms", "2000001"},
                            {"tony.horovod.gloo-timeout-sec", "2001"}}),
              IsEmpty());
  EXPECT_THAT(ProblemsWith({{"tony.horovod.gloo-timeout-sec", "600"}}), IsEmpty());
}

TEST_F(HorovodTest, AStallEndsTheJobAfterItsWarning) {
  EXPECT_EQ(ProblemsWith({{"tony.horovod.stall-check-shutdown-time-seconds", "60"}}),
            "job.xml:5: tony.horovod.stall-check-shutdown-time-seconds: Horovod ignores 60 s, "
            "which is not more than the time to its warning, 60 s; set it to more than 60, or "
            "tony.horovod.stall-check-warning-time-seconds to less\n");
  EXPECT_EQ(ProblemsWith({{"tony.horovod.stall-check", "false"},
                          {"tony.horovod.stall-check-shutdown-time-seconds", "90"}}),
            "job.xml:6: tony.horovod.stall-check-shutdown-time-seconds: nothing is found to stall "
            "without tony.horovod.stall-check; remove one of the two\n");
}

TEST_F(HorovodTest, ValuesAreChecked) {
  EXPECT_EQ(ProblemsWith({{"tony.horovod.cycle-time-ms", "1ms"}}),
            "job.xml:5: tony.horovod.cycle-time-ms: '1ms' is not a number; write 0 or more, as 2 "
            "or 0.5, without a unit\n");
  EXPECT_EQ(ProblemsWith({{"tony.horovod.autotune", "true"},
                          {"tony.horovod.autotune-gaussian-process-noise", "1.5"}}),
            "job.xml:6: tony.horovod.autotune-gaussian-process-noise: 1.5 is out of range; write 0 "
            "to 1\n");
  EXPECT_EQ(ProblemsWith({{"tony.horovod.network-interfaces", "eth0,eth0 ib0"}}),
            "job.xml:5: tony.horovod.network-interfaces: 'eth0 ib0' is no name of a network "
            "interface; write names as `ip link` shows them, divided by commas\n");
  EXPECT_EQ(ProblemsWith({{"tony.horovod.thread-affinity", "0,all"}}),
            "job.xml:5: tony.horovod.thread-affinity: 'all' is no number of a processor core; "
            "write one number for each process of a host, divided by commas\n");
  EXPECT_THAT(ProblemsWith({{"tony.horovod.log-level", "warnin"}}),
              HasSubstr("did you mean warning?"));
  EXPECT_THAT(ProblemsWith({{"tony.horovod.fusion-threshold", "64"}}),
              HasSubstr("did you mean tony.horovod.fusion-threshold-mb?"));
}

TEST_F(HorovodTest, SaysWhatHasNoEffect) {
  EXPECT_EQ(NotesWith({{"tony.application.fail-on-worker-failure-enabled", "false"},
                       {"tony.horovod.hierarchical-allreduce", "true"},
                       {"tony.horovod.autotune-log-file", "x"},
                       {"tony.horovod.timeline-mark-cycles", "true"}}),
            "job.xml:5: tony.application.fail-on-worker-failure-enabled: has hardly any effect in "
            "a Horovod job: with a process fail those that work with it\n"
            "job.xml:6: tony.horovod.hierarchical-allreduce: has no effect: Horovod does this by "
            "MPI, and the job's processes use Gloo\n"
            "job.xml:7: tony.horovod.autotune-log-file: has no effect without "
            "tony.horovod.autotune=true\n"
            "job.xml:8: tony.horovod.timeline-mark-cycles: has no effect without "
            "tony.horovod.timeline-filename\n");
}

TEST_F(HorovodTest, InOtherJobsHorovodsKeysHaveNoEffect) {
  folder_.Write("site.xml", Xml({{"tony.horovod.network-interfaces", "eth0"}}));
  sources_.site_file = "site.xml";
  EXPECT_EQ(NotesOf({{"tony.worker.instances", "1"},
                     {"tony.worker.command", "true"},
                     {"tony.horovod.driver.mode.debug", "False"},
                     {"tony.horovod.cycle-time-ms", "5"}}),
            "job.xml:5: tony.horovod.cycle-time-ms: has no effect in a job of the framework "
            "tensorflow\n")
      << "a site's settings are for all jobs, and TonY's defaults change nothing";
}

}  // namespace
}  // namespace tony::jobfile
