// Logs of containers on other machines, followed through a real ApplicationMaster's service.
#include "client/remote_logs/live_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <future>

#include "history/log_stream.h"
#include "tests/client/job_folders.h"
#include "tests/client/log_cluster.h"
#include "tests/client/sample_events.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class LiveLogsTest : public ::testing::Test {
 protected:
  /// A container of worker `index` that runs in `cluster`.
  void StartTask(LogCluster& cluster, int index, const std::string& container) {
    std::filesystem::create_directories(FolderOf(container));
    cluster.Run(container, FolderOf(container));
    core::TaskChanged change = events_.Task("worker", index, core::TaskState::kRunning);
    change.container = container;
    events_.Add(change);
    cluster.Say(events_.events().back());
  }
  std::string FolderOf(const std::string& container) const {
    return absl::StrCat(folder_.path(), "/node/", container);
  }
  void Print(const std::string& container, const std::string& text) {
    logs::AppendLog(FolderOf(container) + "/attempt-1.stdout.log", text);
  }
  void Submit(LogCluster& cluster) {
    events_.Submit({{"worker", 2, true}}, kJob);
    cluster.Say(events_.events().back());
  }
  void End(LogCluster& cluster) {
    events_.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded, "all done");
    cluster.Say(events_.events().back());
    cluster.Close();
  }

  LiveLogs::Options OptionsFor(std::vector<std::string> addresses) {
    LiveLogs::Options options;
    options.make_source = [this, addresses = std::move(addresses)](EventLoop& loop,
                                                                   const Clock& /*clock*/) {
      return std::make_unique<Masters>(loop, addresses,
                                       authority_.Issue(rpc::ClientRole(kJob)).value());
    };
    options.copy_from_node = [this](const history::LogOrigin& origin) {
      return CopyFromNode(origin);
    };
    options.copy_collected = [this](const auto& origins) { return CopyCollected(origins); };
    options.notice = [this](const std::string& sentence) { notices_.Push(sentence); };
    options.retry_pause = std::chrono::milliseconds(1);
    return options;
  }
  void Follow(std::vector<std::string> addresses, const std::string& task = "") {
    LiveLogs::Options options = OptionsFor(std::move(addresses));
    options.selection.task = task;
    FollowWith(std::move(options));
  }
  void FollowWith(LiveLogs::Options options) {
    const std::string task = options.selection.task;
    auto live = LiveLogs::Start(mirror_, std::move(options));
    ASSERT_TRUE(live.ok()) << live.status();
    live_ = *std::move(live);
    follower_ = std::thread([this, task] {
      history::LogStreamOptions stream_options;
      stream_options.selection.task = task;
      history::LogStream stream(mirror_.folder(), stream_options, clock_,
                                [this](const history::LogFile& log, const logs::LogLine& line) {
                                  lines_.Push(absl::StrCat(log.task, ": ", line.text));
                                });
      EXPECT_TRUE(stream.Follow().ok());
    });
  }
  absl::Status CopyFromNode(const history::LogOrigin& origin) {
    copied_.Push(origin.container);
    const std::string path = FolderOf(origin.container) + "/attempt-1.stdout.log";
    if (!std::filesystem::exists(path)) return absl::UnavailableError("the node has none");
    return Take(origin, os::Contents(path));
  }
  /// `collected_` are the standard outputs of containers.
  std::set<std::string> CopyCollected(const std::vector<history::LogOrigin>& origins) {
    std::set<std::string> copied;
    for (const history::LogOrigin& origin : origins) {
      const auto found = collected_.find(origin.container);
      if (found == collected_.end()) continue;
      EXPECT_TRUE(Take(origin, found->second).ok());
      copied.insert(origin.container);
    }
    return copied;
  }
  absl::Status Take(const history::LogOrigin& origin, const std::string& output) {
    const logs::ContainerLogFile file{logs::ContainerLogFile::Stream::kStdout, 1, 1, false};
    return mirror_.Take(origin, {file, mirror_.VersionOf(origin, file), 0, output, ""});
  }
  void TearDown() override {
    if (follower_.joinable()) follower_.join();
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  SampleEvents events_;
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create(kJob).value();
  Heard lines_, notices_, copied_;
  std::map<std::string, std::string> collected_;
  history::LogMirror mirror_{storage::JobFolder(folder_.path() + "/mirror")};
  std::unique_ptr<LiveLogs> live_;
  std::thread follower_;
};

