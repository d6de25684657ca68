// Whole jobs in a real folder: a real ApplicationMaster on the local backend, the real
// tony-executor, a real client.
#include "appmaster/application_master.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "appmaster/local_platform.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "rpc/security/credentials.h"
#include "rpc/services/job_client.h"
#include "tests/backend/local/job_ids.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"
#include "tests/rpc/inbox.h"
#include "tests/support/tree/source_tree.h"

namespace tony::appmaster {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Properties = std::map<std::string, std::string>;

// A client that follows a job and keeps what it hears. Its connection goes first.
class Client {
 public:
  Client(LoopDriver& driver, const storage::JobFolder& folder)
      : driver_(driver),
        client_(os::Contents(folder.am_address()),
                rpc::LoadCredentials(folder.client_credentials()).value()) {}

  void Follow(bool owner) {
    client_.Follow(0, owner,
                   {[this](core::JobEvent event) {
                      incoming_.Push(std::move(event));
                      driver_.Changed();
                    },
                    [this](absl::Status status) {
                      closed_.Push(status);
                      driver_.Changed();
                    }});
  }
  // Runs the loop to the end of the stream, and returns the verdict.
  core::Verdict AwaitVerdict() {
    std::optional<absl::Status> closed;
    EXPECT_TRUE(driver_.Await([&] {
      Take();
      if (!closed) closed = closed_.TryNext();
      return closed.has_value();
    }));
    Take();
    EXPECT_EQ(closed.value_or(absl::UnknownError("open")), absl::OkStatus());
    if (events.empty() || !std::holds_alternative<core::JobEnded>(events.back().body)) {
      ADD_FAILURE() << "the last event is no verdict";
      return {};
    }
    return std::get<core::JobEnded>(events.back().body).verdict;
  }
  // Runs the loop until a task is in that state.
  bool AwaitTask(core::TaskState state) {
    return driver_.Await([&] {
      Take();
      return std::any_of(events.begin(), events.end(), [&](const core::JobEvent& event) {
        const auto* change = std::get_if<core::TaskChanged>(&event.body);
        return change != nullptr && change->state == state;
      });
    });
  }
  absl::Status Stop(const std::string& reason) { return client_.Stop(reason, kPatience); }

  std::vector<core::JobEvent> events;

 private:
  void Take() {
    while (auto event = incoming_.TryNext()) events.push_back(*std::move(event));
  }

