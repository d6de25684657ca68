// Every change of the store schedules one delayed look at the progress. So a burst of thousands of
// requests costs one look, and an idle rendezvous costs none.
#include "driver/driver.h"

#include <fcntl.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/record/duration_text.h"
#include "core/rendezvous/plan_text.h"
#include "core/rendezvous/rendezvous_progress.h"
#include "os/files/files.h"
#include "os/network/peer_user.h"

namespace tony::driver {
namespace {

/// Interval between two looks at who is missing, while somebody waits.
constexpr std::chrono::milliseconds kCheckInterval{500};
/// A shorter wait is not reported.
constexpr std::chrono::seconds kPatience{5};
/// Least interval between two reports; each goes into the job's history.
constexpr std::chrono::seconds kReportInterval{10};

/// The driver's container is small, and so are the values that the ranks of a job send.
constexpr rendezvous::RendezvousServer::Limits kLimits = {.body_bytes = size_t{32} << 20,
                                                          .receiving_bytes = size_t{64} << 20};

int MostProcesses(const Options& options) {
  return options.elastic ? options.elastic->size.most : Processes(options.workers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> Driver::Start(EventLoop& loop, const Clock& clock,
                                                      const Options& options, OnFailed on_failed) {
  std::unique_ptr<Driver> driver(new Driver(loop, clock, options, std::move(on_failed)));
  TONY_RETURN_IF_ERROR(driver->Begin());
  driver->Beat();
  return driver;
}

Driver::Driver(EventLoop& loop, const Clock& clock, const Options& options, OnFailed on_failed)
    : loop_(loop),
      clock_(clock),
      options_(options),
      on_failed_(std::move(on_failed)),
      tasks_(options.tasks),
      store_(loop, core::StoreLimits::For(MostProcesses(options)),
             [this](const std::string& scope, const std::string& key) {
               if (elastic_ != nullptr) elastic_->OnAsked(scope, key);
             }) {}

// The plan is written last, because it tells the executor that the servers listen.
absl::Status Driver::Begin() {
  watch_ = store_.Watch([this](const core::StoreOperation& operation) {
    if (elastic_ != nullptr) elastic_->OnChange(operation);
    OnChange();
  });
  TONY_ASSIGN_OR_RETURN(server_, rendezvous::RendezvousServer::Start(
                                     loop_, store_, 0, os::LoopbackPeerCheck(), kLimits));
  TONY_ASSIGN_OR_RETURN(replica_acceptor_,
                        ReplicaAcceptor::Open(loop_, store_, options_.replica_port));
  if (options_.elastic) return BeginElastic();
  core::RendezvousPlan plan;
  TONY_ASSIGN_OR_RETURN(plan.slots, core::PlanSlots(options_.workers, Processes(options_.workers)));
  store_.Begin(plan.slots);
  return WritePlan(plan);
}

// An elastic job has no plan yet: each round brings one, and the tasks by rank change with it.
absl::Status Driver::BeginElastic() {
  ElasticSession::Callbacks callbacks;
  callbacks.on_round = [this](const core::RendezvousPlan& plan) {
    waiting_since_.reset();
    tasks_.clear();
    for (const std::string& member : plan.members) tasks_.push_back(core::TaskOfMember(member));
    const absl::Status written = WritePlan(plan);
    if (!written.ok()) Fail({std::string(written.message()), {}});
  };
  callbacks.on_failed = [this](const core::RendezvousWait& why) { Fail(why); };
  callbacks.on_change = [this] { OnChange(); };
  TONY_ASSIGN_OR_RETURN(
      elastic_, ElasticSession::Begin(loop_, clock_, options_, store_, std::move(callbacks)));
  return absl::OkStatus();
}

absl::Status Driver::WritePlan(const core::RendezvousPlan& plan) {
  const std::string file =
      absl::StrCat(options_.output_folder, "/", core::PlanFileName(server_->port()));
  LogInfo(absl::StrCat(plan.members.empty() ? "" : absl::StrCat("round ", plan.round, ": "),
                       plan.slots.size(), " ranks; the rendezvous server's port is ",
                       server_->port()));
  return os::WriteFileAtomically(file, core::FormatPlan(plan));
}

void Driver::Fail(const core::RendezvousWait& why) {
  LogError("the rendezvous failed", {{"missing", absl::StrJoin(why.missing, ",")}});
  ReportWait(why);
  failed_ = true;
  on_failed_(why.sentence);
}

void Driver::OnChange() {
  if (check_ == nullptr && !failed_) check_ = loop_.After(kCheckInterval, [this] { CheckWaits(); });
}

// While somebody waits, the look schedules itself again; otherwise the next change of the store
// does. The deadline counts from the first look at which somebody waits, and starts anew when
// nobody does or a new round begins.
void Driver::CheckWaits() {
  check_.reset();
  if (elastic_ != nullptr) elastic_->OnTick();
  if (failed_) return;
  const std::vector<core::ScopeProgress> progress = core::ProgressOf(store_.content());
  const bool rendezvous = core::SomebodyWaits(progress);
  core::RendezvousWait wait = rendezvous            ? core::DescribeMissing(progress, tasks_)
                              : elastic_ != nullptr ? elastic_->DescribeWait()
                                                    : core::RendezvousWait{};
  if (wait.sentence.empty()) {
    waiting_since_.reset();
    reported_at_.reset();
    return ReportWait({});
  }
  if (!waiting_since_) LogDebug("processes wait", {{"why", wait.sentence}});
  if (!waiting_since_) waiting_since_ = clock_.Now();
  const Duration waited = clock_.Now() - *waiting_since_;
  if (rendezvous && waited >= options_.rendezvous) {
    wait.sentence = absl::StrCat("The processes did not find each other within ",
                                 core::FormatDuration(options_.rendezvous.count()),
                                 " (tony.horovod.rendezvous-timeout-ms): ", wait.sentence);
    return Fail(wait);
  }
  if (waited >= kPatience && (!reported_at_ || clock_.Now() - *reported_at_ >= kReportInterval)) {
    ReportWait(wait);
    reported_at_ = clock_.Now();
  }
  OnChange();
}

// The same report is written only once; an empty one tells the executor that nobody waits any more.
void Driver::ReportWait(const core::RendezvousWait& wait) {
  if (std::exchange(reported_wait_, wait) == wait) return;
  if (!wait.sentence.empty()) LogInfo(wait.sentence);
  const absl::Status written = os::WriteFileAtomically(
      absl::StrCat(options_.output_folder, "/", core::kWaitFileName), core::FormatWait(wait));
  if (!written.ok()) LogWarning(std::string(written.message()));
}

void Driver::Beat() {
  // The executor watches the folder and sees the closing of the file. The file is truncated and
  // nothing is written, so the beat succeeds on a full disk.
  (void)os::OpenOrMakeFile(absl::StrCat(options_.output_folder, "/", core::kBeatFileName),
                           O_WRONLY | O_TRUNC);
  beat_ = loop_.After(core::kBeatInterval, [this] { Beat(); });
}

}  // namespace tony::driver