TEST_F(LiveLogsTest, LinesComeAsTheyArePrintedAndTheEndIsTheJobs) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  Print("c1", "before\n");
  Follow({cluster.address()});
  EXPECT_TRUE(lines_.WaitFor("worker:0: before"));
  Print("c1", "after\n");
  EXPECT_TRUE(lines_.WaitFor("worker:0: after"));
  StartTask(cluster, 1, "c2");
  Print("c2", "later\n");
  EXPECT_TRUE(lines_.WaitFor("worker:1: later"));
  Print("c2", "last, without an end");
  cluster.Finish("c1");
  cluster.Finish("c2");
  End(cluster);
  follower_.join();
  EXPECT_THAT(lines_.all(), ElementsAre("worker:0: before", "worker:0: after", "worker:1: later",
                                        "worker:1: last, without an end"));
  EXPECT_EQ(live_->result(), absl::OkStatus());
  EXPECT_THAT(copied_.all(), IsEmpty());
  EXPECT_THAT(notices_.all(), IsEmpty());
}

TEST_F(LiveLogsTest, OnlyWhatIsWantedIsOpened) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  StartTask(cluster, 1, "c2");
  Print("c1", "zero\n");
  Print("c2", "one\n");
  Follow({cluster.address()}, "worker:1");
  EXPECT_TRUE(lines_.WaitFor("worker:1: one"));
  cluster.Finish("c2");
  End(cluster);
  follower_.join();
  EXPECT_THAT(cluster.wishes.all(), ElementsAre("c2"));
}

TEST_F(LiveLogsTest, WhatAnExecutorDoesNotSayAnyMoreIsAtItsNode) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  Print("c1", "one\n");
  Follow({cluster.address()});
  EXPECT_TRUE(lines_.WaitFor("worker:0: one"));
  cluster.Lose("c1");
  Print("c1", "two\n");
  EXPECT_TRUE(lines_.WaitFor("worker:0: two"));
  Print("c1", "three\n");
  End(cluster);
  follower_.join();
  EXPECT_THAT(lines_.all(), ElementsAre("worker:0: one", "worker:0: two", "worker:0: three"));
  EXPECT_THAT(copied_.all(), Contains("c1"));
}

TEST_F(LiveLogsTest, TheNextApplicationMasterGoesOn) {
  auto first = std::make_unique<LogCluster>(authority_);
  LogCluster second(authority_);
  Submit(*first);
  second.Say(events_.events().back());
  StartTask(*first, 0, "c1");
  second.Say(events_.events().back());
  second.Run("c1", FolderOf("c1"));
  Print("c1", "one\n");
  Follow({first->address(), second.address()});
  EXPECT_TRUE(lines_.WaitFor("worker:0: one"));
  first.reset();
  Print("c1", "two\n");
  EXPECT_TRUE(lines_.WaitFor("worker:0: two"));
  second.Finish("c1");
  End(second);
  follower_.join();
  EXPECT_THAT(lines_.all(), ElementsAre("worker:0: one", "worker:0: two"));
  EXPECT_THAT(copied_.all(), IsEmpty());
}

TEST_F(LiveLogsTest, WithoutAnotherApplicationMasterItEndsWithASentence) {
  auto cluster = std::make_unique<LogCluster>(authority_);
  Submit(*cluster);
  StartTask(*cluster, 0, "c1");
  Print("c1", "one\n");
  Follow({cluster->address()});
  EXPECT_TRUE(lines_.WaitFor("worker:0: one"));
  // It comes while there is a tunnel, or else from the node.
  Print("c1", "two\n");
  cluster.reset();
  follower_.join();
  EXPECT_THAT(lines_.all(), ElementsAre("worker:0: one", "worker:0: two"));
  EXPECT_THAT(notices_.all(), Contains("no other one comes"));
  EXPECT_TRUE(absl::IsUnavailable(live_->result())) << live_->result();
}

TEST_F(LiveLogsTest, WhatCannotBeHadIsTold) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  cluster.Lose("c1");
  Follow({cluster.address()});
  EXPECT_TRUE(notices_.WaitFor("worker:0: the node has none"));
  End(cluster);
  follower_.join();
  EXPECT_THAT(std::string(live_->result().message()), HasSubstr("those of worker:0 lack"));
}

TEST_F(LiveLogsTest, WhatItsNodeDoesNotHaveAnyMoreMayHaveBeenCollected) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  Print("c1", "one\n");
  collected_["c1"] = "one\ntwo\n";
  Follow({cluster.address()});
  EXPECT_TRUE(lines_.WaitFor("worker:0: one"));
  std::filesystem::remove_all(FolderOf("c1"));
  cluster.Lose("c1");
  EXPECT_TRUE(notices_.WaitFor("worker:0: the node has none"));
  End(cluster);
  follower_.join();
  EXPECT_THAT(lines_.all(), ElementsAre("worker:0: one", "worker:0: two"));
  EXPECT_EQ(live_->result(), absl::OkStatus());
}

