// One job run on a fake backend, with real streams to executors that the test plays.
#include "appmaster/job_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "absl/strings/str_cat.h"
#include "appmaster/record/journal.h"
#include "core/ports/fake_cluster_backend.h"
#include "rpc/convert/convert.h"
#include "rpc/services/executor_session.h"
#include "rpc/services/job_service.h"
#include "rpc/services/master_server.h"
#include "storage/job_folder.h"
#include "storage/local_job_files.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"
#include "tests/rpc/inbox.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Keeps what executors are launched with, too.
class LaunchingBackend : public core::FakeClusterBackend {
 public:
  using FakeClusterBackend::FakeClusterBackend;
  void Launch(const std::string& container_id, const core::LaunchContext& context) override {
    launched[container_id] = context;
    FakeClusterBackend::Launch(container_id, context);
  }
  std::map<std::string, core::LaunchContext> launched;
};

// An executor that the test plays, by the credentials that the runner has made. The session goes
// first.
class PlayedExecutor {
 public:
  PlayedExecutor(LoopDriver& driver, const core::LaunchContext& context) {
    const std::string address = Flag(context, "--master=");
    const auto credentials = rpc::ParseCredentials(context.secret, "the secret");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    session_ = std::make_unique<rpc::ExecutorSession>(
        address, credentials.value(),
        rpc::ExecutorSession::Callbacks{[this, &driver](v1::MasterMessage message) {
                                          messages_.Push(std::move(message));
                                          driver.Changed();
                                        },
                                        [](absl::Status) {}});
    v1::ExecutorMessage hello;
    hello.mutable_hello();
    session_->Send(std::move(hello));
  }

  static std::string Flag(const core::LaunchContext& context, const std::string& name) {
    for (const std::string& argument : context.arguments) {
      if (argument.rfind(name, 0) == 0) return argument.substr(name.size());
    }
    ADD_FAILURE() << "no " << name;
    return "";
  }

  void Register(int epoch, int port) {
    v1::ExecutorMessage message;
    message.mutable_registered()->set_epoch(epoch);
    message.mutable_registered()->set_attempt(epoch + 1);
    message.mutable_registered()->set_port(port);
    session_->Send(std::move(message));
  }
  void EndTask(int epoch, int code) {
    v1::ExecutorMessage message;
    message.mutable_task_ended()->set_epoch(epoch);
    message.mutable_task_ended()->set_attempt(epoch + 1);
    *message.mutable_task_ended()->mutable_exit() =
        rpc::ToProto(core::TaskExit{core::TaskExit::Cause::kExited, code, 0, "", {}});
    session_->Send(std::move(message));
  }

  rpc::Inbox<v1::MasterMessage> messages_;

 private:
  std::unique_ptr<rpc::ExecutorSession> session_;
};

// A journal that takes as long as the test likes.
class SlowLog : public DecisionLog {
 public:
  int incarnation() const override { return 1; }
  void Append(const core::Decisions&, OnKept on_kept) override {
    waiting.push_back(std::move(on_kept));
  }
  void AnswerNext(const absl::Status& status) {
    const OnKept on_kept = std::move(waiting.front());
    waiting.pop_front();
    on_kept(status);
  }
  std::deque<OnKept> waiting;
};

class JobRunnerTest : public ::testing::Test {
 protected:
  static core::JobDescription TwoWorkers() {
    core::JobDescription job;
    core::TaskType type;
    type.name = "worker";
    type.instances = 2;
    type.command = "train";
    type.resources.memory_mb = 512;
    job.types.push_back(type);
    job.container_env = {{"MINE", "a b"}, {"OTHER", ""}};
    job.infrastructure_retry_count = 0;
    job.timeouts.registry = std::chrono::seconds(77);
    job.containment = "process-tree";
    return job;
  }

