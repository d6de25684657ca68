// Logs of containers on other machines, followed through a real ApplicationMaster's service.
#include "client/live_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>

#include "client/log_stream.h"
#include "rpc/certificate_authority.h"
#include "rpc/convert.h"
#include "rpc/event_log.h"
#include "rpc/log_sender.h"
#include "rpc/master_server.h"
#include "tests/client/job_folders.h"
#include "tests/client/sample_events.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kJob[] = "job-1";
constexpr std::chrono::seconds kPatience{30};

/// Lines and sentences that a test waits for. Thread safe.
class Heard {
 public:
  void Push(const std::string& text) {
    const std::lock_guard lock(mutex_);
    all_.push_back(text);
    changed_.notify_all();
  }
  bool WaitFor(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, kPatience, [&] { return std::find(all_.begin(), all_.end(), text) != all_.end(); });
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

/// An ApplicationMaster, and executors that send the logs in folders, on a loop of their own.
class Cluster {
 public:
  explicit Cluster(const rpc::CertificateAuthority& authority) : authority_(authority) {
    server_ = rpc::MasterServer::Start("127.0.0.1",
                                       authority_.Issue(rpc::ApplicationMasterRole(kJob)).value(),
                                       jobs_, executors_)
                  .value();
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Cluster() {
    relay_.Close("the job is over");
    loop_.Post([this] {
      senders_.clear();
      loop_.Stop();
    });
    thread_.join();
    server_.reset();
  }

  const std::string& address() const { return server_->address(); }
  void Run(const std::string& container, const std::string& folder) {
    loop_.Post([this, container, folder] {
      senders_[container] = std::make_unique<rpc::LogSenders>(loop_, folder);
    });
  }
  /// The executor leaves in order.
  void Finish(const std::string& container) {
    loop_.Post([this, container] { senders_[container]->Finish([] {}); });
  }
  /// The executor is gone.
  void Lose(const std::string& container) {
    loop_.Post([this, container] { senders_.erase(container); });
  }
  /// Of wishes for the container the first `times`, by the ApplicationMaster.
  void Refuse(const std::string& container, const absl::Status& why, int times) {
    loop_.Post([this, container, why, times] { refusals_[container] = {why, times}; });
  }
  void Say(const core::JobEvent& event) { log_.Append(rpc::ToProto(event)); }
  void Close() { log_.Close(); }

  Heard wishes;  ///< containers

 private:
  void Take(const rpc::TunnelRelay::Wish& wish) {
    const std::string container = wish.logs->container();
    wishes.Push(container);
    const auto refusal = refusals_.find(container);
    if (refusal != refusals_.end() && refusal->second.second-- > 0) {
      return relay_.Refuse(wish.tunnel, refusal->second.first);
    }
    const auto found = senders_.find(container);
    if (found == senders_.end()) {
      return relay_.Refuse(wish.tunnel, absl::NotFoundError("no such container"));
    }
    relay_.Expect(wish.tunnel, container);
    const auto dialer = std::make_shared<rpc::TunnelDialer>(
        address(), authority_.Issue(rpc::ExecutorRole(kJob, container)).value());
    EXPECT_TRUE(found->second->Send(wish.tunnel, *wish.logs, dialer).ok());
  }

  const rpc::CertificateAuthority& authority_;
  EventLoop loop_;
  rpc::EventLog log_;
  rpc::TunnelRelay relay_{
      [this](const rpc::TunnelRelay::Wish& wish) { loop_.Post([this, wish] { Take(wish); }); }};
  rpc::JobService jobs_{kJob, log_, relay_, {}};
  rpc::ExecutorService executors_{kJob, relay_, [](const core::JobInput&) {}};
  std::map<std::string, std::unique_ptr<rpc::LogSenders>> senders_;
  std::map<std::string, std::pair<absl::Status, int>> refusals_;
  std::unique_ptr<rpc::MasterServer> server_;
  std::thread thread_;
};

/// Gives the ApplicationMasters at `addresses`, one after the other.
class Masters : public MasterSource {
 public:
  Masters(EventLoop& loop, std::vector<std::string> addresses, rpc::Credentials credentials)
      : loop_(loop), addresses_(std::move(addresses)), credentials_(std::move(credentials)) {}

  void Start(Callbacks callbacks) override {
    callbacks_ = std::move(callbacks);
    Next();
  }
  void OnAnswer() override {}
  void OnConcluded() override {}
  void OnStreamClosed(const absl::Status& /*why*/) override { Next(); }
  void OnNoAnswer() override {}
  void Abandon(const std::string& /*sentence*/, std::function<void(absl::Status)> done) override {
    done(absl::OkStatus());
  }
  absl::Status ReadEvents(const UseEvent& /*use*/) override { return absl::OkStatus(); }
  std::string AfterLeaving() const override { return ""; }