TEST_F(LiveLogsTest, ARefusalIsToldOnceAndNotTriedAgain) {
  auto first = std::make_unique<LogCluster>(authority_);
  LogCluster second(authority_);
  Submit(*first);
  second.Say(events_.events().back());
  StartTask(*first, 0, "c1");
  second.Say(events_.events().back());
  StartTask(*first, 1, "c2");
  second.Say(events_.events().back());
  second.Run("c1", FolderOf("c1"));
  second.Run("c2", FolderOf("c2"));
  const std::string said = "worker:0: not yours; what its node has of its logs is shown";
  first->Refuse("c1", absl::PermissionDeniedError("not yours"), 1);
  Print("c1", "zero\n");
  Print("c2", "one\n");
  Follow({first->address(), second.address()});
  EXPECT_TRUE(notices_.WaitFor(said));
  EXPECT_TRUE(lines_.WaitFor("worker:0: zero"));
  EXPECT_TRUE(lines_.WaitFor("worker:1: one"));
  EXPECT_THAT(first->wishes.all(), UnorderedElementsAre("c1", "c2"));
  // The next ApplicationMaster is asked for the other one's only.
  first.reset();
  EXPECT_TRUE(second.wishes.WaitFor("c2"));
  second.Finish("c2");
  End(second);
  follower_.join();
  EXPECT_THAT(second.wishes.all(), ElementsAre("c2"));
  EXPECT_EQ(live_->result(), absl::OkStatus());
}

TEST_F(LiveLogsTest, ThatALogCannotBeReadIsTold) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  Print("c1", "one\n");
  const logs::ContainerLogFile file{logs::ContainerLogFile::Stream::kStdout, 1, 1, false};
  cluster.Trouble("c1", {.file = file, .trouble = "Input/output error"});
  Follow({cluster.address()});
  EXPECT_TRUE(notices_.WaitFor("worker:0: Input/output error"));
  // Its node may be able to.
  EXPECT_TRUE(lines_.WaitFor("worker:0: one"));
  End(cluster);
  follower_.join();
  EXPECT_EQ(live_->result(), absl::OkStatus());
}

TEST_F(LiveLogsTest, ATunnelThatThereIsNoRoomForIsOpenedLater) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  cluster.Refuse("c1", absl::ResourceExhaustedError("too many"), 3);
  Print("c1", "one\n");
  Follow({cluster.address()});
  EXPECT_TRUE(lines_.WaitFor("worker:0: one"));
  cluster.Finish("c1");
  End(cluster);
  follower_.join();
  EXPECT_THAT(notices_.all(), ElementsAre("some logs will come later: too many"));
  EXPECT_THAT(copied_.all(), IsEmpty());
  EXPECT_EQ(live_->result(), absl::OkStatus());
}

TEST_F(LiveLogsTest, ANodeThatDoesNotAnswerHoldsUpNobodyElse) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  StartTask(cluster, 1, "c2");
  cluster.Lose("c1");
  LiveLogs::Options options = OptionsFor({cluster.address()});
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future().share();
  options.copy_from_node = [this, answered](const history::LogOrigin& origin) {
    copied_.Push(origin.container);
    answered.wait();
    return absl::OkStatus();
  };
  FollowWith(std::move(options));
  EXPECT_TRUE(copied_.WaitFor("c1"));
  Print("c2", "one\n");
  EXPECT_TRUE(lines_.WaitFor("worker:1: one"));
  answer.set_value();
  cluster.Finish("c2");
  End(cluster);
  follower_.join();
}

using LiveLogsDeathTest = LiveLogsTest;

TEST_F(LiveLogsDeathTest, CtrlCDoesNotWaitForANode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interrupt = [this] {
    LogCluster cluster(authority_);
    Submit(cluster);
    StartTask(cluster, 0, "c1");
    cluster.Lose("c1");
    LiveLogs::Options options = OptionsFor({cluster.address()});
    options.copy_from_node = [](const history::LogOrigin&) {
      raise(SIGINT);
      std::promise<void>().get_future().wait();  // for ever
      return absl::OkStatus();
    };
    alarm(kPatience.count());
    const auto live = LiveLogs::Start(mirror_, std::move(options));
    pause();
  };
  EXPECT_EXIT(interrupt(), ::testing::KilledBySignal(SIGINT), "");
}

TEST_F(LiveLogsTest, MayBeLeftAtAnyTime) {
  LogCluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  Print("c1", std::string(10 << 20, 'x'));
  history::LogMirror mirror{storage::JobFolder(folder_.path() + "/other")};
  {
    const auto live = LiveLogs::Start(mirror, OptionsFor({cluster.address()}));
    ASSERT_TRUE(live.ok()) << live.status();
    EXPECT_TRUE(cluster.wishes.WaitFor("c1"));
  }
}

}  // namespace
}  // namespace tony::client
