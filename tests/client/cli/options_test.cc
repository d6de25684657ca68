// The command line of tony-submit: every option, every way to write it, and what is refused.
#include "client/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Pairs(const SubmitOptions& options) {
  std::vector<std::string> pairs;
  for (const jobfile::Override& override : options.overrides) {
    pairs.push_back(absl::StrCat(override.key, "=", override.value));
  }
  return pairs;
}

SubmitOptions Parse(const std::vector<std::string>& arguments) {
  absl::StatusOr<SubmitOptions> options = ParseSubmitOptions(arguments);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : SubmitOptions();
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  absl::StatusOr<SubmitOptions> options = ParseSubmitOptions(arguments);
  EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(options.status().message());
}

TEST(SubmitOptions, ReadsTheCommandLineOfTonysReadme) {
  const SubmitOptions options =
      Parse({"-executes", "src/models/mnist_distributed.py", "-task_params",
             "--input_dir /path/in --output_dir /path/out --steps 2500 --batch_size 64",
             "-python_venv", "my-venv.zip", "-python_binary_path", "Python/bin/python", "-src_dir",
             "src", "-shell_env", "LD_LIBRARY_PATH=/usr/java/latest/jre/lib/amd64/server", "-conf",
             "tony.ps.instances=2", "-conf", "tony.worker.instances=2"});
  EXPECT_THAT(
      Pairs(options),
      ElementsAre("tony.ps.instances=2", "tony.worker.instances=2",
                  "tony.containers.command=venv/Python/bin/python src/models/mnist_distributed.py "
                  "--input_dir /path/in --output_dir /path/out --steps 2500 --batch_size 64",
                  "tony.application.src-dir=src", "tony.application.python-venv=my-venv.zip",
                  "tony.application.python-binary-path=Python/bin/python",
                  "tony.execution.envs=LD_LIBRARY_PATH=/usr/java/latest/jre/lib/amd64/server"));
  EXPECT_EQ(options.overrides[0].option, "--conf");
  EXPECT_EQ(options.overrides[2].option, "--executes");
}

class Spelling : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Spelling, AllMeanTheSame) {
  EXPECT_THAT(Pairs(Parse(GetParam())), ElementsAre("tony.application.src-dir=code"));
}

INSTANTIATE_TEST_SUITE_P(SubmitOptions, Spelling,
                         ::testing::Values(std::vector<std::string>{"--src_dir", "code"},
                                           std::vector<std::string>{"--src_dir=code"},
                                           std::vector<std::string>{"-src_dir", "code"},
                                           std::vector<std::string>{"-src_dir=code"},
                                           std::vector<std::string>{"--src-dir", "code"},
                                           std::vector<std::string>{"-src-dir=code"}));

TEST(SubmitOptions, ComposesTheCommand) {
  EXPECT_THAT(Pairs(Parse({"--executes", "run me.sh"})),
              ElementsAre("tony.containers.command=run me.sh"));
  EXPECT_THAT(Pairs(Parse({"--executes=a.py", "--python_binary_path=/usr/bin/python3",
                           "--python_venv=v.zip"})),
              ::testing::Contains("tony.containers.command=/usr/bin/python3 a.py"));
  EXPECT_THAT(Pairs(Parse({"--executes=a.py", "--python_binary_path=python3"})),
              ::testing::Contains("tony.containers.command=python3 a.py"));
  EXPECT_THAT(ErrorOf({"--python_binary_path=python3", "--conf", "a=b"}),
              ::testing::HasSubstr("goes in front of --executes, which is not given"));
}

TEST(SubmitOptions, KeepsQuotesDollarsAndSpacesAsTheyAre) {
  EXPECT_THAT(Pairs(Parse({"--executes", "echo \"$HOME\"", "--task_params", "'a b' \\$c"})),
              ElementsAre("tony.containers.command=echo \"$HOME\" 'a b' \\$c"));
}

TEST(SubmitOptions, OptionsWinOverConf) {
  EXPECT_THAT(Pairs(Parse({"--executes=new", "--conf=tony.containers.command=old"})),
              ElementsAre("tony.containers.command=old", "tony.containers.command=new"));
}

TEST(SubmitOptions, EscapesCommasOfVariables) {
  EXPECT_THAT(Pairs(Parse({"--shell_env", "A=1,2", "--container_env=B=x=y"})),
              ElementsAre("tony.execution.envs=A=1\\,2", "tony.containers.envs=B=x=y"));
}

TEST(SubmitOptions, SkipsMissingClassPathWithAWarning) {
  const os::TemporaryFolder folder;
  const std::string there = folder / "options_test.jar";
  std::ofstream(there) << "x";
  const SubmitOptions options =
      Parse({"--hdfs_classpath", there + ",/nowhere/a.jar,hdfs://name/b.jar", "--conf=a=b"});
  EXPECT_THAT(Pairs(options), ElementsAre("a=b", "tony.containers.resources=" + there,
                                          "tony.containers.resources=hdfs://name/b.jar"));
  EXPECT_THAT(options.warnings, ElementsAre(HasSubstr("'/nowhere/a.jar' does not exist")));
}

