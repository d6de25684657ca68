// Lines that need bash and lines that do not.
#include "executor/task/command_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "os/processes/run_program.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;

class CommandRequestTest : public ::testing::Test {
 protected:
  void AddFile(const std::string& name, const std::string& contents, mode_t mode) {
    std::ofstream(folder_ / name) << contents;
    ASSERT_EQ(::chmod((folder_ / name).c_str(), mode), 0);
  }
  os::SpawnRequest Request(const std::string& line) const {
    return RequestFor(line, environment_, folder_.path(), "/bin/bash").value();
  }
  std::vector<std::string> Words(const std::string& line) const { return Request(line).arguments; }
  bool NeedsBash(const std::string& line) const {
    return Request(line).program.empty() &&
           Words(line) == std::vector<std::string>{"/bin/bash", "-c", line};
  }

  os::TemporaryFolder folder_;
  std::vector<std::string> environment_ = {"PATH=/usr/bin:/bin"};
};

TEST_F(CommandRequestTest, PlainWordsNeedNoShell) {
  EXPECT_THAT(Words("sleep 0.5"), ElementsAre("sleep", "0.5"));
  EXPECT_THAT(Words("  env  --ignore-environment A=b_c,d:/e@f+g%  "),
              ElementsAre("env", "--ignore-environment", "A=b_c,d:/e@f+g%"));
  EXPECT_THAT(Words("/bin/sleep 1"), ElementsAre("/bin/sleep", "1"));
  EXPECT_EQ(Request("sleep 1").program, "/usr/bin/sleep");
  EXPECT_THAT(Request("sleep 1").fallback, ElementsAre("/bin/bash", "-c", "sleep 1"));
}

TEST_F(CommandRequestTest, AnImageMayHaveAnotherShellOrNone) {
  EXPECT_EQ(FindShell(""), "/bin/bash");
  EXPECT_EQ(FindShell(folder_.path()), "");
  ASSERT_EQ(::mkdir((folder_ / "bin").c_str(), 0755), 0);
  AddFile("bin/sh", "", 0644);
  EXPECT_EQ(FindShell(folder_.path()), "") << "it cannot be executed";
  ASSERT_EQ(::chmod((folder_ / "bin/sh").c_str(), 0755), 0);
  EXPECT_EQ(FindShell(folder_.path()), "/bin/sh");
  const auto request = [this](const std::string& line, const std::string& shell) {
    return RequestFor(line, environment_, folder_.path(), shell);
  };
  EXPECT_THAT(request("echo $A", "/bin/sh")->arguments, ElementsAre("/bin/sh", "-c", "echo $A"));
  EXPECT_THAT(request("sleep 1", "/bin/sh")->fallback, ElementsAre("/bin/sh", "-c", "sleep 1"));
  EXPECT_EQ(request("sleep 1", "")->program, "/usr/bin/sleep");
  EXPECT_TRUE(request("sleep 1", "")->fallback.empty());
  for (const std::string line : {"echo $A", "no-such-program", "exit 3"}) {
    EXPECT_EQ(request(line, "").status().message(),
              "the command needs a shell, and its image has neither /bin/bash nor /bin/sh; write "
              "plain words that begin with a program of the image (/usr/bin/python3 train.py), or "
              "take an image with a shell")
        << line;
  }
}

TEST_F(CommandRequestTest, WhateverBashWouldInterpretIsLeftToIt) {
  for (const std::string line : {"",
                                 " ",
                                 "sleep 1; sleep 2",
                                 "sleep $N",
                                 "sleep `cat n`",
                                 "sleep '1'",
                                 "sleep \"1\"",
                                 "sleep 1 &",
                                 "sleep 1 | cat",
                                 "sleep 1 > f",
                                 "sleep *",
                                 "sleep ?",
                                 "sleep [1]",
                                 "sleep {1,2}",
                                 "~/run",
                                 "sleep ~",
                                 "sleep 1 # a second",
                                 "sleep \\1",
                                 "sleep 1\nsleep 2",
                                 "sleep\t1",
                                 "(sleep 1)",
                                 "!sleep",
                                 "A=1 env",
                                 "%1",
                                 "sleep caf\xc3\xa9"}) {
    EXPECT_TRUE(NeedsBash(line)) << line;
  }
}

TEST_F(CommandRequestTest, BuiltinsAndKeywordsAreBashs) {
  auto listed = os::RunWithDeadline({"/bin/bash", "-c", "compgen -b -k"}, std::chrono::seconds(20));
  ASSERT_TRUE(listed.ok()) << listed.status();
  std::istringstream words(listed->standard_output);
  std::string word;
  int count = 0;
  for (; words >> word; ++count) EXPECT_TRUE(NeedsBash(word + " x")) << word;
  EXPECT_GT(count, 70);
}

TEST_F(CommandRequestTest, ProgramsAreThoseThatBashWouldFind) {
  AddFile("my-script", "#!/bin/sh\n", 0755);
  AddFile("text", "echo hello\n", 0755);
  AddFile("closed", "#!/bin/sh\n", 0644);
  EXPECT_THAT(Words("./my-script x"), ElementsAre("./my-script", "x"));
  EXPECT_TRUE(NeedsBash("./text"));  // bash runs it as a script of its own
  EXPECT_TRUE(NeedsBash("./closed"));
  EXPECT_TRUE(NeedsBash("./missing"));
  EXPECT_TRUE(NeedsBash("my-script"));
  environment_ = {"PATH=/usr/bin:.:/bin"};
  EXPECT_THAT(Words("my-script x"), ElementsAre("my-script", "x"));
  EXPECT_EQ(Request("my-script x").program, folder_ / "./my-script");
  environment_ = {"PATH=~/bin:/usr/bin"};  // a home folder to bash
  EXPECT_TRUE(NeedsBash("sleep 1"));
  environment_ = {"NOPATH=/usr/bin"};
  EXPECT_TRUE(NeedsBash("sleep 1"));
}

TEST_F(CommandRequestTest, VariablesThatSteerBashAreRespected) {
  for (const std::string variable : {"BASH_ENV=/etc/profile", "BASH_FUNC_sleep%%=() { :; }",
                                     "SHELLOPTS=noexec", "BASHOPTS=extglob", "EXECIGNORE=*sleep"}) {
    environment_ = {"PATH=/usr/bin:/bin", variable};
    EXPECT_TRUE(NeedsBash("sleep 1")) << variable;
  }
}

}  // namespace
}  // namespace tony::executor