  void Prepare(core::JobDescription job, DecisionLog* decisions = nullptr) {
    std::filesystem::create_directories(folder_.root());
    machine_ = std::make_unique<core::JobMachine>(std::move(job));
    assignments_ =
        std::make_unique<Assignments>("job-1", 1, machine_->job(), jobfile::LocalSettings{},
                                      TaskFolders{}, v1::StagedFiles{}, "key");
    history_ = std::make_unique<History>(History::Open(folder_.events(), clock_, log_).value());
    journal_ = std::make_unique<Journal>(
        Journal::Open(std::make_unique<storage::LocalJobFiles>(folder_.root()), clock_, "boot")
            .value());
    runner_ = std::make_unique<JobRunner>(
        *machine_, JobRunner::Parts{driver_.loop(),
                                    clock_,
                                    decisions != nullptr ? *decisions : *journal_,
                                    *history_,
                                    measurements_,
                                    metrics_,
                                    executors_,
                                    authority_,
                                    *assignments_,
                                    {"--address-file=/job/am.address"},
                                    [this] {
                                      ++finished_;
                                      driver_.Changed();
                                    },
                                    [this](const std::string& why) { deposed_ = why; },
                                    [this] { ++steps_; }});
    backend_ = std::make_unique<LaunchingBackend>(*runner_);
    runner_->set_backend(backend_.get());
    server_ =
        rpc::MasterServer::Start("127.0.0.1", rpc::Peers::kOwnUser,
                                 authority_.Issue(rpc::ApplicationMasterRole("job-1")).value(),
                                 job_service_, executors_)
            .value();
    runner_->set_master_address(server_->address());
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown(Duration::zero());
  }

  // Grants are taken up in the loop's next turn.
  bool Launched(size_t count) {
    driver_.Changed();
    return driver_.Await([&] { return backend_->launched.size() >= count; });
  }

  // The next message of the job's machine to an executor.
  v1::MasterMessage Next(PlayedExecutor& executor) {
    std::optional<v1::MasterMessage> message;
    EXPECT_TRUE(driver_.Await([&] {
      message = executor.messages_.TryNext();
      return message.has_value();
    }));
    return message.value_or(v1::MasterMessage{});
  }
  // The bodies of all recorded events of one kind.
  template <typename Kind>
  std::vector<Kind> Recorded() {
    std::lock_guard lock(log_.mutex());
    std::vector<Kind> found;
    for (int64_t sequence = 1; log_.NextLocked(sequence) != nullptr; ++sequence) {
      const core::JobEvent event = rpc::FromProto(*log_.NextLocked(sequence)).value();
      if (const Kind* body = std::get_if<Kind>(&event.body)) found.push_back(*body);
    }
    return found;
  }

  os::TemporaryFolder temporary_;
  const storage::JobFolder folder_{temporary_ / "jobs/job-1"};
  LoopDriver driver_;
  SystemClock clock_;
  rpc::EventLog log_;
  Measurements measurements_{driver_.loop(), clock_, log_, Duration::zero(),
                             [this](const std::string& lines) {
                               kept_usage_.push_back(lines);
                               driver_.Changed();
                               return absl::OkStatus();
                             }};
  Metrics metrics_{driver_.loop(), clock_, {.path = folder_.metrics()}, [] {}};
  std::vector<std::string> kept_usage_;
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create("job-1").value();
  rpc::TunnelRelay tunnels_{nullptr};
  rpc::JobService job_service_{"job-1", log_, tunnels_, {}};
  rpc::ExecutorService executors_{"job-1", tunnels_, {[this](core::JobInput input) {
                                    driver_.loop().Post([this, input = std::move(input)] {
                                      runner_->Apply(input);
                                      driver_.Changed();
                                    });
                                  }}};
  std::unique_ptr<core::JobMachine> machine_;
  std::unique_ptr<Assignments> assignments_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<History> history_;
  std::string deposed_;  ///< why, once it is
  std::unique_ptr<JobRunner> runner_;
  std::unique_ptr<LaunchingBackend> backend_;
  std::unique_ptr<rpc::MasterServer> server_;
  int finished_ = 0;
  int steps_ = 0;
};

TEST_F(JobRunnerTest, ReportsEachStepWhateverItsInput) {
  Prepare(TwoWorkers());
  runner_->Apply(core::input::Start{});
  EXPECT_EQ(steps_, 1);
  runner_->Apply(core::input::Tick{});
  EXPECT_EQ(steps_, 2);
}