TEST(SubmitOptions, TakesTheJobFileWithAndWithoutOption) {
  EXPECT_EQ(Parse({"job.xml"}).job_file, "job.xml");
  EXPECT_EQ(Parse({"--conf_file", "job.conf"}).job_file, "job.conf");
  EXPECT_EQ(Parse({"--", "-odd.xml"}).job_file, "-odd.xml");
  EXPECT_EQ(Parse({"--sidecar_tensorboard_log_dir=/logs"}).overrides[0].key,
            "tony.application.tensorboard-log-dir");
}

TEST(SubmitOptions, ReadsFlags) {
  const SubmitOptions options =
      Parse({"job.xml", "--detach", "-dry_run", "--dry-run", "--json", "--quiet", "--debug"});
  EXPECT_TRUE(options.detach && options.dry_run && options.json && options.quiet && options.debug);
  EXPECT_FALSE(options.help || options.version);
  EXPECT_TRUE(Parse({"--version"}).version);
  EXPECT_TRUE(Parse({"-h", "stray"}).help);
}

TEST(SubmitOptions, ReadsKeysOfAFileBeforeEachConf) {
  const os::TemporaryFolder folder;
  const std::string file = folder / "keys.json";
  std::ofstream(file) << R"({"a.text": "x, y", "b.list": ["A=1,2", 3, true], "c.number": 2.5})";
  const SubmitOptions options = Parse({"job.xml", "--conf=a.text=z", "--keys", file});
  EXPECT_THAT(Pairs(options),
              ElementsAre("a.text=x, y", "b.list=A=1\\,2,3,true", "c.number=2.5", "a.text=z"));
  EXPECT_EQ(options.overrides[0].option, "--keys");
}

TEST(SubmitOptions, RefusesKeysThatAreNoObject) {
  const os::TemporaryFolder folder;
  const std::string file = folder / "keys.json";
  const std::vector<std::string> arguments = {"job.xml", "--keys=" + file};
  for (const char* text : {"", "[1]", "{\"a\": 1", "\"a\""}) {
    std::ofstream(file) << text;
    EXPECT_THAT(ErrorOf(arguments), HasSubstr(file + " is no JSON object; write one")) << text;
  }
  for (const char* text : {R"({"a": null})", R"({"a": {}})", R"({"a": [["b"]]})"}) {
    std::ofstream(file) << text;
    EXPECT_THAT(ErrorOf(arguments), HasSubstr("--keys: the value of a is ")) << text;
  }
  EXPECT_THAT(ErrorOf({"job.xml", "--keys=/no/keys"}), HasSubstr("--keys: cannot open '/no/keys'"));
}

TEST(SubmitOptions, ReadsTheProcessThatTheJobEndsWith) {
  EXPECT_EQ(Parse({"job.xml", "--stop-with=17"}).stop_with, 17);
  EXPECT_EQ(Parse({"job.xml"}).stop_with, 0);
  for (const char* wrong : {"", "0", "-1", "init", "99999999999"}) {
    EXPECT_THAT(ErrorOf({"job.xml", absl::StrCat("--stop-with=", wrong)}),
                HasSubstr("is no process id; write"));
  }
  EXPECT_THAT(ErrorOf({"job.xml", "--stop-with=17", "--detach"}), HasSubstr("no effect"));
}

TEST(SubmitOptions, DebugIsTheLevelOfTheLogsAndNoJobByItself) {
  EXPECT_THAT(Pairs(Parse({"job.xml", "--debug", "--conf=tony.application.log-level=error"})),
              ElementsAre("tony.application.log-level=error", "tony.application.log-level=debug"));
  EXPECT_TRUE(Parse({"job.xml", "--debug"}).names_job);
  EXPECT_FALSE(Parse({"--debug"}).names_job);
}

TEST(SubmitOptions, NamesTheNearestOption) {
  EXPECT_THAT(ErrorOf({"--exectues", "x"}), HasSubstr("'--exectues'; did you mean '--executes'"));
  EXPECT_THAT(ErrorOf({"job.xml", "--dry-rum"}), HasSubstr("did you mean '--dry-run'"));
  EXPECT_THAT(ErrorOf({"--bananas"}), HasSubstr("--help lists all options"));
}

TEST(SubmitOptions, SendsACommandLineOfHorovodrunToTonyRun) {
  EXPECT_EQ(ErrorOf({"-np", "2", "python", "train.py", "--name=a b"}),
            "tony-submit has no -np; to run a program in several tasks: tony run -np 2 python "
            "train.py '--name=a b'");
}

TEST(SubmitOptions, SaysWhatBecomesOfAJavaCommandLine) {
  EXPECT_EQ(ErrorOf({"-cp", "`hadoop classpath`:tony.jar", "com.linkedin.tony.cli.ClusterSubmitter",
                     "-executes", "python train.py", "--src_dir=src"}),
            "this is a command line of Java; leave out -cp and the class: tony-submit -executes "
            "'python train.py' --src_dir=src");
  EXPECT_EQ(ErrorOf({"-Xmx1g", "-classpath", "a.jar", "com.linkedin.tony.cli.LocalSubmitter"}),
            "this is a command line of Java; leave out -cp and the class: tony-submit");
  EXPECT_THAT(ErrorOf({"com.linkedin.tony.cli.ClusterSubmitter", "--src_dir=src"}),
              HasSubstr("tony-submit --src_dir=src"));
}

