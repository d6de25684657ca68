// Good job files: TonY's run unchanged, and every setting arrives where it belongs.
#include "jobfile/job/job_builder.h"

#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class JobBuilderTest : public SpecTest {
 protected:
  /// Loads properties that must be good.
  BuildResult Build(const Properties& properties) {
    LoadedJob loaded = Load(properties);
    EXPECT_THAT(RenderProblems(loaded.result.problems), IsEmpty());
    return std::move(loaded.result);
  }
};

TEST_F(JobBuilderTest, RunsTheJobOfTonYsReadme) {
  sources_.overrides = {
      {"tony.containers.command", "venv/Python/bin/python train.py", "--executes"}};
  const BuildResult result = Build({{"tony.worker.instances", "4"},
                                    {"tony.worker.memory", "4g"},
                                    {"tony.worker.gpus", "1"},
                                    {"tony.ps.memory", "3g"}});
  ASSERT_EQ(result.job.types.size(), 1u);
  EXPECT_EQ(result.job.types[0].name, "worker");
  EXPECT_EQ(result.job.types[0].resources, (core::Resources{4096, 1, 1}));
  EXPECT_EQ(RenderProblems(result.notes),
            "job.xml:5: tony.ps.memory: has no effect: tony.ps.instances is not set\n");
}

TEST_F(JobBuilderTest, RunsTonYsParameterServerJobUnchanged) {
  const BuildResult result = Build({{"tony.application.security.enabled", "false"},
                                    {"tony.application.name", "mnist"},
                                    {"tony.chief.instances", "1"},
                                    {"tony.worker.instances", "2"},
                                    {"tony.ps.instances", "1"},
                                    {"tony.ps.memory", "512M"},
                                    {"tony.containers.command", "python3 train.py"},
                                    {"tony.chief.command", "python3 train.py --chief"},
                                    {"tony.task.executor.jvm.opts", "-Xmx512m"}});
  const core::JobDescription& job = result.job;
  EXPECT_EQ(job.name, "mnist");
  EXPECT_EQ(job.framework, core::Framework::kTensorFlow);
  ASSERT_EQ(job.types.size(), 3u);
  EXPECT_EQ(job.types[0].name, "chief") << "the order of the file";
  EXPECT_EQ(job.types[0].command, "python3 train.py --chief");
  EXPECT_EQ(job.types[1].command, "python3 train.py");
  EXPECT_EQ(job.types[1].instances, 2);
  EXPECT_EQ(job.types[2].tracking, core::Tracking::kUntracked);
  EXPECT_TRUE(job.types[2].stop_on_failure);
  EXPECT_EQ(job.types[2].resources.memory_mb, 512);
  EXPECT_TRUE(job.fail_on_worker_failure);
  EXPECT_THAT(
      RenderProblems(result.notes),
      testing::AllOf(HasSubstr("tony.task.executor.jvm.opts: tony has no JVM"),
                     HasSubstr("job.xml:2: tony.application.security.enabled: Hadoop's tokens")));
}

TEST_F(JobBuilderTest, RunsTonYsPyTorchAndRayExamples) {
  EXPECT_EQ(Build({{"tony.ps.instances", "0"},
                   {"tony.worker.instances", "2"},
                   {"tony.worker.command", "python3 mnist.py"},
                   {"tony.application.framework", "PYTORCH"}})
                .job.framework,
            core::Framework::kPyTorch);
  EXPECT_EQ(Build({{"tony.worker.instances", "2"},
                   {"tony.worker.memory", "3g"},
                   {"tony.worker.command", "ray start --address=`./discovery.py --head-address`"},
                   {"tony.head.instances", "1"},
                   {"tony.head.command", "ray start --head"}})
                .job.types.size(),
            2u);
}

TEST_F(JobBuilderTest, AcceptsTonYsOwnDefaultsOfKeysThatItRefuses) {
  const BuildResult result = Build({{"tony.worker.instances", "1"},
                                    {"tony.worker.command", "true"},
                                    {"tony.application.security.enabled", "true"},
                                    {"tony.docker.enabled", "False"},
                                    {"tony.application.distributed-mode", "gang"},
                                    {"tony.yarn.queue", "default"},
                                    {"tony.application.node-label", ""},
                                    {"tony.history.location", "/path/to/tony-history"},
                                    {"tony.task.am.jvm.opts", ""},
                                    {"tony.horovod.mode.test", "false"},
                                    {"tony.container.allocation.timeout", "-1"},
                                    {"tony.container.registration.timeout", "-1"},
                                    {"tony.task.max-total-instances", "-1"},
                                    {"tony.application.stop-on-failure-jobtypes", "ps"},
                                    {"tony.secret.key", "changeme"}});
  EXPECT_THAT(RenderProblems(result.notes), IsEmpty());
  EXPECT_EQ(result.job.timeouts.registration, milliseconds(0));
}

