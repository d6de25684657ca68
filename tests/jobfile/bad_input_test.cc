// Bad job files: each mistake has a message with its place and a remedy, and all are told at once.
#include "jobfile/keys/key_table.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using BadInputTest = SmallJobTest;

TEST_F(BadInputTest, TheJobWithoutMoreIsGood) { EXPECT_THAT(ProblemsWith({}), IsEmpty()); }

TEST_F(BadInputTest, UnknownKeysNameTheNearest) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.instnaces", "2"}}),
            "job.xml:4: tony.worker.instnaces: unknown key; did you mean tony.worker.instances?\n");
  EXPECT_EQ(ProblemsWith({{"tony.aplication.name", "x"}}),
            "job.xml:4: tony.aplication.name: unknown key; did you mean tony.application.name?\n");
  EXPECT_EQ(ProblemsWith({{"tony.xyzzy.plugh.frobnicate", "x"}}),
            "job.xml:4: tony.xyzzy.plugh.frobnicate: unknown key; remove it\n");
  EXPECT_EQ(ProblemsWith({{"yarn.nodemanager.vmem-check-enabled", "x"}}),
            "job.xml:4: yarn.nodemanager.vmem-check-enabled: unknown key; tony's keys begin with "
            "'tony.'; remove it\n");
  EXPECT_THAT(ProblemsWith({{"tony.task.instances", "2"}}), HasSubstr("unknown key"));
}

TEST_F(BadInputTest, UnknownKeysOnTheCommandLineNameTheOption) {
  sources_.overrides = {{"tony.worker.memroy", "2g"}};
  EXPECT_EQ(ProblemsWith({}),
            "--conf: tony.worker.memroy: unknown key; did you mean tony.worker.memory?\n");
}

TEST_F(BadInputTest, PatternsMustBeSome) {
  EXPECT_THAT(ProblemsWith({{"tony.task.log.redact", "fine, a(b"}}),
              AllOf(HasSubstr("job.xml:4: tony.task.log.redact: 'a(b' is no pattern: missing )"),
                    HasSubstr("a comma inside of it as \\,")));
  EXPECT_THAT(ProblemsWith({{"tony.task.log.redact", "a{1,2}"}}),
              HasSubstr("'a{1' is no pattern: a comma divides it; write"));
}

TEST_F(BadInputTest, TheProgressPatternNeedsAStep) {
  EXPECT_THAT(
      ProblemsWith({{"tony.task.progress-pattern", "step ("}}),
      AllOf(HasSubstr("job.xml:4: tony.task.progress-pattern: 'step (' is no pattern: missing )"),
            HasSubstr("such as step (?P<step>\\d+)")));
  EXPECT_THAT(ProblemsWith({{"tony.task.progress-pattern", "(?P&lt;loss>\\d+)"}}),
              HasSubstr("'(?P<loss>\\d+)' has no group called step; write"));
  std::string many = "(?P&lt;step>.)";
  for (int group = 0; group < 17; ++group) many += "(?P&lt;g" + std::to_string(group) + ">.)";
  EXPECT_THAT(ProblemsWith({{"tony.task.progress-pattern", many}}),
              HasSubstr("has 18 named groups; write at most 17"));
  // Commas are the pattern's own, as are groups without a name.
  EXPECT_EQ(ProblemsWith({{"tony.task.progress-pattern", "(a|b), (?P&lt;step>\\d{1,9})"}}), "");
}

TEST_F(BadInputTest, AMisspeltTaskTypeIsFound) {
  EXPECT_EQ(ProblemsOf({{"tony.wroker.instances", "2"},
                        {"tony.wroker.memory", "2g"},
                        {"tony.containers.command", "true"}}),
            "job.xml:2: tony.wroker.instances: unknown key; did you mean tony.worker.instances?\n");
  EXPECT_EQ(ProblemsWith({{"tony.workr.memory", "2g"}}),
            "job.xml:4: tony.workr.memory: there is no tony.workr.instances; did you mean "
            "tony.worker.memory?\n");
  EXPECT_EQ(ProblemsWith({{"tony.contianers.resources", "x"}}),
            "job.xml:4: tony.contianers.resources: there is no tony.contianers.instances; did you "
            "mean tony.containers.resources?\n");
  EXPECT_EQ(ProblemsWith({{"tony.trainer.memory", "2g"}}),
            "job.xml:4: tony.trainer.memory: there is no tony.trainer.instances; set "
            "tony.trainer.instances\n");
  EXPECT_THAT(ProblemsOf({{"tony.workers.instances", "2"},
                          {"tony.workers.command", "true"},
                          {"tony.worker.memory", "2g"}}),
              HasSubstr("did you mean tony.workers.memory?"));
}