TEST(SubmitOptions, AnOptionsValueIsNoJavaClass) {
  EXPECT_THAT(Pairs(Parse({"--conf", "tony.application.name=x", "--executes",
                           "com.linkedin.tony.examples"})),
              ::testing::Contains("tony.containers.command=com.linkedin.tony.examples"));
  EXPECT_THAT(ErrorOf({"job.xml", "com.linkedin.tony.cli.ClusterSubmitter"}),
              HasSubstr("unexpected argument"));
}

TEST(SubmitOptions, RefusesBadUsage) {
  EXPECT_THAT(ErrorOf({"--executes"}), HasSubstr("--executes needs a value: --executes=COMMAND"));
  EXPECT_THAT(ErrorOf({"--executes", "--conf", "a=b"}),
              HasSubstr("followed by the option '--conf'"));
  EXPECT_THAT(ErrorOf({"--executes=a", "--executes=b"}), HasSubstr("given twice: 'a' and 'b'"));
  EXPECT_THAT(ErrorOf({"--executes="}), HasSubstr("--executes is empty"));
  EXPECT_THAT(ErrorOf({"--json=yes", "job.xml"}), HasSubstr("--json takes no value"));
  EXPECT_THAT(ErrorOf({"--conf", "tony.worker.instances"}),
              HasSubstr("write --conf tony.worker.instances=VALUE"));
  EXPECT_THAT(ErrorOf({"--shell_env", "=x"}), HasSubstr("--shell_env '=x' is not of the form"));
  EXPECT_THAT(ErrorOf({"--container_env", "x"}), HasSubstr("--container_env 'x'"));
  EXPECT_THAT(ErrorOf({"--task_params", "x", "job.xml"}),
              HasSubstr("no effect without --executes"));
  EXPECT_THAT(ErrorOf({"a.xml", "b.xml"}), HasSubstr("two job files: 'a.xml' and 'b.xml'"));
  EXPECT_THAT(ErrorOf({"a.xml", "--conf_file=b"}), HasSubstr("two job files"));
  EXPECT_THAT(ErrorOf({"job.xml", "train.py"}), HasSubstr("unexpected argument 'train.py'"));
  // Who gives the program alone is told the whole command.
  EXPECT_EQ(ErrorOf({"train.py", "5"}),
            "'train.py' is no job file. Two ways to run this program in two tasks:\n"
            "  tony run -np 2 python3 train.py 5\n"
            "  tony-submit --executes 'python3 train.py 5' --src_dir . --conf "
            "tony.worker.instances=2 --conf tony.application.framework=pytorch");
}

TEST(SubmitOptions, AWorkflowMayDescribeTheJobInsteadOfTheCommandLine) {
  EXPECT_FALSE(Parse({}).names_job);
  EXPECT_FALSE(Parse({"--summary=s.json", "--debug"}).names_job);
  EXPECT_TRUE(Parse({"--executes=x"}).names_job);
  EXPECT_TRUE(Parse({"--conf", "tony.application.name=x"}).names_job);
}

TEST(SubmitOptions, LogsTakesATaskOnlyWithAnEqualsSign) {
  EXPECT_EQ(Parse({"job.xml"}).logs, std::nullopt);
  EXPECT_EQ(Parse({"--logs", "job.xml"}).logs, "");
  EXPECT_EQ(Parse({"--logs", "job.xml"}).job_file, "job.xml");
  EXPECT_EQ(Parse({"--logs=worker:1", "job.xml"}).logs, "worker:1");
  EXPECT_EQ(ErrorOf({"--logs", "--logs=ps", "job.xml"}),
            "--logs was given twice: '' and 'ps'; give it once");
  EXPECT_EQ(ErrorOf({"--logs", "--detach", "job.xml"}),
            "--logs has no effect with --detach, which returns before the job runs; leave --logs "
            "out, and tony logs -f shows the output");
  EXPECT_EQ(ErrorOf({"--logs", "--quiet", "job.xml"}),
            "--logs prints what the tasks print, and --quiet excludes that; leave one of the two "
            "out");
}

TEST(SubmitOptions, HelpNamesEveryOptionWithinTheWidth) {
  const std::string help = RenderSubmitHelp(80);
  for (const char* name :
       {"hdfs_classpath", "python_binary_path", "python_venv", "executes", "task_params",
        "shell_env", "container_env", "conf", "conf_file", "src_dir", "sidecar_tensorboard_log_dir",
        "help", "debug", "detach", "dry-run", "json", "logs[=TASK]", "quiet", "version"}) {
    EXPECT_THAT(help, HasSubstr(absl::StrCat("--", name))) << help;
  }
  size_t column = 0;
  for (char character : help) {
    column = character == '\n' ? 0 : column + 1;
    EXPECT_LE(column, 95u);
  }
}

}  // namespace
}  // namespace tony::client
