// Tests of an Azkaban step: its properties, the job that they describe, and its outputs.
#include "client/workflow/azkaban.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

class Azkaban : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(testing::TempDir(), "azkaban-",
                           testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::string File(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  absl::StatusOr<AzkabanStep> Read(const std::string& properties) {
    std::ofstream(File("p")) << properties;
    return ReadAzkabanStep(
        [this](const std::string& name) -> std::optional<std::string> {
          if (name == "JOB_PROP_FILE") return File("p");
          if (name == "JOB_OUTPUT_PROP_FILE") return File("o");
          return std::nullopt;
        },
        folder_);
  }

  AzkabanStep Step(const std::string& properties) {
    auto step = Read(properties);
    EXPECT_TRUE(step.ok()) << step.status();
    return step.ok() ? *std::move(step) : AzkabanStep();
  }

  /// The overrides as KEY=VALUE, in their order.
  std::vector<std::string> Keys(const std::string& properties) {
    std::vector<std::string> keys;
    for (const jobfile::Override& one : Step(properties).job.overrides) {
      keys.push_back(absl::StrCat(one.key, "=", one.value));
    }
    return keys;
  }

  std::string Refusal(const std::string& properties) {
    const absl::Status status = Read(properties).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::string Outputs(const std::vector<std::pair<std::string, std::string>>& outputs) {
    const absl::Status written = WriteAzkabanOutputs(File("o"), outputs);
    EXPECT_TRUE(written.ok()) << written;
    std::ifstream file(File("o"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string folder_;
};

TEST_F(Azkaban, IsKnownByItsTwoFiles) {
  const auto with = [](const std::vector<std::string>& names) {
    return IsAzkaban([&names](const std::string& name) {
      const bool set = std::find(names.begin(), names.end(), name) != names.end();
      return set ? std::optional<std::string>("x") : std::nullopt;
    });
  };
  EXPECT_TRUE(with({"JOB_PROP_FILE", "JOB_OUTPUT_PROP_FILE"}));
  EXPECT_FALSE(with({"JOB_PROP_FILE"}));
  EXPECT_FALSE(with({}));
}

TEST_F(Azkaban, ItsPropertiesNameTheStep) {
  const AzkabanStep step = Step(
      "azkaban.webserverhost=web\\:8443\nazkaban.flow.projectname=gr\\u00C3\\u00B6\\u00C3\\u009Fe\n"
      "azkaban.flow.execid=17\nazkaban.job.id=inner\nazkaban.flow.nested.path=sub\\:inner\n"
      "azkaban.job.attempt=2\nazkaban.link.execution.url=https\\://web/e\n"
      "azkaban.link.attempt.url=https\\://web/a\n");
  EXPECT_THAT(step.key_parts, ElementsAre("web:8443", "größe", "17", "sub:inner"));
  EXPECT_EQ(step.job_id, "inner");
  EXPECT_EQ(step.attempt, 2);
  EXPECT_EQ(step.outputs, File("o"));
  EXPECT_THAT(step.links,
              ElementsAre(Pair("attempt", "https://web/a"), Pair("execution", "https://web/e")));
  EXPECT_THAT(Step("azkaban.flow.execid=17\nazkaban.job.id=train\n").key_parts,
              ElementsAre("", "", "17", "train"));
  EXPECT_THAT(Step("azkaban.job.id=train\n").key_parts, IsEmpty());
}

TEST_F(Azkaban, KeysOfTonyAreTakenWithTheirPlace) {
  const AzkabanStep step = Step("#x\ntony.worker.instances=2\nother.key=1\ntony.oops=x\n");
  ASSERT_EQ(step.job.overrides.size(), 2u);
  EXPECT_EQ(step.job.overrides[0].key, "tony.oops");
  EXPECT_EQ(step.job.overrides[0].option, File("p") + ":4");
  EXPECT_EQ(step.job.overrides[1].key, "tony.worker.instances");
  EXPECT_EQ(step.job.overrides[1].value, "2");
}

TEST_F(Azkaban, OptionsOfTonysCommandLineComposeTheCommand) {
  EXPECT_THAT(Keys("executes=train.py\npython_venv=v.zip\npython_binary_path=bin/python\n"
                   "task_params=--steps 3 --name 'it''s' \"a b\"\nsrc_dir=code\n"),
              ElementsAre("tony.containers.command=venv/bin/python train.py "
                          "--steps 3 --name 'it''s' \"a b\"",
                          "tony.application.src-dir=code", "tony.application.python-venv=v.zip",
                          "tony.application.python-binary-path=bin/python"));
  EXPECT_EQ(Step("a=1\nexecutes=x\n").job.overrides[0].option, File("p") + ":2: executes");
  EXPECT_EQ(Step("conf_file=job.xml\n").job.job_file, "job.xml");
}

TEST_F(Azkaban, OneQuotedWordLosesItsQuotesAndNothingIsDropped) {
  const auto command = [this](const std::string& executes) {
    return Keys("executes=" + executes)[0];
  };
  const std::string key = "tony.containers.command=";
  EXPECT_EQ(command("python3 train.py"), key + "python3 train.py");
  EXPECT_EQ(command("'python3 train.py'"), key + "python3 train.py");
  EXPECT_EQ(command("\"python3 train.py 'a b'\""), key + "python3 train.py 'a b'");
  EXPECT_EQ(command("'a b' 'c d'"), key + "'a b' 'c d'");
  EXPECT_EQ(command("bash -c 'echo a; echo b'"), key + "bash -c 'echo a; echo b'");
  EXPECT_EQ(command("'"), key + "'");
  EXPECT_THAT(Keys("worker_env.A='x y'\nworker_env.B=it's, \"k\"\n"),
              ElementsAre("tony.execution.envs=A=x y", "tony.execution.envs=B=it's\\, \"k\""));
}

TEST_F(Azkaban, DatasetsBecomeVariablesWithSemicolons) {
  EXPECT_THAT(Keys("azkaban.input.dataset=/a,/b\nazkaban.output.dataset=/c\n"),
              ElementsAre("tony.execution.envs=AZKABAN_INPUT_DATASET=/a;/b",
                          "tony.execution.envs=AZKABAN_OUTPUT_DATASET=/c"));
}

TEST_F(Azkaban, TheDefaultSourceFolderIsTakenOnlyIfItExists) {
  EXPECT_THAT(Keys("a=b\n"), IsEmpty());
  std::filesystem::create_directories(File("src"));
  EXPECT_THAT(Keys("a=b\n"), ElementsAre("tony.application.src-dir=src"));
  EXPECT_THAT(Keys("src_dir=code\n"), ElementsAre("tony.application.src-dir=code"));
}

TEST_F(Azkaban, MainArgumentsWin) {
  EXPECT_THAT(Keys("tony.worker.instances=1\nexecutes=a\nworker_env.V=2\n"
                   "main.args=--conf tony.worker.instances=2 --executes 'b c' --shell_env V=1\n"),
              ElementsAre("tony.worker.instances=1", "tony.worker.instances=2",
                          "tony.containers.command=b c", "tony.execution.envs=V=1",
                          "tony.execution.envs=V=2"));
  const AzkabanStep step = Step("main.args=--executes b\nworker_env.V=2\n");
  EXPECT_EQ(step.job.overrides[0].option, File("p") + ":1: main.args: --executes");
  EXPECT_EQ(step.job.overrides[1].option, File("p") + ":2: worker_env.V");
  EXPECT_EQ(Refusal("\nmain.args=--detach\n"),
            File("p") +
                ":2: main.args: --detach does not describe the job; give it in the command "
                "of the job type's plugin.properties");
  EXPECT_THAT(Refusal("main.args=--executs a\n"),
              AllOf(StartsWith(File("p") + ":1: main.args: "), HasSubstr("executes")));
}

TEST_F(Azkaban, TagsAreAppendedAsYarnTakesThem) {
  const std::string flow(200, 'f');
  EXPECT_THAT(
      Keys("tony.application.tags=mine\nazkaban.flow.execid=17\nazkaban.flow.flowid=" + flow +
           "\nazkaban.flow.projectname=a,\xF6\nazkaban.webserverhost=w\n"),
      ElementsAre("tony.application.tags=mine", "tony.application.tags=azkaban.flow.execid:17",
                  "tony.application.tags=azkaban.flow.flowid:" + std::string(80, 'f'),
                  "tony.application.tags=azkaban.flow.projectname:a\\,__",
                  "tony.application.tags=azkaban.webserverhost:w"));
}

TEST_F(Azkaban, InjectedKeysAreForHadoop) {
  const AzkabanStep step = Step("hadoop-inject.fs.defaultFS=hdfs\\://h\\:1\n");
  ASSERT_EQ(step.job.hadoop.size(), 1u);
  EXPECT_EQ(step.job.hadoop[0].key, "fs.defaultFS");
  EXPECT_EQ(step.job.hadoop[0].value, "hdfs://h:1");
  EXPECT_EQ(step.job.hadoop[0].origin, File("p") + ":1");
  EXPECT_THAT(step.job.overrides, IsEmpty());
}

TEST_F(Azkaban, JavasOptionsAreIgnoredWithOneNote) {
  const AzkabanStep step = Step("Xmx=1g\njvm.args=-Da=b\ntony.default.jvm.opts=-Xmx2g\n");
  EXPECT_THAT(step.job.overrides, IsEmpty());
  EXPECT_THAT(
      step.job.notes,
      ElementsAre(File("p") + ": tony.default.jvm.opts, Xmx, jvm.args: ignored, because none "
                              "of tony's programs runs in Java"));
}

TEST_F(Azkaban, OddValuesArriveAsTheyAre) {
  EXPECT_THAT(
      Keys("tony.application.name=a, b\\= ${x} gr\\u00C3\\u00B6\\u00C3\\u009Fe\n"
           "task_params=--a\\=it's \"q\" \\\\ ${x} \\u20AC\nexecutes=x\nworker_env.N=a\\nb\n"),
      ElementsAre("tony.application.name=a, b= ${x} größe",
                  "tony.containers.command=x --a=it's \"q\" \\ ${x} €",
                  "tony.execution.envs=N=a\nb"));
}

TEST_F(Azkaban, WhatIsWrongNamesTheFile) {
  EXPECT_THAT(Refusal("a=\\u12\n"), StartsWith("JOB_PROP_FILE: " + File("p") + ":1: "));
  EXPECT_THAT(Refusal("task_params=x\n"),
              AllOf(StartsWith(File("p")), HasSubstr("--task_params has no effect without")));
  EXPECT_EQ(
      ReadAzkabanStep([](const std::string&) { return "/no/such"; }, folder_).status().message(),
      "JOB_PROP_FILE: /no/such does not exist");
}

TEST_F(Azkaban, OutputsAreTextsInTheExistingFile) {
  EXPECT_FALSE(WriteAzkabanOutputs(File("o"), {}).ok());
  std::ofstream(File("o")) << std::string(1000, 'x');
  struct stat before {};
  ASSERT_EQ(stat(File("o").c_str(), &before), 0);
  EXPECT_EQ(Outputs({{"train.job", "application_1_0001"}, {"train.exit", "0"}}),
            "{\"train.job\":\"application_1_0001\",\"train.exit\":\"0\"}\n");
  struct stat after {};
  ASSERT_EQ(stat(File("o").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(Outputs({{"tony.worker.instances", "9"}, {"env.PATH", "x"}, {"a", "q\"\n\xFF"}}),
            "{\"a\":\"q\\\"\\n\xEF\xBF\xBD\"}\n");
}

TEST_F(Azkaban, NamesOfOutputsSteerNoOtherStep) {
  EXPECT_EQ(AzkabanOutputPrefix("train"), "train.");
  EXPECT_EQ(AzkabanOutputPrefix("tony.train"), "step.tony.train.");
  EXPECT_EQ(AzkabanOutputPrefix("env"), "step.env.");
}

TEST(SplitAzkabanWords, QuotesGroupAndNothingEscapes) {
  EXPECT_THAT(SplitAzkabanWords("\"dq \\\" x\" *.job"), ElementsAre("dq \\", "x *.job"));
  EXPECT_THAT(SplitAzkabanWords("  a  'b \"c'\"d e\"f "), ElementsAre("a", "b \"cd ef"));
  EXPECT_THAT(SplitAzkabanWords("''"), IsEmpty());
}

}  // namespace
}  // namespace tony::client