TEST_F(BadInputTest, KeysOfAKnownRoleThatTheJobLacksAreNoted) {
  EXPECT_EQ(ProblemsWith({{"tony.chief.memory", "2g"}}), "");
  EXPECT_EQ(RenderProblems(Load({{"tony.worker.instances", "1"},
                                 {"tony.worker.command", "true"},
                                 {"tony.chief.memory", "2g"}})
                               .result.notes),
            "job.xml:4: tony.chief.memory: has no effect: tony.chief.instances is not set\n");
  sources_.overrides = {{"tony.chief.memory", "1g"}};
  EXPECT_EQ(ProblemsWith({}), "");
}

TEST_F(BadInputTest, KeysOfASitesOtherProgramsAreNotedAndNotPassedOn) {
  sources_.site_file = folder_.Write("site.xml", Xml({{"tony.history.location", "/logs"}}));
  const LoadedJob loaded = Load({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}});
  EXPECT_EQ(RenderProblems(loaded.result.problems), "");
  EXPECT_THAT(RenderProblems(loaded.result.notes), HasSubstr("site.xml:2: tony.history.location"));
  // The ApplicationMaster, and a rerun, read the written file as a job file.
  EXPECT_EQ(RenderProblems(LoadWritten(loaded.configuration).result.problems), "");
}

TEST_F(BadInputTest, NumbersAreChecked) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.gpus", "-1"}}),
            "job.xml:4: tony.worker.gpus: -1 is out of range; write 0 or more\n");
  EXPECT_EQ(ProblemsWith({{"tony.worker.vcores", "two"}}),
            "job.xml:4: tony.worker.vcores: 'two' is not a whole number; write 1 or more, without "
            "a unit\n");
  EXPECT_EQ(ProblemsWith({{"tony.worker.vcores", "1.5"}}),
            "job.xml:4: tony.worker.vcores: '1.5' is not a whole number; write 1 or more, without "
            "a unit\n");
  EXPECT_EQ(ProblemsWith({{"tony.worker.vcores", ""}}),
            "job.xml:4: tony.worker.vcores: '' is not a whole number; write 1 or more, without a "
            "unit\n");
  EXPECT_EQ(ProblemsWith({{"tony.worker.vcores", "99999999999999999999"}}),
            "job.xml:4: tony.worker.vcores: '99999999999999999999' is not a whole number; write 1 "
            "or more, without a unit\n");
  EXPECT_EQ(ProblemsWith({{"tony.local.gpus", "2000"}}),
            "job.xml:4: tony.local.gpus: 2000 is out of range; write -1 to 1024\n");
}

TEST_F(BadInputTest, ABadNumberOfInstancesIsOneProblem) {
  for (const std::string number : {"-1", "many", "10001", "99999999999"}) {
    const auto problems =
        Load({{"tony.worker.instances", number}, {"tony.worker.command", "true"}}).result.problems;
    ASSERT_EQ(problems.size(), 1u) << RenderProblems(problems);
    EXPECT_EQ(problems[0].line, 2);
  }
}

TEST_F(BadInputTest, WrongUnitsAreExplained) {
  EXPECT_EQ(ProblemsWith({{"tony.application.timeout", "10s"}}),
            "job.xml:4: tony.application.timeout: '10s' is not a whole number of milliseconds; "
            "write 10000\n");
  EXPECT_EQ(ProblemsWith({{"tony.task.executor.registry-timeout-sec", "5m"}}),
            "job.xml:4: tony.task.executor.registry-timeout-sec: '5m' is not a whole number of "
            "seconds; write 300\n");
  EXPECT_EQ(ProblemsWith({{"tony.task.executor.registry-timeout-sec", "500ms"}}),
            "job.xml:4: tony.task.executor.registry-timeout-sec: '500ms' is not a whole number of "
            "seconds; write the number of seconds without a unit\n");
  EXPECT_EQ(ProblemsWith({{"tony.task.heartbeat-interval-ms", "1"}}),
            "job.xml:4: tony.task.heartbeat-interval-ms: 1 is out of range; write 10 or more\n");
}