TEST_F(JobBuilderTest, FillsInTheDefaults) {
  const BuildResult result =
      Build({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}});
  core::JobDescription expected;
  expected.name = std::filesystem::path(folder_.path()).filename();
  expected.types = {
      {.name = "worker", .instances = 1, .resources = {2048, 1, 0}, .command = "true"}};
  expected.am_resources = {2048, 1, 0};
  expected.execution_env = {{"PYTHONFAULTHANDLER", "1"}};
  expected.timeouts.registration = milliseconds(900'000);
  expected.timeouts.metrics_interval = milliseconds(1'000);
  EXPECT_EQ(result.job, expected);
  EXPECT_EQ(result.local, (LocalSettings{.dir = folder_.path() + "/home/.tony",
                                         .ledger = "/var/lib/tony/ledger",
                                         .gpu_program = "nvidia-smi"}));
  EXPECT_EQ(result.packaging, Packaging());
}

TEST_F(JobBuilderTest, TheFaultHandlerOfPythonIsOnUnlessTheJobSaysSo) {
  const auto environment = [this](const std::string& key, const std::string& value) {
    return Build({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}, {key, value}})
        .job.execution_env;
  };
  EXPECT_THAT(environment("tony.task.python-faulthandler", "false"), IsEmpty());
  EXPECT_THAT(environment("tony.containers.envs", "PYTHONFAULTHANDLER=0"), IsEmpty());
  EXPECT_THAT(environment("tony.execution.envs", "PYTHONFAULTHANDLER="),
              ElementsAre(Pair("PYTHONFAULTHANDLER", "")));
}

TEST_F(JobBuilderTest, CarriesEverySettingOfTheApplication) {
  const BuildResult result = Build({{"tony.worker.instances", "1"},
                                    {"tony.containers.command", "true"},
                                    {"tony.execution.envs", "A=1"},
                                    {"tony.containers.envs", "B=2"},
                                    {"tony.worker.env", "C=3"},
                                    {"tony.worker.port-release", "true"},
                                    {"tony.worker.restart-scope", "TASK"},
                                    {"tony.am.retry-count", "3"},
                                    {"tony.am.infrastructure-retry-count", "4"},
                                    {"tony.am.retry-backoff-ms", "12"},
                                    {"tony.am.retry-backoff-max-ms", "13"},
                                    {"tony.am.memory", "256m"},
                                    {"tony.am.vcores", "2"},
                                    {"tony.application.timeout", "1"},
                                    {"tony.container.allocation.timeout", "2"},
                                    {"tony.container.registration.timeout", "3"},
                                    {"tony.task.executor.registry-timeout-sec", "4"},
                                    {"tony.task.executor.execution-timeout-ms", "5"},
                                    {"tony.task.heartbeat-interval-ms", "60"},
                                    {"tony.task.max-missed-heartbeats", "7"},
                                    {"tony.task.metrics-interval-ms", "800"},
                                    {"tony.task.kill-grace-ms", "9"},
                                    {"tony.task.containment", "Namespace"},
                                    {"tony.am.shutdown-timeout-ms", "10"},
                                    {"tony.task.executor.execution.error-message-max-depth", "11"},
                                    {"tony.task.log.rotate-size", "12"},
                                    {"tony.task.log.max-size", "13m"},
                                    {"tony.application.log.max-size", "14g"},
                                    {"tony.task.log.redact", "id-\\d{3\\,5}, (?i)acme"},
                                    {"tony.application.checkpoint-dir", "hdfs://x/ckpt"},
                                    {"tony.application.fail-on-worker-failure-enabled", "false"}});
  const core::JobDescription& job = result.job;
  EXPECT_THAT(job.execution_env, ElementsAre(Pair("A", "1"), Pair("PYTHONFAULTHANDLER", "1")));
  EXPECT_THAT(job.container_env, ElementsAre(Pair("B", "2")));
  EXPECT_THAT(job.types[0].env, ElementsAre(Pair("C", "3")));
  EXPECT_TRUE(job.types[0].port_release);
  EXPECT_EQ(job.types[0].restart_scope, core::RestartScope::kTask);
  EXPECT_EQ(job.retry_count, 3);
  EXPECT_EQ(job.infrastructure_retry_count, 4);
  EXPECT_EQ(job.retry_backoff, milliseconds(12));
  EXPECT_EQ(job.retry_backoff_max, milliseconds(13));
  EXPECT_EQ(job.am_resources, (core::Resources{256, 2, 0}));
  const core::Timeouts timeouts = {.application = milliseconds(1),
                                   .allocation = milliseconds(2),
                                   .registration = milliseconds(3),
                                   .registry = milliseconds(4000),
                                   .execution = milliseconds(5),
                                   .heartbeat_interval = milliseconds(60),
                                   .max_missed_heartbeats = 7,
                                   .metrics_interval = milliseconds(800),
                                   .kill_grace = milliseconds(9),
                                   .shutdown = milliseconds(10)};
  EXPECT_EQ(job.timeouts, timeouts);
  EXPECT_EQ(job.logs, (core::LogPolicy{12, 13, 14 * 1024, {"id-\\d{3,5}", "(?i)acme"}}));
  EXPECT_EQ(job.error_message_max_depth, 11);
  EXPECT_EQ(job.containment, "namespace");
  EXPECT_EQ(job.checkpoint_dir, "hdfs://x/ckpt");
  EXPECT_FALSE(job.fail_on_worker_failure);
}