  LoopDriver& driver_;
  rpc::Inbox<core::JobEvent> incoming_;
  rpc::Inbox<absl::Status> closed_;
  rpc::JobClient client_;
};

class ApplicationMasterTest : public ::testing::Test {
 protected:
  // The job's folder as a client would lay it out, with one worker unless `properties` say
  // otherwise.
  void Stage(const Properties& properties) {
    Properties all = {{"tony.application.name", "test"}, {"tony.worker.instances", "1"},
                      {"tony.worker.memory", "64m"},     {"tony.worker.vcores", "1"},
                      {"tony.am.memory", "64m"},         {"tony.task.kill-grace-ms", "200"}};
    for (const auto& [name, value] : properties) all[name] = value;
    std::string xml = "<configuration>\n";
    for (const auto& [name, value] : all) {
      absl::StrAppend(&xml, "<property><name>", name, "</name><value>", value,
                      "</value></property>\n");
    }
    os::Put(folder_.job_xml(), xml + "</configuration>\n");
    os::Put(folder_.staged(), "{}");
    std::filesystem::create_directories(folder_.secrets());
    std::filesystem::create_directories(folder_.archives());
    ASSERT_TRUE(os::WriteFileAtomically(folder_.authority(), authority_.ToPem()).ok());
    const rpc::Credentials client = authority_.Issue(rpc::ClientRole(job_id_)).value();
    ASSERT_TRUE(
        os::WriteFileAtomically(folder_.client_credentials(), rpc::FormatCredentials(client)).ok());
  }
  Options MasterOptions() const {
    Options options;
    options.job_folder = folder_.root();
    options.executor_path = BuiltProgram("tony-executor");
    options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    options.user = "ann";
    return options;
  }
  absl::StatusOr<std::unique_ptr<ApplicationMaster>> Create() { return Create(MasterOptions()); }
  absl::StatusOr<std::unique_ptr<ApplicationMaster>> Create(const Options& options) {
    return ApplicationMaster::Create(
        options, std::make_unique<LocalPlatform>(options, driver_.loop()), driver_.loop());
  }
  void Start(Options options) {
    if (options.client_fd < 0) {
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      client_end_.Reset(ends[0]);
      options.client_fd = ends[1];
    }
    auto master = Create(options);
    ASSERT_TRUE(master.ok()) << master.status();
    master_ = *std::move(master);
    const absl::Status started = master_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  // Starts a job that a client owns.
  std::unique_ptr<Client> Run(const Properties& properties) {
    Stage(properties);
    Start(MasterOptions());
    auto client = std::make_unique<Client>(driver_, folder_);
    client->Follow(/*owner=*/true);
    return client;
  }
  std::string TaskLog(const std::string& task, const std::string& attempt) const {
    return os::Contents(
        absl::StrCat(folder_.logs(), "/", task, "/attempt-", attempt, "/stdout.log"));
  }
  std::vector<core::JobEvent> Written() const {
    std::vector<core::JobEvent> events;
    const std::vector<std::string> lines =
        absl::StrSplit(os::Contents(folder_.events()), '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      events.push_back(rpc::EventFromJsonLine(line).value_or(core::JobEvent{}));
    }
    return events;
  }

  os::TemporaryFolder temporary_;
  // A job of its own: what is left of a container is found, and ended, by the container's id.
  const std::string job_id_ = backend::TestJobId(static_cast<uint32_t>(getpid()));
  const storage::JobFolder folder_{temporary_ / ("local/jobs/" + job_id_)};
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create(job_id_).value();
  os::UniqueFd client_end_;  // of the process that started the ApplicationMaster
  LoopDriver driver_;
  std::unique_ptr<ApplicationMaster> master_;
};

TEST_F(ApplicationMasterTest, RunsAJobAndLeavesLogsHistoryAndCheckpoints) {
  auto client = Run({{"tony.worker.instances", "2"},
                     {"tony.worker.command", "echo $TASK_INDEX of $TASK_NUM; pwd"}});
  const core::Verdict verdict = client->AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kSucceeded) << verdict.sentence;
  EXPECT_THAT(TaskLog("worker-1", "1"),
              MatchesRegex("1 of 2\n" + folder_.containers() + "/" + job_id_ + "-c000[12]\n"));
  for (size_t i = 0; i < client->events.size(); ++i) {
    EXPECT_EQ(client->events[i].sequence, static_cast<int64_t>(i) + 1);
  }
  EXPECT_TRUE(Written() == client->events);
  const auto* submitted = std::get_if<core::JobSubmitted>(&client->events[0].body);
  ASSERT_NE(submitted, nullptr);
  EXPECT_EQ(submitted->job_id, job_id_);
  EXPECT_EQ(submitted->user, "ann");
  EXPECT_EQ(submitted->log_folder, folder_.logs());

  EXPECT_TRUE(os::IsFileLocked(folder_.am_lock()));
  master_.reset();
  EXPECT_FALSE(os::IsFileLocked(folder_.am_lock()));
  for (const std::string& gone : {folder_.am_address(), folder_.secrets(), folder_.containers(),
                                  folder_.archives(), folder_.cache()}) {
    EXPECT_FALSE(os::Exists(gone)) << gone;
  }
  EXPECT_TRUE(os::Exists(folder_.checkpoints()));
  EXPECT_TRUE(os::Exists(folder_.logs() + "/worker-0/executor.log"));
}

TEST_F(ApplicationMasterTest, TellsWhichTaskFailedAndItsLastWords) {
  const auto client = Run({{"tony.worker.command", "echo last words; exit 3"}});
  const core::Verdict verdict = client->AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kFailed);
  EXPECT_EQ(verdict.reason, core::Reason::kTaskFailed);
  EXPECT_EQ(verdict.guilty, (core::TaskId{"worker", 0}));
  ASSERT_TRUE(verdict.exit.has_value());
  EXPECT_EQ(verdict.exit->code, 3);
  EXPECT_THAT(verdict.exit->tail, ::testing::ElementsAre("last words"));
}