TEST_F(BadInputTest, BadMemoryIsExplained) {
  for (const std::string memory : {"2gb", "-2g", "1.5g", "512k", "lots"}) {
    EXPECT_EQ(ProblemsWith({{"tony.worker.memory", memory}}),
              "job.xml:4: tony.worker.memory: '" + memory +
                  "' is not an amount of memory; write a whole number of megabytes (2048 or 2048m) "
                  "or gigabytes (2g)\n");
  }
  EXPECT_THAT(ProblemsWith({{"tony.worker.memory", "0"}}), HasSubstr("0 is out of range"));
  EXPECT_THAT(ProblemsWith({{"tony.worker.memory", "9999999999g"}}), HasSubstr("is out of range"));
}

TEST_F(BadInputTest, BadBooleansChoicesAndPairsAreExplained) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.port-release", "yes"}}),
            "job.xml:4: tony.worker.port-release: 'yes' is neither true nor false; write true or "
            "false\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.framework", "pytroch"}}),
            "job.xml:4: tony.application.framework: 'pytroch' is not one of tensorflow, pytorch, "
            "standalone, horovod, jax, mxnet; did you mean pytorch?\n");
  EXPECT_THAT(ProblemsWith({{"tony.application.framework", "torch"}}),
              HasSubstr("; did you mean pytorch?"));
  EXPECT_THAT(ProblemsWith({{"tony.execution.envs", "A=1,PATH"}}),
              HasSubstr("job.xml:4: tony.execution.envs: 'PATH' is not of the form NAME=value"));
  EXPECT_THAT(ProblemsWith({{"tony.task.gpu-metrics.enabled", "maybe"}}), HasSubstr("'maybe'"))
      << "keys without effect are checked too";
}

TEST_F(BadInputTest, AmountsOfYarnsResourcesAreChecked) {
  for (const std::string item : {"tpu", "tpu=", "tpu=two", "tpu=0", "tpu=-1", "=2", "tpu=2G"}) {
    EXPECT_EQ(ProblemsWith({{"tony.worker.yarn-resources", "a=1," + item}}),
              "job.xml:4: tony.worker.yarn-resources: '" + item +
                  "' is not of the form NAME=number; write NAME=number, the number 1 or more and "
                  "without a unit, items divided by commas\n");
  }
  EXPECT_EQ(ProblemsWith({{"tony.backend", "yarn"},
                          {"tony.worker.yarn-resources", "memory-mb=5,vcores=1,yarn.io/gpu=1"}}),
            "job.xml:5: tony.worker.yarn-resources: memory-mb has a key of its own; set "
            "tony.worker.memory\n"
            "job.xml:5: tony.worker.yarn-resources: vcores has a key of its own; set "
            "tony.worker.vcores\n"
            "job.xml:5: tony.worker.yarn-resources: yarn.io/gpu has a key of its own; set "
            "tony.worker.gpus\n");
}

TEST_F(BadInputTest, PlacementConstraintsAreChecked) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.placement-spec", "notin,host,worker"}}),
            "job.xml:4: tony.worker.placement-spec: 'host' is neither node nor rack; write "
            "in,SCOPE,TAG or notin,SCOPE,TAG or cardinality,SCOPE,TAG,MIN,MAX or ATTRIBUTE=VALUE, "
            "several as and(A:B) or or(A:B); SCOPE is node or rack\n");
  for (const std::string owner : {"application", "containers"}) {
    EXPECT_THAT(ProblemsWith({{"tony." + owner + ".placement-spec", "worker=2,notin,node,worker"}}),
                HasSubstr("begins with a tag and a number, which belong to allocation-tags"));
  }
  EXPECT_THAT(ProblemsWith({{"tony.worker.placement-spec", ""}}), IsEmpty());
}

TEST_F(BadInputTest, ALabelAndAConstraintOfSeveralPartsExcludeEachOther) {
  const Properties good = {{"tony.backend", "yarn"},
                           {"tony.worker.node-label", "gpu"},
                           {"tony.worker.placement-spec", "notin,node,worker"}};
  EXPECT_THAT(ProblemsWith(good), IsEmpty());
  Properties bad = good;
  bad.push_back({"tony.application.placement-spec", "java=8"});
  EXPECT_EQ(ProblemsWith(bad),
            "job.xml:5: tony.worker.node-label: YARN cannot place worker on nodes of the label gpu "
            "and by a constraint of several parts, and(java=8:notin,node,worker); leave one of the "
            "two out, or all but one of the parts\n");
  bad.front().second = "local";
  EXPECT_THAT(ProblemsWith(bad), IsEmpty()) << "it is nothing to this machine";
}