TEST_F(JobBuilderTest, CarriesTheLocalSettings) {
  const BuildResult result = Build({{"tony.worker.instances", "1"},
                                    {"tony.worker.command", "true"},
                                    {"tony.local.dir", "/var/tmp/tony/"},
                                    {"tony.local.gpus", "4"},
                                    {"tony.local.vcores", "8"},
                                    {"tony.local.memory", "16g"},
                                    {"tony.gpu-exec-path", "/opt/bin/nvidia-smi"},
                                    {"tony.local.ledger", "private"},
                                    {"tony.local.user-gpus", "2, alice=4"},
                                    {"tony.local.user-memory", "@staff=1g"}});
  LocalSettings expected{.dir = "/var/tmp/tony",
                         .needs_ledger = true,
                         .gpus = 4,
                         .vcores = 8,
                         .memory_mb = 16384,
                         .gpu_program = "/opt/bin/nvidia-smi"};
  expected.user_gpus = {.everybody = 2, .users = {{"alice", 4}}, .groups = {}};
  expected.user_memory_mb.groups = {{"staff", 1024}};
  EXPECT_EQ(result.local, expected);
}

TEST_F(JobBuilderTest, GathersTheFilesOfEachType) {
  folder_.Write("common.txt", "");
  folder_.Write("data/set.zip", "");
  const BuildResult result =
      Build({{"tony.worker.instances", "1"},
             {"tony.ps.instances", "1"},
             {"tony.containers.command", "true"},
             {"tony.containers.resources", "common.txt"},
             {"tony.worker.resources", "data/set.zip::set#archive, common.txt, data"}});
  const core::ResourceEntry common{folder_.path() + "/common.txt", "common.txt", false};
  EXPECT_THAT(
      result.job.types[0].files,
      ElementsAre(common, core::ResourceEntry{folder_.path() + "/data/set.zip", "set", true},
                  core::ResourceEntry{folder_.path() + "/data", "data", false}));
  EXPECT_THAT(result.job.types[1].files, ElementsAre(common));
}

TEST_F(JobBuilderTest, GathersWhatHasToBePacked) {
  folder_.Write("src/train.py", "");
  folder_.Write("venv.zip", "");
  const BuildResult result = Build({{"tony.worker.instances", "1"},
                                    {"tony.worker.command", "true"},
                                    {"tony.application.src-dir", "src"},
                                    {"tony.application.python-venv", "venv.zip"},
                                    {"tony.python-exec-path", "other/python"},
                                    {"tony.application.python-binary-path", "bin/python"}});
  EXPECT_EQ(result.packaging,
            (Packaging{folder_.path() + "/src", folder_.path() + "/venv.zip", "bin/python"}));
  EXPECT_EQ(result.job.python_interpreter, "bin/python");
  EXPECT_EQ(InterpreterInTask(result.packaging), "venv/bin/python");
  EXPECT_EQ(InterpreterInTask({"", "", "python3"}), "python3");
  EXPECT_EQ(InterpreterInTask({"", "/venv", "/usr/bin/python3"}), "/usr/bin/python3");
  EXPECT_EQ(InterpreterInTask({"", "/venv", ""}), "");
}

