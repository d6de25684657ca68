// Builds the command of the driver, and finds the place of each process in the plan. Every executor
// computes its place from the same plan and the same cluster spec, so nothing has to be agreed on.
#include "executor/horovod/horovod_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "core/record/duration_text.h"
#include "core/rendezvous/plan_text.h"
#include "core/rendezvous/worker_hosts.h"
#include "os/files/files.h"
#include "os/processes/installation.h"
#include "os/processes/own_program.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"

namespace tony::executor {
namespace {

constexpr char kLoopbackAddress[] = "127.0.0.1";
constexpr char kLoopbackInterface[] = "lo";

constexpr DriverWatch::Pace kPace;

std::string ShellWord(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

/// Returns a shell command that replaces the shell by tony-driver.
absl::StatusOr<std::string> DriverCommand(const std::vector<std::string>& flags) {
  TONY_ASSIGN_OR_RETURN(const std::string program, os::FindDaemon("tony-driver"));
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> command, os::OwnProgramCommand(program));
  command.insert(command.end(), flags.begin(), flags.end());
  return absl::StrCat("exec ", absl::StrJoin(command, " ", [](std::string* out, const auto& word) {
                        absl::StrAppend(out, ShellWord(word));
                      }));
}

/// The host of one of Horovod's processes on another machine; empty if there is none.
std::string OtherMachine(const core::ClusterSpec& spec, const core::Endpoint& self) {
  for (const core::Endpoint& endpoint : spec.endpoints) {
    if (core::IsRanked(endpoint.task.type) && endpoint.host_id != self.host_id) {
      return endpoint.host;
    }
  }
  return "";
}

}  // namespace

// A process needs to know the network interface for Gloo. It is looked up only if the user has not
// named any and some process runs on another machine; on one machine the loopback interface does.
void HorovodTask::Prepare(const v1::Assignment& assignment, const v1::Start& start,
                          const core::ClusterSpec& spec, int attempt,
                          const std::string& working_folder, int task_port, OnReady on_ready) {
  Stop();
  epoch_ = start.epoch();
  attempt_ = attempt;
  own_driver_ = assignment.horovod().own_driver();
  const core::TaskId task = rpc::FromProto(assignment.task());
  if (task.type == core::kDriverType) {
    return on_ready(PrepareDriver(assignment, spec, working_folder, task_port));
  }
  HorovodStart result{.command = assignment.command()};
  const core::Endpoint* self = spec.Find(task);
  if (!core::IsRanked(task.type) || self == nullptr) return on_ready(result);
  const auto place = SlotOf(task, spec, rpc::FromProto(start.plan()));
  if (!place.ok()) return on_ready(place.status());
  result.place = *place;
  result.place->interfaces = assignment.horovod().network_interfaces();
  const std::string other = OtherMachine(spec, *self);
  if (result.place->interfaces.empty() && !other.empty()) {
    return FindInterface(other, std::move(result), std::move(on_ready));
  }
  if (result.place->interfaces.empty()) result.place->interfaces = kLoopbackInterface;
  on_ready(result);
}

// The folder is watched before the driver starts, so no file can be missed.
absl::StatusOr<HorovodStart> HorovodTask::PrepareDriver(const v1::Assignment& assignment,
                                                        const core::ClusterSpec& spec,
                                                        const std::string& working_folder,
                                                        int task_port) {
  HorovodStart start;
  start.driver_output_folder = absl::StrCat(working_folder, "/.tony/driver");
  TONY_ASSIGN_OR_RETURN(
      files_, DriverFiles::Watch(loop_, start.driver_output_folder,
                                 {[this](const auto& plan) { OnPlan(plan); },
                                  [this](const core::RendezvousWait& wait) { OnWait(wait); },
                                  [this] {
                                    if (watch_ != nullptr) watch_->OnBeat();
                                  }}));
  driver_folder_ = start.driver_output_folder;
  start.command = assignment.command();
  if (own_driver_) return start;
  watch_ = std::make_unique<DriverWatch>(loop_, kPace, callbacks_.is_suspended, [this] {
    callbacks_.on_hung(absl::StrCat(
        "tony-driver has not answered for ",
        core::FormatDuration(kPace.interval * kPace.looks / std::chrono::milliseconds(1)),
        ", and was ended; the job's program has no part in that"));
  });
  TONY_ASSIGN_OR_RETURN(start.command, OwnDriverCommand(assignment.horovod(), spec,
                                                        start.driver_output_folder, task_port));
  return start;
}

// The driver listens for replicas on the task's reserved port, which is the only port of it that
// other executors may reach.
absl::StatusOr<std::string> HorovodTask::OwnDriverCommand(const v1::HorovodSettings& settings,
                                                          const core::ClusterSpec& spec,
                                                          const std::string& output_folder,
                                                          int task_port) {
  std::vector<std::string> flags = {
      absl::StrCat("--output=", output_folder), absl::StrCat("--replica-port=", task_port),
      absl::StrCat("--rendezvous-timeout-ms=", settings.rendezvous_timeout_ms())};
  // This executor's own level is the job's.
  if (CurrentLogLevel() != LogLevel::kInfo) {
    flags.push_back(absl::StrCat("--log-level=", LogLevelName(CurrentLogLevel())));
  }
  if (settings.has_elastic()) {
    const v1::HorovodSettings::Elastic& elastic = settings.elastic();
    const core::Endpoint* self = spec.Find({core::kDriverType, 0});
    flags.push_back(absl::StrCat("--elastic=", elastic.least(), ":", elastic.most(), ":",
                                 elastic.resets(), ":", elastic.patience_ms()));
    if (self != nullptr) flags.push_back(absl::StrCat("--host=", core::HostNameOf(*self)));
  } else {
    const std::vector<core::WorkerHost> hosts = core::WorkerHostsOf(spec);
    flags.push_back(absl::StrCat("--workers=", core::FormatWorkerList(hosts)));
    flags.push_back(absl::StrCat("--tasks=", absl::StrJoin(core::TasksByRank(hosts), ",")));
  }
  return DriverCommand(flags);
}

// The epoch and the attempt are compared because a list for an earlier driver may still be on its
// way.
void HorovodTask::TakeMembers(const v1::RendezvousMembers& members) {
  if (driver_folder_.empty() || members.epoch() != epoch_ || members.attempt() != attempt_) {
    return LogDebug("a list of members for another driver is ignored",
                    {{"epoch", members.epoch()}, {"attempt", members.attempt()}});
  }
  core::MemberList list;
  for (const auto& member : members.members())
    list.members.push_back({member.name(), member.host()});
  list.finished = members.finished();
  const absl::Status written = os::WriteFileAtomically(
      absl::StrCat(driver_folder_, "/", core::kMembersFileName), core::FormatMembers(list));
  if (!written.ok()) LogError(std::string(written.message()));
}

// A plan whose server is on the loopback (tony's own driver) reaches a process on another machine
// only through a replica; a user's own driver is reached by its host.
absl::StatusOr<core::HorovodSlot> HorovodTask::SlotOf(const core::TaskId& task,
                                                      const core::ClusterSpec& spec,
                                                      const core::RendezvousPlan& plan) {
  core::HorovodSlot place;
  place.elastic = !plan.members.empty();
  place.round = plan.round;
  if (place.elastic) {
    TONY_ASSIGN_OR_RETURN(place.slot, core::SlotOf(plan, core::MemberName(task, attempt_)));
  } else {
    TONY_ASSIGN_OR_RETURN(place.slot, core::SlotOf(plan, core::WorkerHostsOf(spec), task));
  }
  const core::Endpoint* driver = spec.Find({core::kDriverType, 0});
  if (driver == nullptr) return absl::InternalError("the cluster spec has no driver");
  place.port = plan.port;
  if (!plan.loopback) {
    place.address = driver->host;
    return place;
  }
  place.address = kLoopbackAddress;
  if (driver->host_id == spec.Find(task)->host_id) return place;
  const auto dial = [this](auto callbacks) {
    return callbacks_.dialer()->Reach(std::move(callbacks));
  };
  TONY_ASSIGN_OR_RETURN(replica_, RendezvousReplica::Start(loop_, dial));
  place.port = replica_->port();
  return place;
}

// A failed look-up does not fail the task: Horovod then chooses the interface by itself.
void HorovodTask::FindInterface(const std::string& host, HorovodStart start, OnReady on_ready) {
  LogInfo(absl::StrCat("asking by which network interface ", host, " is reached"));
  finder_ = std::make_unique<InterfaceFinder>(
      loop_, host,
      [start = std::move(start), on_ready = std::move(on_ready)](const auto& name) mutable {
        if (name.ok()) {
          start.place->interfaces = *name;
        } else {
          LogWarning(absl::StrCat("Horovod is left to choose the network interface: ",
                                  std::string(name.status().message())));
        }
        on_ready(start);
      });
}

// The last plan and the last wait are kept, so that OnReattached() can repeat them to an
// ApplicationMaster that may not have heard them.
void HorovodTask::OnPlan(const absl::StatusOr<core::RendezvousPlan>& plan) {
  v1::RanksPlanned& planned = *sent_plan_.emplace().mutable_ranks_planned();
  planned.set_epoch(epoch_);
  planned.set_attempt(attempt_);
  LogInfo(plan.ok() ? "the driver has planned the ranks" : "the driver's plan is of no use",
          {{"epoch", epoch_}, {"attempt", attempt_}, {"why", plan.status().message()}});
  if (plan.ok()) {
    *planned.mutable_plan() = rpc::ToProto(*plan);
    planned.mutable_plan()->set_loopback(!own_driver_);
  } else {
    planned.set_trouble(rpc::ToUtf8(std::string(plan.status().message())));
  }
  callbacks_.send(*sent_plan_);
}

void HorovodTask::OnWait(const core::RendezvousWait& wait) {
  v1::RendezvousWait& message = *sent_wait_.emplace().mutable_rendezvous_wait();
  message.set_epoch(epoch_);
  message.set_attempt(attempt_);
  LogDebug("the driver waits", {{"epoch", epoch_}, {"for", wait.sentence}});
  message.set_sentence(rpc::ToUtf8(wait.sentence));
  for (const std::string& task : wait.missing) message.add_missing(rpc::ToUtf8(task));
  callbacks_.send(*sent_wait_);
}

// A driver may write its last report and end at once, before the watcher's event was handled; so
// the files are read before they are given up.
void HorovodTask::OnEnded() {
  if (files_ != nullptr) files_->ReadNow();
  Stop();
}

void HorovodTask::Stop() {
  finder_.reset();
  watch_.reset();
  files_.reset();
  replica_.reset();
  sent_plan_.reset();
  sent_wait_.reset();
  driver_folder_.clear();
}

void HorovodTask::OnReattached() {
  if (replica_ != nullptr) replica_->DialAgain();
  if (sent_plan_) callbacks_.send(*sent_plan_);
  if (sent_wait_) callbacks_.send(*sent_wait_);
}

}  // namespace tony::executor