TEST_F(BadInputTest, RefusedKeysSayWhatIsMissing) {
  EXPECT_THAT(ProblemsWith({{"tony.horovod.mode.test", "true"}}),
              HasSubstr("a made-up plan of ranks"));
  EXPECT_THAT(ProblemsWith({{"tony.history.location", "/hist"}}), HasSubstr("tony portal"));
}

TEST_F(BadInputTest, DockerNeedsAnImageForEachContainer) {
  const auto problems = [this](const Properties& more) {
    Properties properties = {{"tony.backend", "yarn"}, {"tony.docker.enabled", "true"}};
    properties.insert(properties.end(), more.begin(), more.end());
    return ProblemsWith(properties);
  };
  EXPECT_THAT(problems({{"tony.docker.containers.image", "host:5000/repo/image@sha256:0f"},
                        {"tony.docker.containers.mount", "/a:/b:ro,c:/d:rw+rslave,e:/f:shared"}}),
              IsEmpty());
  EXPECT_EQ(problems({{"tony.docker.worker.image", "w:1"}}),
            "job.xml:5: tony.docker.enabled: there is no image for am; set "
            "tony.docker.containers.image or tony.docker.am.image\n");
  EXPECT_EQ(problems({{"tony.docker.containers.image", "x"}, {"tony.docker.worker.image", "a $b"}}),
            "job.xml:7: tony.docker.worker.image: 'a $b' is no name of an image; write it as for "
            "`docker run`: registry.example.com/name:tag\n");
  EXPECT_EQ(problems({{"tony.docker.containers.image", "x"}, {"tony.docker.wroker.image", "y"}}),
            "job.xml:7: tony.docker.wroker.image: there is no task type 'wroker'; set "
            "tony.wroker.instances, or remove it\n");
  EXPECT_THAT(problems({{"tony.docker.containers.image", "--privileged"}}),
              HasSubstr("'--privileged' is no name of an image"));
  EXPECT_EQ(ProblemsWith({{"tony.docker.enabled", "true"}}),
            "job.xml:4: tony.docker.enabled: there is no image for worker; set "
            "tony.docker.containers.image or tony.docker.worker.image\n")
      << "on this machine the ApplicationMaster needs none";
  for (const std::string mount :
       {"/a", "/a:/b", ":/b:ro", "/a:b:ro", "/a:/b:ro:x", "/a:/b:r", "/a:/b:ro+", "/a:/b:+slave"}) {
    EXPECT_EQ(
        problems({{"tony.docker.containers.image", "x"}, {"tony.docker.containers.mount", mount}}),
        "job.xml:7: tony.docker.containers.mount: '" + mount +
            "' is not of the form SOURCE:DESTINATION:MODE; write folders of the node and of "
            "the container, and the mode: /data:/data:ro\n");
  }
}

TEST_F(BadInputTest, EveryRefusedKeyIsRefused) {
  for (const KeyGroup& group : KeyGroups()) {
    for (const Key& key : group.keys) {
      if (key.status != KeyStatus::kRefused) continue;
      std::string name = key.name;
      for (const std::string placeholder : {"<type>", "<group>"}) {
        const size_t at = name.find(placeholder);
        if (at != std::string::npos) name.replace(at, placeholder.size(), "worker");
      }
      EXPECT_THAT(ProblemsWith({{name, "something"}}), HasSubstr(name + ": " + key.reason));
    }
  }
}

TEST_F(BadInputTest, TheOrderOfTypesHasToMakeSense) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.depends-on", "worker"}}),
            "job.xml:4: tony.worker.depends-on: the task types wait for each other: worker depends "
            "on worker; take one of these dependencies out\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.group.A", "worker"},
                          {"tony.application.dependency.worker.timeout.after.A", "30s"}}),
            "job.xml:5: tony.application.dependency.worker.timeout.after.A: '30s' is not a whole "
            "number of seconds; write 30\n"
            "job.xml:5: tony.application.dependency.worker.timeout.after.A: worker is in the group "
            "A itself, so it has ended when the group has; take it out of the group, or remove "
            "this key\n");
}