TEST_F(JobRunnerTest, AsksForContainersAndLaunchesEachAsItComes) {
  Prepare(TwoWorkers());
  runner_->Apply(core::input::Start{});
  EXPECT_THAT(backend_->calls(), ElementsAre("request worker=2"));
  ASSERT_TRUE(backend_->Grant("worker"));
  ASSERT_TRUE(Launched(1));
  EXPECT_THAT(backend_->calls(), ElementsAre("request worker=2", "launch c1 worker-0"));

  const core::LaunchContext& launch = backend_->launched.at("c1");
  EXPECT_EQ(PlayedExecutor::Flag(launch, "--container-id="), "c1");
  EXPECT_EQ(PlayedExecutor::Flag(launch, "--master="), server_->address());
  EXPECT_EQ(PlayedExecutor::Flag(launch, "--registry-timeout-ms="), "77000");
  EXPECT_EQ(PlayedExecutor::Flag(launch, "--containment="), "process-tree");
  EXPECT_EQ(PlayedExecutor::Flag(launch, "--address-file="), "/job/am.address");
  EXPECT_EQ(PlayedExecutor::Flag(launch, "--memory-mb="), "512");
  EXPECT_THAT(launch.environment, ElementsAre("MINE=a b", "OTHER="));
  EXPECT_TRUE(rpc::ParseCredentials(launch.secret, "the secret").ok());
}

TEST_F(JobRunnerTest, RunsAGangFromItsGrantToItsVerdict) {
  Prepare(TwoWorkers());
  runner_->Apply(core::input::Start{});
  backend_->GrantAll();
  ASSERT_TRUE(Launched(2));
  PlayedExecutor one(driver_, backend_->launched.at("c1"));
  PlayedExecutor two(driver_, backend_->launched.at("c2"));
  for (PlayedExecutor* executor : {&one, &two}) {
    EXPECT_EQ(Next(*executor).assignment().command(), "train");
    EXPECT_TRUE(Next(*executor).has_prepare());
    executor->Register(machine_->epoch(), executor == &one ? 4711 : 4712);
  }
  const v1::MasterMessage start = Next(one);
  EXPECT_EQ(start.start().epoch(), machine_->epoch());
  EXPECT_EQ(Next(two).start().cluster_spec(), start.start().cluster_spec());
  v1::ClusterSpec spec;
  ASSERT_TRUE(spec.ParseFromString(start.start().cluster_spec()));
  ASSERT_EQ(spec.endpoints_size(), 2);
  EXPECT_EQ(spec.endpoints(0).port(), 4711);
  EXPECT_EQ(spec.endpoints(1).port(), 4712);
  EXPECT_EQ(machine_->state(), core::JobState::kRunning);

  one.EndTask(machine_->epoch(), 0);
  two.EndTask(machine_->epoch(), 0);
  EXPECT_TRUE(Next(one).has_shutdown());
  EXPECT_TRUE(Next(two).has_shutdown());
  EXPECT_EQ(finished_, 0);
  EXPECT_TRUE(backend_->End("c1", {false, "it exited with code 0"}));
  EXPECT_TRUE(backend_->End("c2", {false, "it exited with code 0"}));
  EXPECT_EQ(finished_, 1);
  ASSERT_EQ(Recorded<core::JobEnded>().size(), 1u);
  EXPECT_EQ(Recorded<core::JobEnded>()[0].verdict.outcome, core::Outcome::kSucceeded);
}

TEST_F(JobRunnerTest, AFailureIsTheVerdictAndItsReasonIsToldInUtf8) {
  Prepare(TwoWorkers());
  runner_->Apply(core::input::Start{});
  backend_->GrantAll();
  ASSERT_TRUE(Launched(2));
  PlayedExecutor one(driver_, backend_->launched.at("c1"));
  EXPECT_TRUE(Next(one).has_assignment());
  EXPECT_TRUE(Next(one).has_prepare());
  runner_->Apply(core::input::StopRequested{core::Reason::kKilledByUser, "caf\xE9"});
  EXPECT_EQ(Next(one).shutdown().reason(), "caf\xEF\xBF\xBD");
  // The second never attached: it is ended by force.
  EXPECT_TRUE(backend_->killed("c2"));
  EXPECT_FALSE(backend_->killed("c1"));
}

TEST_F(JobRunnerTest, KeepsTheMachinesDeadlines) {
  core::JobDescription job = TwoWorkers();
  job.timeouts.application = std::chrono::milliseconds(50);
  Prepare(std::move(job));
  runner_->Apply(core::input::Start{});
  ASSERT_TRUE(driver_.Await([this] { return finished_ > 0; }));
  EXPECT_EQ(finished_, 1);
  ASSERT_EQ(Recorded<core::JobEnded>().size(), 1u);
  EXPECT_EQ(Recorded<core::JobEnded>()[0].verdict.reason, core::Reason::kApplicationTimeout);
  EXPECT_THAT(backend_->calls(), ElementsAre("request worker=2", "cancel"));
}

