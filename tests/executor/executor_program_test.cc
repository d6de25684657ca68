// The program tony-executor itself: what it does with a bad command line, and how fast it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "hadoop/auth/token_file.h"
#include "os/files/files.h"
#include "os/processes/subprocess.h"
#include "rpc/security/credentials.h"
#include "tests/executor/executor_fixture.h"
#include "tests/os/process_support.h"
#include "tests/support/tree/source_tree.h"

namespace tony::executor {
namespace {

namespace input = core::input;
using ::testing::HasSubstr;

class ExecutorProgramTest : public ExecutorFixture {
 protected:
  void StartProgram(const std::vector<std::string>& arguments,
                    std::optional<std::vector<std::string>> environment = std::nullopt) {
    os::SubprocessRequest request;
    request.environment = std::move(environment);
    request.arguments = {BuiltProgram("tony-executor")};
    request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
    request.working_folder = working_;
    request.stderr_fd = log_file_.get();
    auto program = os::Subprocess::Start(request);
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
  }
  /// This process's own, with other words about Hadoop.
  static std::vector<std::string> EnvironmentWith(std::vector<std::string> variables) {
    for (char** own = environ; *own != nullptr; ++own) {
      const std::string variable = *own;
      const bool hadoops = variable.find("HADOOP") != std::string::npos ||
                           variable.compare(0, 10, "CLASSPATH=") == 0;
      if (!hadoops) variables.push_back(variable);
    }
    return variables;
  }
  void StartAttached() {
    const std::string credentials = folder_ / "executor.pem";
    const rpc::Credentials own = authority_.Issue(rpc::ExecutorRole(kJobId, container_)).value();
    ASSERT_TRUE(os::WriteFileAtomically(credentials, rpc::FormatCredentials(own)).ok());
    StartProgram({"--container-id=" + container_, "--containment=process-tree",
                  "--master=" + server_->address(), "--credentials=" + credentials});
    Next<input::ExecutorAttached>();
  }
  // -1 when it does not end in time.
  int AwaitExit() {
    if (!os::WaitReadable(program_->pidfd())) return -1;
    return program_->TryWait().value_or(os::ExitStatus{.code = -1}).code;
  }
  std::string Said() const { return os::Contents(folder_ / "executor.log"); }

  os::UniqueFd log_file_{
      ::open((folder_ / "executor.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  std::optional<os::Subprocess> program_;
};

TEST_F(ExecutorProgramTest, RefusesABadCommandLine) {
  StartProgram({"--container-id=c", "--verbose"});
  EXPECT_EQ(AwaitExit(), 2);
  EXPECT_THAT(Said(), HasSubstr("--verbose"));
}

TEST_F(ExecutorProgramTest, NamesCredentialsThatItCannotRead) {
  StartProgram({"--container-id=c", "--master=127.0.0.1:1", "--credentials=/no/such.pem"});
  EXPECT_EQ(AwaitExit(), 1);
  EXPECT_THAT(Said(), HasSubstr("/no/such.pem"));
}

TEST_F(ExecutorProgramTest, RunsATaskToItsEnd) {
  StartAttached();
  SendAssignment(AssignmentOf("pwd; exit 9"));
  SendPrepare(1, 1);
  Next<input::ExecutorRegistered>();
  SendStart(1);
  Next<input::TaskStarted>();
  const auto ended = Next<input::TaskEnded>();
  EXPECT_EQ(ended.exit.code, 9);
  EXPECT_THAT(ended.exit.tail, ::testing::ElementsAre(working_));
  SendShutdown();
  EXPECT_EQ(AwaitExit(), 0);
}

TEST_F(ExecutorProgramTest, NothingOutlivesItWhenItIsKilled) {
  StartAttached();
  v1::Assignment assignment = AssignmentOf(
      "setsid bash -c \"trap '' TERM; echo \\$\\$; while :; do sleep 1; done\" > $READY");
  (*assignment.mutable_environment())["READY"] = ready_.path();
  SendAssignment(assignment);
  SendPrepare(1, 1);
  Next<input::ExecutorRegistered>();
  SendStart(1);
  const pid_t daemon = ready_.NextPid();
  ASSERT_TRUE(os::IsAlive(daemon));
  program_->Signal(SIGKILL);
  EXPECT_TRUE(os::WaitGone(daemon));
}

TEST_F(ExecutorProgramTest, DoesNotWaitForItsUnpackingWhenItIsToldToEnd) {
  StartAttached();
  // Another container seems to be unpacking the same environment.
  v1::Assignment assignment = AssignmentOf("exit 0");
  v1::Archive* venv = assignment.add_archives();
  venv->set_kind(v1::Archive::VIRTUAL_ENVIRONMENT);
  venv->set_path("/no/such/archive");
  venv->set_name("venv");
  venv->set_digest("abc");
  std::filesystem::create_directories(assignment.cache_folder());
  const os::UniqueFd lock(::open((assignment.cache_folder() + "/abc.lock").c_str(),
                                 O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  SendAssignment(assignment);
  SendPrepare(1, 1);
  // Once it beats it has been assigned.
  ASSERT_TRUE(driver_.Await([this] { return inputs_.TryNext().has_value(); }));
  program_->Signal(SIGTERM);
  EXPECT_EQ(AwaitExit(), 1);
}

// As on a node of YARN: credentials in the token file, Hadoop where the NodeManager says.
TEST_F(ExecutorProgramTest, GivesTheProgramHadoopButNotItsOwnSecrets) {
  const std::string tokens = folder_ / "container_tokens";
  const auto credentials = authority_.Issue(rpc::ExecutorRole(kJobId, container_)).value();
  hadoop::TokenStore store;
  store.Add({.identifier = "right to files",
             .password = "word",
             .kind = hadoop::kHdfsDelegationToken,
             .service = "127.0.0.1:9820"});
  store.secrets = {{"tony.credentials", rpc::FormatCredentials(credentials)}};
  ASSERT_TRUE(hadoop::WriteTokenFile(tokens, store, hadoop::TokenFormat::kWritable).ok());
  const std::string home = folder_ / "hadoop";
  os::Put(home + "/lib/client.jar", "");
  os::Put(home + "/bin/hadoop", "#!/bin/sh\necho \"/conf:$HADOOP_HDFS_HOME/lib/*\"\n");
  std::filesystem::permissions(home + "/bin/hadoop", std::filesystem::perms::owner_all);
  StartProgram(
      {"--container-id=" + container_, "--containment=process-tree",
       "--master=" + server_->address(), "--credentials-secret=tony.credentials"},
      EnvironmentWith({"HADOOP_HDFS_HOME=" + home, "HADOOP_TOKEN_FILE_LOCATION=" + tokens}));
  Next<input::ExecutorAttached>();
  SendAssignment(
      AssignmentOf("echo $CLASSPATH; grep -c 'right to files' $HADOOP_TOKEN_FILE_LOCATION;"
                   "grep -c 'PRIVATE KEY' $HADOOP_TOKEN_FILE_LOCATION; exit 0"));
  SendPrepare(1, 1);
  Next<input::ExecutorRegistered>();
  SendStart(1);
  Next<input::TaskStarted>();
  EXPECT_THAT(Next<input::TaskEnded>().exit.tail,
              ::testing::ElementsAre("/conf:" + home + "/lib/client.jar", "1", "0"));
  SendShutdown();
  EXPECT_EQ(AwaitExit(), 0);
}

}  // namespace
}  // namespace tony::executor