TEST_F(BadInputTest, AnMxNetJobHasAllRolesAndOneScheduler) {
  EXPECT_EQ(ProblemsWith({{"tony.application.framework", "MXNET"}}),
            "job.xml:4: tony.application.framework: an MXNet job needs the task type scheduler; "
            "set tony.scheduler.instances to 1\n"
            "job.xml:4: tony.application.framework: an MXNet job needs the task type server; set "
            "tony.server.instances\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.framework", "mxnet"},
                          {"tony.scheduler.instances", "2"},
                          {"tony.scheduler.command", "true"},
                          {"tony.server.instances", "0"}}),
            "job.xml:5: tony.scheduler.instances: an MXNet job has exactly one scheduler; set it "
            "to 1\n"
            "job.xml:7: tony.server.instances: an MXNet job needs the task type server; set "
            "tony.server.instances\n");
}

TEST_F(BadInputTest, FrameworksHaveDemands) {
  EXPECT_EQ(ProblemsWith({{"tony.application.framework", "standalone"}}),
            "job.xml:4: tony.application.framework: a standalone job has exactly one task, this "
            "one has 2; set one type's instances to 1 and all others to 0\n");
  EXPECT_EQ(ProblemsOf({{"tony.application.framework", "pytorch"},
                        {"tony.workers.instances", "2"},
                        {"tony.workers.command", "true"}}),
            "job.xml:2: tony.application.framework: a PyTorch job needs the task type worker; did "
            "you mean tony.worker.instances where tony.workers.instances is set?\n");
  EXPECT_EQ(ProblemsOf({{"tony.application.framework", "pytorch"},
                        {"tony.worker.instances", "0"},
                        {"tony.evaluator.instances", "1"},
                        {"tony.evaluator.command", "true"}}),
            "job.xml:3: tony.worker.instances: a PyTorch job needs the task type worker; set it to "
            "1 or more\n");
  EXPECT_EQ(ProblemsOf({{"tony.application.framework", "jax"},
                        {"tony.trainer.instances", "2"},
                        {"tony.trainer.command", "true"}}),
            "job.xml:2: tony.application.framework: a JAX job needs the task type worker or chief; "
            "set tony.worker.instances\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.distributed-mode", "fcfs"},
                          {"tony.application.framework", "pytorch"}}),
            "job.xml:4: tony.application.distributed-mode: with FCFS a task starts before the "
            "others have addresses, which the tasks of a pytorch job need; set it to GANG; tasks "
            "that need no addresses can have tony.application.framework tensorflow, and find "
            "TASK_INDEX and TASK_NUM\n");
  EXPECT_THAT(ProblemsWith({{"tony.application.distributed-mode", "FCFS"}}), IsEmpty());
  EXPECT_THAT(ProblemsOf({{"tony.application.framework", "standalone"},
                          {"tony.worker.instances", "1"},
                          {"tony.tensorboard.command", "true"},
                          {"tony.worker.command", "true"}}),
              IsEmpty())
      << "a sidecar does not count";
}

TEST_F(BadInputTest, SomethingHasToBeTracked) {
  EXPECT_EQ(ProblemsOf({{"tony.ps.instances", "1"}, {"tony.ps.command", "true"}}),
            "job.xml:2: tony.ps.instances: no task type is tracked, so the job would never end; "
            "add a tracked type such as tony.worker.instances, or take one out of the untracked "
            "and sidecar job types\n");
  EXPECT_THAT(ProblemsWith({{"tony.application.untracked.jobtypes", "worker"}}),
              HasSubstr("job.xml:4: tony.application.untracked.jobtypes: no task type is tracked"));
}

TEST_F(BadInputTest, ListsNameTypesThatExist) {
  EXPECT_EQ(ProblemsWith({{"tony.application.untracked.jobtypes", "wrker"}}),
            "job.xml:4: tony.application.untracked.jobtypes: there is no task type 'wrker'; did "
            "you mean worker?\n");
  EXPECT_EQ(ProblemsWith({{"tony.application.sidecar.jobtypes", "board"}}),
            "job.xml:4: tony.application.sidecar.jobtypes: there is no task type 'board'; set "
            "tony.board.instances or take it out\n");
  EXPECT_THAT(ProblemsWith({{"tony.application.stop-on-failure-jobtypes", "ps,chief"}}),
              AllOf(HasSubstr("'chief'"), Not(HasSubstr("'ps'"))));
  EXPECT_THAT(ProblemsWith({{"tony.application.untracked.jobtypes", "ps,tensorboard"}}),
              HasSubstr("'tensorboard' is both an untracked and a sidecar type"));
}