TEST_F(ApplicationMasterTest, OpensANewEpochInTheSameContainer) {
  const auto client = Run({{"tony.am.retry-count", "1"},
                           {"tony.worker.command",
                            "if [ -e failed ]; then echo again; else touch failed; exit 3; fi"}});
  EXPECT_EQ(client->AwaitVerdict().outcome, core::Outcome::kSucceeded);
  EXPECT_EQ(TaskLog("worker-0", "1"), "");
  EXPECT_EQ(TaskLog("worker-0", "2"), "again\n");
}

TEST_F(ApplicationMasterTest, RunsTheCommandOfAJobWithoutTasks) {
  const auto client = Run({{"tony.worker.instances", "0"},
                           {"tony.application.framework", "standalone"},
                           {"tony.am.command", "echo notebook"}});
  EXPECT_EQ(client->AwaitVerdict().outcome, core::Outcome::kSucceeded);
  EXPECT_EQ(TaskLog("am-0", "1"), "notebook\n");
}

TEST_F(ApplicationMasterTest, EndsTheJobAtAClientsWish) {
  const auto client = Run({{"tony.worker.command", "sleep 600"}});
  ASSERT_TRUE(client->AwaitTask(core::TaskState::kRunning));
  EXPECT_EQ(client->Stop("Stopped by ann"), absl::OkStatus());
  const core::Verdict verdict = client->AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict.reason, core::Reason::kKilledByUser);
  EXPECT_EQ(verdict.sentence, "Stopped by ann");
}

TEST_F(ApplicationMasterTest, EndsTheJobWhenItsOwnerVanishes) {
  auto owner = Run({{"tony.worker.command", "sleep 600"}});
  Client witness(driver_, folder_);
  witness.Follow(/*owner=*/false);
  ASSERT_TRUE(owner->AwaitTask(core::TaskState::kRunning));
  owner.reset();
  const core::Verdict verdict = witness.AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict.reason, core::Reason::kClientGone);
}

TEST_F(ApplicationMasterTest, EndsTheJobWhenItsOwnerDiesBeforeItConnects) {
  Stage({{"tony.worker.command", "sleep 600"}});
  Start(MasterOptions());
  Client witness(driver_, folder_);
  witness.Follow(/*owner=*/false);
  ASSERT_TRUE(witness.AwaitTask(core::TaskState::kRunning));
  client_end_.Reset();
  const core::Verdict verdict = witness.AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict.reason, core::Reason::kClientGone);
  EXPECT_THAT(verdict.sentence, HasSubstr("before it had connected"));
}

TEST_F(ApplicationMasterTest, LeavesWhenItsOwnerDiesBeforeItHasReadTheVerdict) {
  Stage({{"tony.worker.command", "exit 0"}});
  Start(MasterOptions());
  Client witness(driver_, folder_);
  witness.Follow(/*owner=*/false);
  EXPECT_EQ(witness.AwaitVerdict().outcome, core::Outcome::kSucceeded);
  client_end_.Reset();
  EXPECT_TRUE(driver_.AwaitStop());
}

TEST_F(ApplicationMasterTest, EndsTheJobAtASignal) {
  const auto client = Run({{"tony.worker.command", "sleep 600"}});
  ASSERT_TRUE(client->AwaitTask(core::TaskState::kRunning));
  master_->OnSignal(SIGTERM);
  const core::Verdict verdict = client->AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict.reason, core::Reason::kMasterStopped);
  EXPECT_THAT(verdict.sentence, HasSubstr("15"));
}