 private:
  void Next() {
    loop_.Post([this] {
      if (next_ == addresses_.size()) {
        return callbacks_.over(std::nullopt, absl::UnavailableError("no other one comes"));
      }
      callbacks_.found(std::make_unique<rpc::JobClient>(addresses_[next_++], credentials_));
    });
  }

  EventLoop& loop_;
  const std::vector<std::string> addresses_;
  const rpc::Credentials credentials_;
  size_t next_ = 0;
  Callbacks callbacks_;
};

class LiveLogsTest : public ::testing::Test {
 protected:
  /// A container of worker `index` that runs in `cluster`.
  void StartTask(Cluster& cluster, int index, const std::string& container) {
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
    AppendLog(FolderOf(container) + "/attempt-1.stdout.log", text);
  }
  void Submit(Cluster& cluster) {
    events_.Submit({{"worker", 2, true}}, kJob);
    cluster.Say(events_.events().back());
  }
  void End(Cluster& cluster) {
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
    options.copy_from_node = [this](const LogOrigin& origin) { return CopyFromNode(origin); };
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
      LogStreamOptions stream_options;
      stream_options.selection.task = task;
      LogStream stream(mirror_.folder(), stream_options, clock_,
                       [this](const LogFile& log, const LogLine& line) {
                         lines_.Push(absl::StrCat(log.task, ": ", line.text));
                       });
      EXPECT_TRUE(stream.Follow().ok());
    });
  }
  absl::Status CopyFromNode(const LogOrigin& origin) {
    copied_.Push(origin.container);
    const std::string path = FolderOf(origin.container) + "/attempt-1.stdout.log";
    if (!std::filesystem::exists(path)) return absl::UnavailableError("the node has none");
    return Take(origin, os::Contents(path));
  }
  /// `collected_` are the standard outputs of containers.
  std::set<std::string> CopyCollected(const std::vector<LogOrigin>& origins) {
    std::set<std::string> copied;
    for (const LogOrigin& origin : origins) {
      const auto found = collected_.find(origin.container);
      if (found == collected_.end()) continue;
      EXPECT_TRUE(Take(origin, found->second).ok());
      copied.insert(origin.container);
    }
    return copied;
  }
  absl::Status Take(const LogOrigin& origin, const std::string& output) {
    const os::ContainerLogFile file{os::ContainerLogFile::Stream::kStdout, 1, 1, false};
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
  LogMirror mirror_{backend::JobFolder(folder_.path() + "/mirror")};
  std::unique_ptr<LiveLogs> live_;
  std::thread follower_;
};

TEST_F(LiveLogsTest, LinesComeAsTheyArePrintedAndTheEndIsTheJobs) {
  Cluster cluster(authority_);
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
  Cluster cluster(authority_);
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
  Cluster cluster(authority_);
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
  auto first = std::make_unique<Cluster>(authority_);
  Cluster second(authority_);
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
  auto cluster = std::make_unique<Cluster>(authority_);
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
  Cluster cluster(authority_);
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
  Cluster cluster(authority_);
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
  auto first = std::make_unique<Cluster>(authority_);
  Cluster second(authority_);
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

TEST_F(LiveLogsTest, ATunnelThatThereIsNoRoomForIsOpenedLater) {
  Cluster cluster(authority_);
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
  Cluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  StartTask(cluster, 1, "c2");
  cluster.Lose("c1");
  LiveLogs::Options options = OptionsFor({cluster.address()});
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future().share();
  options.copy_from_node = [this, answered](const LogOrigin& origin) {
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
    Cluster cluster(authority_);
    Submit(cluster);
    StartTask(cluster, 0, "c1");
    cluster.Lose("c1");
    LiveLogs::Options options = OptionsFor({cluster.address()});
    options.copy_from_node = [](const LogOrigin&) {
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
  Cluster cluster(authority_);
  Submit(cluster);
  StartTask(cluster, 0, "c1");
  Print("c1", std::string(10 << 20, 'x'));
  LogMirror mirror{backend::JobFolder(folder_.path() + "/other")};
  {
    const auto live = LiveLogs::Start(mirror, OptionsFor({cluster.address()}));
    ASSERT_TRUE(live.ok()) << live.status();
    EXPECT_TRUE(cluster.wishes.WaitFor("c1"));
  }
}

}  // namespace
}  // namespace tony::client