TEST_F(JobRunnerTest, PassesOnWhatTheBackendSays) {
  Prepare(TwoWorkers());
  runner_->Apply(core::input::Start{});
  backend_->Wait("2 containers for worker", "another job's end");
  ASSERT_EQ(Recorded<core::JobWaiting>().size(), 1u);
  EXPECT_EQ(Recorded<core::JobWaiting>()[0].what, "2 containers for worker");
  EXPECT_EQ(Recorded<core::JobWaiting>()[0].unblock, "another job's end");
  backend_->Refuse(true, "no machine is that large");
  EXPECT_EQ(finished_, 1);
  const core::Verdict verdict = Recorded<core::JobEnded>().at(0).verdict;
  EXPECT_EQ(verdict.reason, core::Reason::kNeverFits);
  EXPECT_EQ(verdict.sentence, "no machine is that large");
}

TEST_F(JobRunnerTest, AContainerThatEndsByItselfFailsItsTask) {
  Prepare(TwoWorkers());
  runner_->Apply(core::input::Start{});
  backend_->GrantAll();
  EXPECT_TRUE(backend_->End("c2", {false, "tony-executor exited with code 1"}));
  EXPECT_TRUE(backend_->killed("c1"));
  EXPECT_TRUE(backend_->End("c1", {true, "killed"}));
  EXPECT_EQ(finished_, 1);
  const core::Verdict verdict = Recorded<core::JobEnded>().at(0).verdict;
  EXPECT_EQ(verdict.reason, core::Reason::kTaskLost);
  EXPECT_THAT(verdict.sentence, HasSubstr("tony-executor exited with code 1"));
}

TEST_F(JobRunnerTest, NothingIsDoneThatIsNotKept) {
  SlowLog log;
  Prepare(TwoWorkers(), &log);
  runner_->Apply(core::input::Start{});
  ASSERT_TRUE(backend_->Grant("worker"));
  driver_.Changed();
  ASSERT_TRUE(driver_.Await([&] { return log.waiting.size() == 1; }));
  // The next input has nothing to keep, but its effects come after those of inputs that have.
  runner_->Apply(core::input::AllocationWaiting{"room", "the end of another job"});
  EXPECT_THAT(backend_->calls(), ElementsAre("request worker=2"));
  EXPECT_THAT(Recorded<core::JobWaiting>(), ::testing::IsEmpty());
  log.AnswerNext(absl::OkStatus());
  EXPECT_THAT(backend_->calls(), ElementsAre("request worker=2", "launch c1 worker-0"));
  EXPECT_EQ(Recorded<core::JobWaiting>().size(), 1u);
}

TEST_F(JobRunnerTest, OneThatWasReplacedDoesNothingMore) {
  SlowLog log;
  Prepare(TwoWorkers(), &log);
  runner_->Apply(core::input::Start{});
  ASSERT_TRUE(backend_->Grant("worker"));
  driver_.Changed();
  ASSERT_TRUE(driver_.Await([&] { return log.waiting.size() == 1; }));
  log.AnswerNext(absl::AbortedError("another one runs"));
  EXPECT_EQ(deposed_, "another one runs");
  runner_->Apply(core::input::StopRequested{});
  EXPECT_THAT(backend_->calls(), ElementsAre("request worker=2"));
}

TEST_F(JobRunnerTest, AJournalThatCannotBeWrittenIsSaidOnce) {
  SlowLog log;
  Prepare(TwoWorkers(), &log);
  runner_->Apply(core::input::Start{});
  for (size_t granted = 1; granted <= 2; ++granted) {
    ASSERT_TRUE(backend_->Grant("worker"));
    driver_.Changed();
    ASSERT_TRUE(driver_.Await([&] { return log.waiting.size() == 1; }));
    log.AnswerNext(absl::ResourceExhaustedError("full"));
    EXPECT_EQ(backend_->launched.size(), granted);
  }
  EXPECT_EQ(Recorded<core::JobNote>().size(), 1u);
}

}  // namespace
}  // namespace tony::appmaster