TEST_F(JobBuilderTest, AJobWithoutTasksRunsItsCommandInTheMastersContainer) {
  folder_.Write("a.txt", "");
  const BuildResult common = Build({{"tony.containers.command", "jupyter"},
                                    {"tony.containers.resources", "a.txt"},
                                    {"tony.am.resources", "a.txt::b.txt"}});
  EXPECT_THAT(common.job.types, IsEmpty());
  EXPECT_EQ(common.job.am_command, "jupyter");
  EXPECT_EQ(common.job.am_files.size(), 2u);
  EXPECT_EQ(Build({{"tony.am.command", "mine"},
                   {"tony.containers.command", "theirs"},
                   {"tony.worker.instances", "0"}})
                .job.am_command,
            "mine");
}

TEST_F(JobBuilderTest, CarriesTheOrderOfTypes) {
  const BuildResult result =
      Build({{"tony.prep.instances", "1"},
             {"tony.worker.instances", "2"},
             {"tony.evaluator.instances", "1"},
             {"tony.containers.command", "true"},
             {"tony.application.prepare-stage", "prep"},
             {"tony.application.training-stage", "worker,evaluator"},
             {"tony.evaluator.depends-on", "worker"},
             {"tony.application.group.A", "worker"},
             {"tony.application.dependency.evaluator.timeout.after.A", "60"},
             {"tony.application.dependency.evaluator.timeout.after.A.ignored", "true"}});
  EXPECT_THAT(result.job.FindType("prep")->depends_on, IsEmpty());
  EXPECT_THAT(result.job.FindType("worker")->depends_on, ElementsAre("prep"));
  EXPECT_THAT(result.job.FindType("evaluator")->depends_on, ElementsAre("worker", "prep"));
  EXPECT_THAT(result.job.dependency_timeouts,
              ElementsAre(core::DependencyTimeout{
                  "evaluator", "A", {"worker"}, std::chrono::seconds(60), true}));
}

TEST_F(JobBuilderTest, TensorBoardIsASidecarThatRunsOnce) {
  const BuildResult result = Build({{"tony.tensorboard.instances", "3"},
                                    {"tony.tensorboard.command", "tensorboard --logdir x"},
                                    {"tony.worker.instances", "1"},
                                    {"tony.worker.command", "true"}});
  const core::TaskType* const tensorboard = result.job.FindType("tensorboard");
  ASSERT_NE(tensorboard, nullptr);
  EXPECT_EQ(tensorboard->instances, 1);
  EXPECT_EQ(tensorboard->tracking, core::Tracking::kSidecar);
  EXPECT_EQ(tensorboard->resources, (core::Resources{2048, 2, 0}));
  EXPECT_THAT(RenderProblems(result.notes), HasSubstr("TensorBoard runs once; 1 is used"));
}

TEST_F(JobBuilderTest, ALogFolderBringsTensorBoard) {
  folder_.Write("venv.zip", "");
  const BuildResult result = Build({{"tony.application.tensorboard-log-dir", "logs"},
                                    {"tony.application.python-venv", "venv.zip"},
                                    {"tony.application.python-binary-path", "bin/python"},
                                    {"tony.worker.instances", "1"},
                                    {"tony.containers.command", "true"}});
  ASSERT_EQ(result.job.types.size(), 2u);
  const core::TaskType& tensorboard = result.job.types.back();
  EXPECT_EQ(tensorboard.name, "tensorboard");
  EXPECT_EQ(tensorboard.command,
            "venv/bin/python -m tensorboard.main --logdir \"$TB_LOG_DIR\" --port \"$TB_PORT\"");
  EXPECT_THAT(tensorboard.env, ElementsAre(Pair("TB_LOG_DIR", folder_.path() + "/logs")));
}

TEST_F(JobBuilderTest, TensorBoardCanBeTurnedOff) {
  const BuildResult result = Build({{"tony.application.tensorboard-log-dir", "logs"},
                                    {"tony.tensorboard.instances", "0"},
                                    {"tony.worker.instances", "1"},
                                    {"tony.containers.command", "true"}});
  EXPECT_EQ(result.job.FindType("tensorboard"), nullptr);
}

