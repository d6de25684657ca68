// Logs copied from a node's web service, also from one that answers with nonsense.
#include "client/remote_logs/node_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/hadoop/fakes/fake_http_server.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using hadoop::FakeHttpServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLogs[] = "/ws/v1/node/containers/c1/logs";

/// A log as a NodeManager sends it.
std::string Sent(const std::string& log) {
  return absl::StrCat("Container: c1 on node1\nLogType:x\nLogLength:", log.size(),
                      "\nLogContents:\n", log, "\nEnd of LogType:x\n***\n");
}

/// A node, and what is copied from it.
class NodeLogsTest : public ::testing::Test {
 protected:
  void SetUp() override { logs_ = NodeLogs::Make(false, std::chrono::seconds(30)).value(); }

  FakeHttpServer::Response Answer(const FakeHttpServer::Request& request) const {
    const auto found = answers_.find(request.target);
    if (found == answers_.end()) return {.code = 404, .body = "no such log"};
    return {.body = found->second};
  }
  /// Makes the node list these files, each with its contents.
  void List(const std::map<std::string, std::string>& files) {
    std::string list;
    for (const auto& [name, text] : files) {
      absl::StrAppend(&list, list.empty() ? "" : ",", R"({"fileName":")", name, R"(","fileSize":")",
                      text.size(), R"("})");
      answers_[absl::StrCat(kLogs, "/", name)] = Sent(text);
    }
    answers_[kLogs] = absl::StrCat(R"({"containerLogsInfo":[{"containerLogInfo":[)", list, "]}]}");
  }
  history::LogOrigin Worker() const {
    return {"worker:0", "worker-0", "c1", node_.Url("/node/containerlogs/c1/ann")};
  }
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(logs_->folder().logs(), "/worker-0/", name);
  }
  std::vector<std::string> Asked() const {
    std::vector<std::string> asked;
    for (const auto& request : node_.requests()) asked.push_back(request.target);
    return asked;
  }

  std::map<std::string, std::string> answers_;
  FakeHttpServer node_{[this](const auto& request) { return Answer(request); }};
  std::unique_ptr<NodeLogs> logs_;
};

TEST_F(NodeLogsTest, CopiesWhatIsSelectedAndAsksForNothingElse) {
  List({{"attempt-1.stdout.log", "out\n"},
        {"attempt-1.stdout.times", "t"},
        {"attempt-1.stderr.log", "err\n"},
        {"executor.log", "executor\n"},
        {"prelaunch.out", "no log of ours"}});
  history::LogSelection selection;
  selection.standard_error = false;
  ASSERT_TRUE(logs_->Copy({Worker()}, selection).ok());
  EXPECT_EQ(os::Contents(PathOf("attempt-1/stdout.log")), "out\n");
  EXPECT_EQ(os::Contents(PathOf("attempt-1/stdout.times")), "t");
  EXPECT_THAT(Asked(), ElementsAre(kLogs, absl::StrCat(kLogs, "/attempt-1.stdout.log"),
                                   absl::StrCat(kLogs, "/attempt-1.stdout.times")));
  EXPECT_THAT(logs_->missing(), IsEmpty());
}

TEST_F(NodeLogsTest, OneFileThatIsMissingLosesNoOther) {
  List({{"attempt-1.stderr.log", "err\n"}, {"attempt-1.stdout.log", "out\n"}});
  answers_.erase(absl::StrCat(kLogs, "/attempt-1.stderr.log"));
  ASSERT_TRUE(logs_->Copy({Worker()}, {}).ok());
  EXPECT_EQ(os::Contents(PathOf("attempt-1/stdout.log")), "out\n");
  EXPECT_THAT(logs_->missing(), HasSubstr("worker:0: attempt-1.stderr.log: "));
}

TEST_F(NodeLogsTest, ALogThatIsCutShortIsMissing) {
  List({{"attempt-1.stderr.log", "err\n"}, {"attempt-1.stdout.log", "out\n"}});
  answers_[absl::StrCat(kLogs, "/attempt-1.stdout.log")] =
      "LogType:x\nLogLength:100\nLogContents:\nonly so much";
  ASSERT_TRUE(logs_->Copy({Worker()}, {}).ok());
  EXPECT_THAT(logs_->missing(), HasSubstr("only with a part of the log"));
}