TEST_F(ApplicationMasterTest, ADetachedJobNeedsNobody) {
  Stage({{"tony.worker.command", "exit 0"}});
  Options options = MasterOptions();
  options.detached = true;
  Start(options);
  EXPECT_TRUE(driver_.AwaitStop());
  ASSERT_FALSE(Written().empty());
  EXPECT_TRUE(std::holds_alternative<core::JobEnded>(Written().back().body));
}

TEST_F(ApplicationMasterTest, AJobThatIsOverAtOnceIsStillToldToItsOwner) {
  Stage({{"tony.worker.command", "exit 0"}});
  Options options = MasterOptions();
  options.executor_path = temporary_ / "no such program";
  Start(options);
  Client witness(driver_, folder_);
  witness.Follow(/*owner=*/false);
  EXPECT_EQ(witness.AwaitVerdict().outcome, core::Outcome::kFailed);
  Client owner(driver_, folder_);
  owner.Follow(/*owner=*/true);
  const core::Verdict verdict = owner.AwaitVerdict();
  EXPECT_EQ(verdict.outcome, core::Outcome::kFailed);
  EXPECT_THAT(verdict.sentence, HasSubstr("no such program"));
}

TEST_F(ApplicationMasterTest, SaysThatItIsReadyOnceItCanBeReached) {
  Stage({{"tony.worker.command", "sleep 600"}});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const os::UniqueFd ready(ends[0]);
  Options options = MasterOptions();
  options.client_fd = ends[1];
  options.detached = true;
  Start(options);
  char text[16];
  ASSERT_EQ(::read(ready.get(), text, sizeof text), 6);
  EXPECT_EQ(std::string(text, 6), "ready\n");
  EXPECT_EQ(::read(ready.get(), text, sizeof text), 0) << "its end is still open";
  EXPECT_THAT(os::Contents(folder_.am_address()), MatchesRegex("127\\.0\\.0\\.1:[0-9]+"));
  EXPECT_EQ(os::ModeOf(folder_.am_address()), 0600u);
}

TEST_F(ApplicationMasterTest, ASecondOneIsRefusedAndTouchesNothing) {
  const auto client = Run({{"tony.worker.command", "sleep 600"}});
  ASSERT_TRUE(client->AwaitTask(core::TaskState::kRunning));
  EXPECT_EQ(Create().status().code(), absl::StatusCode::kAlreadyExists);
  for (const std::string& kept : {folder_.am_address(), folder_.client_credentials(),
                                  folder_.containers(), folder_.archives()}) {
    EXPECT_TRUE(os::Exists(kept)) << kept;
  }
  EXPECT_EQ(client->Stop("enough"), absl::OkStatus());
  EXPECT_EQ(client->AwaitVerdict().sentence, "enough");
}

TEST_F(ApplicationMasterTest, NamesWhatIsWrongWithItsFolder) {
  Stage({{"tony.worker.instances", "many"}, {"tony.worker.comand", "x"}});
  const absl::Status job = Create().status();
  EXPECT_EQ(job.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(job.message()), HasSubstr("tony.worker.instances"));
  EXPECT_THAT(std::string(job.message()), HasSubstr("tony.worker.comand"));

  Stage({{"tony.worker.command", "exit 0"}});
  os::Put(folder_.staged(), "{ nonsense");
  const absl::Status staged = Create().status();
  EXPECT_EQ(staged.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(staged.message()), HasSubstr(folder_.staged()));

  Stage({{"tony.worker.command", "exit 0"}});
  ASSERT_EQ(::chmod(folder_.authority().c_str(), 0644), 0);
  EXPECT_EQ(Create().status().code(), absl::StatusCode::kPermissionDenied);

  Stage({{"tony.worker.command", "exit 0"}});
  std::filesystem::remove(folder_.authority());
  // The keys are the first to go when a job is over: what is left of it is removed.
  EXPECT_EQ(Create().status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(os::Exists(folder_.secrets()));
}

}  // namespace
}  // namespace tony::appmaster