TEST_F(BadInputTest, EveryTypeNeedsACommand) {
  EXPECT_EQ(ProblemsWith({{"tony.chief.instances", "1"}}),
            "job.xml:4: tony.chief.instances: the type has no command; set tony.chief.command or "
            "tony.containers.command, or give --executes\n");
  EXPECT_EQ(ProblemsOf({{"tony.application.name", "x"}}),
            "job.xml: the job has nothing to run; set tony.worker.instances and "
            "tony.worker.command, or for one process tony.containers.command\n");
}

TEST_F(BadInputTest, LimitsHold) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.max-instances", "1"}}),
            "job.xml:2: tony.worker.instances: 2 instances requested, which exceeds "
            "tony.worker.max-instances = 1; ask for 1 or fewer\n");
  EXPECT_EQ(ProblemsWith({{"tony.task.max-total-instances", "1"}}),
            "job.xml:4: tony.task.max-total-instances: amount of tasks requested, 2, exceeds 1; "
            "ask for less in instances or in each task\n");
  EXPECT_THAT(ProblemsWith({{"tony.worker.gpus", "3"}, {"tony.task.max-total-gpus", "5"}}),
              HasSubstr("amount of gpus requested, 6, exceeds 5"));
  EXPECT_THAT(ProblemsWith({{"tony.task.max-total-memory", "3g"}}),
              HasSubstr("amount of MiB of memory requested, 4096, exceeds 3072"));
  EXPECT_THAT(ProblemsWith({{"tony.task.max-total-vcores", "1"}}), HasSubstr("amount of vcores"));
  EXPECT_THAT(ProblemsWith({{"tony.task.max-total-instances", "2"},
                            {"tony.task.max-total-vcores", "2"},
                            {"tony.task.max-total-memory", "4g"},
                            {"tony.task.max-total-gpus", "0"}}),
              IsEmpty())
      << "a limit that is met exactly is met";
}

TEST_F(BadInputTest, InstancesAreNotCountedTwice) {
  EXPECT_THAT(ProblemsOf({{"tony.worker.instances", "4"},
                          {"tony.worker.command", "true"},
                          {"tony.task.max-total-instances", "10"}}),
              IsEmpty());
}

TEST_F(BadInputTest, AJobHasAtMostTenThousandTasks) {
  EXPECT_EQ(ProblemsWith({{"tony.chief.instances", "10000"}, {"tony.chief.command", "true"}}),
            "job.xml:4: tony.chief.instances: the job has 10002 tasks, more than 10000; ask for "
            "fewer\n");
}

TEST_F(BadInputTest, AHomeFolderIsNeededWhereItIsMeant) {
  sources_.home_folder = "";
  EXPECT_THAT(ProblemsWith({}), HasSubstr("tony.local.dir: the default, ~/.tony, needs a home"));
  EXPECT_THAT(ProblemsWith({{"tony.local.dir", "/tmp/x"}, {"tony.application.src-dir", "~/src"}}),
              HasSubstr("set HOME where ~ is used"));
}

TEST_F(BadInputTest, AllProblemsAreToldAtOnceInTheirOrder) {
  sources_.overrides = {{"tony.worker.gpu", "1"}};
  EXPECT_EQ(ProblemsOf({{"tony.worker.instances", "2"},
                        {"tony.worker.instances", "3"},
                        {"tony.worker.memory", "2gb"},
                        {"tony.docker.enabled", "true"},
                        {"tony.application.src-dir", "none"}}),
            "job.xml:3: tony.worker.instances: is set twice, first in line 2; remove one of the "
            "two\n"
            "job.xml:4: tony.worker.memory: '2gb' is not an amount of memory; write a whole number "
            "of megabytes (2048 or 2048m) or gigabytes (2g)\n"
            "job.xml:6: tony.application.src-dir: " +
                folder_.path() +
                "/none does not exist; correct the path\n"
                "--conf: tony.worker.gpu: unknown key; did you mean tony.worker.gpus?\n"
                "job.xml:2: tony.worker.instances: the type has no command; set "
                "tony.worker.command or tony.containers.command, or give --executes\n"
                "job.xml:5: tony.docker.enabled: there is no image for worker; set "
                "tony.docker.containers.image or tony.docker.worker.image\n");
}

TEST_F(BadInputTest, AnUnreadableFileIsTheOnlyProblem) {
  const LoadedJob loaded = LoadText("<configuration><property>");
  ASSERT_EQ(loaded.result.problems.size(), 1u);
  EXPECT_EQ(RenderProblems(loaded.result.problems),
            "job.xml:1: malformed XML: the file ends inside <property>, opened in line 1; correct "
            "the XML\n");
}

}  // namespace
}  // namespace tony::jobfile