TEST_F(NodeLogsTest, NonsenseIsAnErrorWithASentence) {
  for (const char* text :
       {"", "<html>", "[]", "1", "null", R"({"containerLogsInfo2":1})", "\"containerLogsInfo\""}) {
    answers_[kLogs] = text;
    const absl::Status copied = logs_->Copy({Worker()}, {});
    EXPECT_TRUE(absl::IsUnavailable(copied)) << text << ": " << copied;
    EXPECT_THAT(std::string(copied.message()), HasSubstr("does not say what logs it has")) << text;
  }
  for (
      const char* text :
      {R"({"containerLogsInfo":null})", R"({"containerLogsInfo":[1,"x",null,{}]})",
       R"({"containerLogsInfo":{"containerLogInfo":7}})",
       R"({"containerLogsInfo":{"containerLogInfo":[{"fileName":1},{"fileName":null},2,[]]}})",
       R"({"containerLogsInfo":{"containerLogInfo":[{"fileName":"../../attempt-1.stdout.log"}]}})"}) {
    answers_[kLogs] = text;
    EXPECT_TRUE(logs_->Copy({Worker()}, {}).ok()) << text;
  }
}

TEST_F(NodeLogsTest, NoLogIsLongerThanItSays) {
  List({{"attempt-1.stdout.log", ""}, {"attempt-2.stdout.log", "ok"}});
  for (const char* length : {"-1", "x", "99999999999999999999"}) {
    answers_[absl::StrCat(kLogs, "/attempt-1.stdout.log")] =
        absl::StrCat("LogType:x\nLogLength:", length, "\nLogContents:\nbytes");
    EXPECT_TRUE(logs_->Copy({Worker()}, {}).ok());
    EXPECT_FALSE(std::filesystem::exists(PathOf("attempt-1/stdout.log"))) << length;
  }
}

TEST_F(NodeLogsTest, GoesOnWhereAnotherWayHasEnded) {
  const logs::ContainerLogFile file{logs::ContainerLogFile::Stream::kStdout, 1, 1, false};
  ASSERT_TRUE(logs_->mirror().Take(Worker(), {file, 77, 0, "one "}).ok());
  List({{"attempt-1.stdout.log", "one two"}});
  ASSERT_TRUE(logs_->Copy({Worker()}, {}).ok());
  EXPECT_EQ(os::Contents(PathOf("attempt-1/stdout.log")), "one two");
  // One that has become shorter is another one.
  List({{"attempt-1.stdout.log", "new"}});
  ASSERT_TRUE(logs_->Copy({Worker()}, {}).ok());
  EXPECT_EQ(os::Contents(PathOf("attempt-1/stdout.log")), "new");
}

TEST_F(NodeLogsTest, WhatHasComeIsNotAskedForAgain) {
  List({{"attempt-1.stderr.log", "err\n"}, {"attempt-1.stdout.log", "one "}});
  ASSERT_TRUE(logs_->CopyFrom(Worker(), {}).ok());
  List({{"attempt-1.stderr.log", "err\n"}, {"attempt-1.stdout.log", "one two"}});
  const size_t before = Asked().size();
  ASSERT_TRUE(logs_->CopyFrom(Worker(), {}).ok());
  std::vector<std::string> again = Asked();
  again.erase(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(again, ElementsAre(kLogs, absl::StrCat(kLogs, "/attempt-1.stdout.log")));
  EXPECT_EQ(os::Contents(PathOf("attempt-1/stdout.log")), "one two");
}

TEST_F(NodeLogsTest, TheMastersLogIsInItsPlace) {
  List({{"amstderr.log", "says the master\n"}, {"attempt-1.stdout.log", "not its own"}});
  ASSERT_TRUE(
      logs_->Copy({{"am", "", "am.1", node_.Url("/node/containerlogs/c1/ann"), 1}}, {}).ok());
  EXPECT_EQ(os::Contents(logs_->folder().am_log()), "says the master\n");
}

TEST_F(NodeLogsTest, AnAddressThatIsNoContainers) {
  for (const char* url : {"", "http://node1:8042", "http://node1:8042/other/containerlogs/c/u"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(logs_->CopyFrom({"worker:0", "worker-0", "c1", url}, {}).status()))
        << url;
  }
}

}  // namespace
}  // namespace tony::client