TEST_F(JobBuilderTest, KnowsWhatAClusterIsToldOfTheJob) {
  const BuildResult result = Build({{"tony.backend", "YARN"},
                                    {"tony.worker.instances", "1"},
                                    {"tony.ps.instances", "1"},
                                    {"tony.containers.command", "true"},
                                    {"tony.yarn.queue", "train"},
                                    {"tony.application.tags", "a,b"},
                                    {"tony.application.node-label", "cpu"},
                                    {"tony.worker.node-label", "gpu"},
                                    {"tony.ps.yarn-resources", "a.io/b=2, c=1"}});
  EXPECT_EQ(RenderProblems(result.problems), "");
  EXPECT_EQ(result.backend, Backend::kYarn);
  EXPECT_EQ(result.yarn.queue, "train");
  EXPECT_THAT(result.yarn.tags, ElementsAre("a", "b"));
  EXPECT_EQ(result.yarn.am_node_label, "cpu");
  EXPECT_THAT(result.yarn.node_labels,
              ElementsAre(Pair("am", "cpu"), Pair("ps", "cpu"), Pair("worker", "gpu")));
  EXPECT_THAT(result.yarn.other_resources,
              ElementsAre(Pair("ps", ElementsAre(Pair("a.io/b", 2), Pair("c", 1)))));
  EXPECT_EQ(result.job.timeouts.reattach, std::chrono::minutes(15));
}

TEST_F(JobBuilderTest, KnowsTheImagesOfContainers) {
  const Properties properties = {{"tony.backend", "yarn"},
                                 {"tony.worker.instances", "1"},
                                 {"tony.ps.instances", "1"},
                                 {"tony.containers.command", "true"},
                                 {"tony.docker.containers.image", "all"},
                                 {"tony.docker.ps.image", "ps"},
                                 {"tony.docker.containers.mount", "/a:/a:ro, /b:/b:rw"}};
  EXPECT_THAT(Build(properties).images.by_type, testing::IsEmpty());
  Properties enabled = properties;
  enabled.push_back({"tony.docker.enabled", "true"});
  const BuildResult on_yarn = Build(enabled);
  EXPECT_THAT(on_yarn.images.by_type,
              ElementsAre(Pair("am", "all"), Pair("ps", "ps"), Pair("worker", "all")));
  EXPECT_THAT(on_yarn.images.mounts, ElementsAre("/a:/a:ro", "/b:/b:rw"));
  EXPECT_FALSE(on_yarn.local.hides_other_gpus);
  enabled.front().second = "local";
  const BuildResult here = Build(enabled);
  EXPECT_THAT(here.images.by_type, ElementsAre(Pair("ps", "ps"), Pair("worker", "all")))
      << "the ApplicationMaster starts containers, so it is in none";
  EXPECT_TRUE(here.local.hides_other_gpus);
  EXPECT_EQ(here.images.engine, "auto");
  EXPECT_EQ(Build({{"tony.containers.command", "true"},
                   {"tony.docker.enabled", "true"},
                   {"tony.docker.containers.image", "one"}})
                .images.by_type,
            (std::map<std::string, std::string>{{"am", "one"}}))
      << "the only task of a job without task types";
}

TEST_F(JobBuilderTest, KnowsTheModesOfMounts) {
  EXPECT_EQ(ParseImageMount("/a:/b:ro"), (ImageMount{"/a", "/b", false, ""}));
  EXPECT_EQ(ParseImageMount("/a:/b:rw"), (ImageMount{"/a", "/b", true, ""}));
  EXPECT_EQ(ParseImageMount("/a:/b:ro+rslave"), (ImageMount{"/a", "/b", false, "rslave"}));
  EXPECT_EQ(ParseImageMount("/a:/b:shared"), (ImageMount{"/a", "/b", true, "shared"}));
  EXPECT_EQ(ParseImageMount("/a:/b:rslave"), (ImageMount{"/a", "/b", true, "rslave"}));
}

TEST_F(JobBuilderTest, KnowsWhereContainersMayBe) {
  const auto placements = [this](const Properties& more) {
    Properties properties = {{"tony.worker.instances", "1"},
                             {"tony.ps.instances", "1"},
                             {"tony.containers.command", "true"}};
    properties.insert(properties.end(), more.begin(), more.end());
    return Build(properties).yarn.placements;
  };
  const auto constraint = [](const std::string& text) { return ParsePlacement(text).value(); };
  EXPECT_THAT(placements({}), testing::IsEmpty());
  EXPECT_THAT(placements({{"tony.worker.allocation-tags", "w, v"},
                          {"tony.ps.placement-spec", "notin,node,w"}}),
              ElementsAre(Pair("ps", TypePlacement{.tags = {"ps"},
                                                   .constraint = constraint("notin,node,w")}),
                          Pair("worker", TypePlacement{.tags = {"w", "v"}})))
      << "a type is called by its name";
  EXPECT_THAT(
      placements({{"tony.containers.allocation-tags", "all"},
                  {"tony.containers.placement-spec", "in,rack,all"},
                  {"tony.worker.allocation-tags", "w"},
                  {"tony.worker.placement-spec", "notin,node,w"},
                  {"tony.application.placement-spec", "java=8"}}),
      ElementsAre(
          Pair("ps",
               TypePlacement{.tags = {"all"}, .constraint = constraint("and(java=8:in,rack,all)")}),
          Pair("worker",
               TypePlacement{.tags = {"w"}, .constraint = constraint("and(java=8:notin,node,w)")})))
      << "the type's own wins over the containers', and the application's is for all";
}

TEST_F(JobBuilderTest, SaysWhichKeysHaveNoEffect) {
  EXPECT_THAT(NotesOf({{"tony.worker.instances", "1"},
                       {"tony.worker.command", "true"},
                       {"tony.am.command", "x"},
                       {"tony.application.num-client-rm-connect-retries", "5"}}),
              testing::AllOf(HasSubstr("job.xml:4: tony.am.command: has no effect"),
                             HasSubstr("job.xml:5: tony.application.num-client-rm-connect-retries: "
                                       "the client tries until")));
}

TEST_F(JobBuilderTest, ListsOfTheSiteNeedNotFitTheJob) {
  folder_.Write("site.xml", Xml({{"tony.application.stop-on-failure-jobtypes", "ps,chief"}}));
  sources_.site_file = "site.xml";
  Build({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}});
}

TEST_F(JobBuilderTest, NeedsNoFileAtAll) {
  folder_.Write("src/train.py", "");
  sources_.overrides = {{"tony.containers.command", "python3 train.py", "--executes"},
                        {"tony.application.src-dir", "src", "--src_dir"},
                        {"tony.worker.instances", "2"}};
  const LoadedJob loaded = LoadJob(sources_);
  EXPECT_THAT(RenderProblems(loaded.result.problems), IsEmpty());
  EXPECT_EQ(loaded.result.packaging.src_dir, folder_.path() + "/src");
}

TEST_F(JobBuilderTest, TheWrittenConfigurationBuildsTheSameJob) {
  folder_.Write("src/train.py", "");
  folder_.Write("a,b.txt", "");
  sources_.overrides = {{"tony.execution.envs", "A=1"}, {"tony.execution.envs", "B='$x, y'"}};
  const LoadedJob first = Load({{"tony.ps.instances", "1"},
                                {"tony.worker.instances", "2"},
                                {"tony.containers.command", "echo \"$A\" &amp;&amp; python3 t.py"},
                                {"tony.application.src-dir", "src"},
                                {"tony.containers.resources", R"(a\,b.txt::c)"}});
  EXPECT_THAT(RenderProblems(first.result.problems),
              HasSubstr("--conf: tony.execution.envs: 'y'' is not of the form NAME=value"))
      << "a comma divides unless it is escaped";
  sources_.overrides[1].value = R"(B='$x\, y')";
  const LoadedJob good = LoadJob(sources_);
  EXPECT_THAT(RenderProblems(good.result.problems), IsEmpty());
  const LoadedJob again = LoadWritten(good.configuration);
  EXPECT_THAT(RenderProblems(again.result.problems), IsEmpty());
  EXPECT_EQ(again.result.job, good.result.job);
  EXPECT_EQ(again.result.packaging, good.result.packaging);
  EXPECT_EQ(again.result.local, good.result.local);
  EXPECT_EQ(again.result.job.execution_env.at("B"), "'$x, y'");
}

TEST_F(JobBuilderTest, FilesAreNotLookedForOnAnotherMachine) {
  folder_.Write("job.xml", Xml({{"tony.worker.instances", "1"},
                                {"tony.worker.command", "true"},
                                {"tony.application.src-dir", "gone"}}));
  sources_.job_file = "job.xml";
  EXPECT_FALSE(LoadJob(sources_, FileChecks::kOn).result.ok());
  EXPECT_TRUE(LoadJob(sources_, FileChecks::kOff).result.ok());
}

}  // namespace
}  // namespace tony::jobfile
