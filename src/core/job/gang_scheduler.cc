// Requests and releases are looked at for all gangs at once, since one input may complete several.
#include "core/job/gang_scheduler.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job/executors.h"
#include "core/job/job_ending.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"
#include "core/job/ranks.h"

namespace tony::core {
namespace {

/// At most this many tasks are named in a recorded wait. While more are missing, the wait is not
/// recorded anew each time one of them ends.
constexpr int kNamed = 16;

/// "a, b": the types' names for people.
template <typename Names>
std::string Listed(const Names& names) {
  return absl::StrJoin(names, ", ", [](std::string* text, const std::string& name) {
    absl::StrAppend(text, TypeName(name));
  });
}

/// "a, b start", "a starts"
std::string Sentence(const std::vector<std::string>& names, const std::string& of_one,
                     const std::string& of_many) {
  return absl::StrCat(Listed(names), " ", names.size() == 1 ? of_one : of_many);
}

/// Adds one more container to the request. Tasks come in the order of their types, so only the last
/// request can be of this type.
void AddTo(effect::RequestContainers& request, const TaskType& type) {
  if (request.requests.empty() || request.requests.back().type != type.name) {
    request.requests.push_back(ContainerRequest{type.name, 0, type.resources});
  }
  ++request.requests.back().count;
}

}  // namespace

GangScheduler::GangScheduler(JobRun& run, const JobParts& parts)
    : run_(run), parts_(parts), stages_(run.job.types), admitted_(stages_.stages().size()) {}

JobProgress GangScheduler::Progress() const {
  JobProgress progress;
  for (const TaskType& type : run_.job.types) {
    const TypeCounts& counts = run_.tasks.of(type.name);
    progress[type.name] = {.started = counts.listed,
                           .succeeded = counts.succeeded,
                           .waited_for = counts.tracking == Tracking::kTracked};
  }
  return progress;
}

void GangScheduler::OnProgress() {
  run_.progressed = true;
  AdmitStages();
  SettleTypes();
}

void GangScheduler::AdmitStages() {
  // Most jobs have one stage, which is admitted at once; this exit keeps each further success
  // cheap.
  if (std::find(admitted_.begin(), admitted_.end(), false) == admitted_.end()) return;
  const JobProgress progress = Progress();
  for (size_t i = 0; i < admitted_.size(); ++i) {
    const Stage& stage = stages_.stages()[i];
    if (admitted_[i] || !stages_.WaitsFor(stage, progress).empty()) continue;
    admitted_[i] = true;
    std::vector<Task*> members;
    for (Task& task : run_.tasks.all()) {
      if (stages_.StageOf(task.id.type) == i && !parts_.ranks.JoinsLater(task))
        members.push_back(&task);
    }
    FormGang(members, Duration(0));
    if (stage.depends_on.empty()) continue;
    parts_.record.RecordContinues(absl::StrCat(Sentence(stage.types, "comes", "come"),
                                               " next, after ", Listed(stage.depends_on)));
  }
}

void GangScheduler::SettleTypes() {
  // A type is settled when its whole stage has succeeded, or when an admitted stage builds on it;
  // otherwise a new epoch runs it again, since types of one stage may need each other.
  std::set<std::string> settled;
  for (size_t i = 0; i < admitted_.size(); ++i) {
    const Stage& stage = stages_.stages()[i];
    const bool whole =
        std::all_of(stage.types.begin(), stage.types.end(), [this](const std::string& type) {
          return run_.tasks.of(type).tracking != Tracking::kTracked ||
                 run_.tasks.of(type).complete();
        });
    if (whole) settled.insert(stage.types.begin(), stage.types.end());
    if (admitted_[i]) settled.insert(stage.depends_on.begin(), stage.depends_on.end());
  }
  // Horovod's ranked tasks restart together or not at all, so a finished one stays until all are.
  const bool ranked_run = parts_.ranks.RankedRun();
  std::erase_if(settled, [&](const std::string& type) {
    return settled_.count(type) > 0 || !run_.tasks.of(type).complete() ||
           (ranked_run && IsRanked(type));
  });
  if (settled.empty()) return;
  settled_.insert(settled.begin(), settled.end());
  run_.missing = true;
  for (Task& task : run_.tasks.all()) {
    if (settled.count(task.id.type) > 0 && task.attached())
      parts_.executors.Dismiss(task, kStageOver);
  }
  parts_.ranks.OnSettled();
}

void GangScheduler::FormGang(const std::vector<Task*>& members, Duration delay) {
  if (!IsFirstComeServed()) return AddGang(members, delay);
  for (Task* task : members) AddGang({task}, delay);
}

void GangScheduler::AddGang(const std::vector<Task*>& members, Duration delay) {
  if (members.empty()) return;
  ++last_gang_;
  for (Task* task : members) run_.tasks.SetGang(*task, last_gang_);
  Gang& gang = run_.tasks.gangs().at(last_gang_);
  gang.since = run_.now;
  gang.not_before = run_.now + delay;
  run_.missing = true;
}

bool GangScheduler::AwaitsRoom(const Task& task) const {
  // Only tracked types count: an untracked dependency, a server say, keeps its containers.
  const Stage& stage = stages_.stages()[stages_.StageOf(task.id.type)];
  return std::any_of(stage.depends_on.begin(), stage.depends_on.end(), [this](const auto& type) {
    const TypeCounts& counts = run_.tasks.of(type);
    return counts.tracking == Tracking::kTracked && counts.bound > 0;
  });
}

void GangScheduler::RequestMissing() {
  if (!std::exchange(run_.missing, false) || run_.verdict) return;
  effect::RequestContainers request;
  for (Task& task : run_.tasks.all()) {
    const bool needed =
        task.gang != 0 && task.state == TaskState::kNew && task.binding == Binding::kFree;
    // AwaitsRoom() delays the request, so a stage never needs more room than it has itself and
    // takes the place of its predecessors.
    if (!needed || run_.now < run_.tasks.gangs().at(task.gang).ask_after || AwaitsRoom(task))
      continue;
    AddTo(request, *task.type);
    parts_.executors.Request(task);
  }
  if (request.requests.empty()) return;
  run_.Do(std::move(request));
  if (!settled_.empty()) run_.Do(effect::GiveBackSpare{});
}

void GangScheduler::NotePartlyHeld() {
  for (auto& [number, gang] : run_.tasks.gangs()) {
    if (gang.bound == gang.size) gang.incomplete_since.reset();
    if (gang.bound == 0 || gang.bound == gang.size) {
      gang.partly_held_since.reset();
      continue;
    }
    // Both times start when the gang holds some containers but not all. Only incomplete_since
    // survives a moment without any, so a gang that yields and asks again still ends by the
    // allocation timeout.
    if (!gang.incomplete_since) gang.incomplete_since = run_.now;
    if (!gang.partly_held_since) gang.partly_held_since = run_.now;
  }
}

bool GangScheduler::HeldBack(int number, Gang& gang) {
  if (run_.now >= gang.not_before) return false;
  if (std::exchange(gang.delay_recorded, true)) return true;
  if (IsFirstComeServed()) {
    // One record stands for the gangs of all tasks.
    for (auto& [other, single] : run_.tasks.gangs()) single.delay_recorded = true;
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(gang.not_before - run_.now);
  const auto member = std::find_if(run_.tasks.all().begin(), run_.tasks.all().end(),
                                   [number](const Task& task) { return task.gang == number; });
  if (parts_.ranks.GoesOnWithout(*member)) {
    parts_.ranks.NoteLoss(absl::StrCat(member->id.ToString(), " is ready, and joins the others in ",
                                       left.count(), " s (tony.horovod.host-cooldown-ms)"));
    return true;
  }
  run_.Do(effect::Record{
      JobWaiting{absl::StrCat(IsFirstComeServed() ? member->id.ToString() : "all",
                              " is ready for the next start, which comes ", left.count(),
                              " s later, since several in a row have failed"),
                 {},
                 "it comes by itself (tony.am.retry-backoff-ms)"}});
  return true;
}

void GangScheduler::ReleaseGangs() {
  if (run_.verdict) return;
  std::vector<int> complete;
  for (auto& [number, gang] : run_.tasks.gangs()) {
    if (gang.ready == gang.size && !HeldBack(number, gang)) complete.push_back(number);
  }
  for (const int number : complete) {
    if (!run_.verdict) Release(number);
  }
}

void GangScheduler::Release(int number) {
  // The check precedes the journal entry, so a clash leaves no released gang behind.
  if (std::optional<Verdict> clash = parts_.ranks.NameClash(number))
    return parts_.ending.Decide(std::move(*clash));
  auto spec = std::make_shared<ClusterSpec>();
  std::vector<std::string> container_ids;
  for (const Task& task : run_.tasks.all()) {
    if (task.gang != number) continue;
    spec->endpoints.push_back(EndpointOf(task));
    if (!parts_.ranks.AwaitsPlan(task)) container_ids.push_back(task.container->id);
  }
  const decision::GangReleased released{run_.epoch, std::move(spec)};
  run_.Note(released);
  Open(released);
  if (!container_ids.empty()) parts_.executors.SendStart(std::move(container_ids));
  OnProgress();
}

void GangScheduler::Open(const decision::GangReleased& released) {
  bool first = false;
  std::vector<std::string> types;
  for (const Endpoint& endpoint : released.spec->endpoints) {
    Task* task = run_.tasks.Find(endpoint.task);
    if (task == nullptr) continue;
    if (types.empty() || types.back() != task->id.type) types.push_back(task->id.type);
    first = first || !task->listed;
    run_.tasks.SetGang(*task, 0);
    run_.tasks.SetListed(*task, true);
    run_.members_changed = true;
  }
  // A task that starts without the others learns no address, not even of those that run already,
  // since which ones these are is a matter of luck. So no spec of all tasks is built for each of
  // them, which would be quadratic.
  if (IsFirstComeServed()) {
    run_.spec = released.spec;
  } else if (first) {
    // A restart at the old ports leaves the spec as it is; only a task that was not listed yet
    // changes it.
    run_.spec = SpecWith(released.spec);
  }
  run_.running_since = run_.now;
  // A gang of a later stage, or of a restarted task, starts within the running job.
  if (run_.state != JobState::kRunning) return parts_.record.Move(JobTrigger::kGangRegistered);
  // Single tasks would fill the record with a line for each start, which their states show anyway.
  if (IsFirstComeServed()) return;
  parts_.record.RecordContinues(
      Sentence(types, first ? "starts" : "starts again", first ? "start" : "start again"));
}

std::shared_ptr<const ClusterSpec> GangScheduler::SpecWith(
    const std::shared_ptr<const ClusterSpec>& added) const {
  if (run_.spec == nullptr) return added;
  std::map<TaskId, const Endpoint*> known;
  // The plan of ranks refers to every ranked task, so finished ones stay in the spec.
  const bool ranked_run = parts_.ranks.RankedRun();
  for (const Endpoint& endpoint : run_.spec->endpoints) {
    const TypeCounts& type = run_.tasks.of(endpoint.task.type);
    const bool over = type.succeeded == type.size;
    if (!over || (ranked_run && IsRanked(endpoint.task.type))) known[endpoint.task] = &endpoint;
  }
  for (const Endpoint& endpoint : added->endpoints) known[endpoint.task] = &endpoint;
  auto spec = std::make_shared<ClusterSpec>();
  for (const Task& task : run_.tasks.all()) {
    const auto found = known.find(task.id);
    if (found != known.end()) spec->endpoints.push_back(*found->second);
  }
  return spec;
}

void GangScheduler::StartAgain(const Task& task) {
  if (IsFirstComeServed()) {
    auto spec = std::make_shared<ClusterSpec>();
    spec->endpoints.push_back(EndpointOf(task));
    run_.spec = std::move(spec);
  }
  parts_.executors.SendStart({task.container->id});
}

Endpoint GangScheduler::EndpointOf(const Task& task) {
  Endpoint endpoint;
  endpoint.task = task.id;
  endpoint.host = task.container->host;
  endpoint.port = task.port;
  endpoint.host_id = task.container->host_id;
  endpoint.devices = absl::StrJoin(task.container->gpus, ",");
  endpoint.sidecar = task.tracking() == Tracking::kSidecar;
  return endpoint;
}

void GangScheduler::RecordStageWait() {
  if (!std::exchange(run_.progressed, false) || run_.state != JobState::kRunning ||
      run_.tasks.count(Binding::kReclaimed) > 0) {
    return;
  }
  // One wait is enough for the record: the first stage that is not admitted stands for all later
  // ones.
  const auto next = std::find(admitted_.begin(), admitted_.end(), false);
  if (next == admitted_.end()) return;
  const Stage& stage = stages_.stages()[static_cast<size_t>(next - admitted_.begin())];
  std::set<std::string> types;
  int left = 0;
  bool tracked = false;
  for (const std::string& type : stages_.WaitsFor(stage, Progress())) {
    const TypeCounts& counts = run_.tasks.of(type);
    types.insert(type);
    tracked = tracked || counts.tracking == Tracking::kTracked;
    left += counts.size - counts.succeeded;
  }
  JobWaiting waiting;
  waiting.what = absl::StrCat(Sentence(stage.types, "waits", "wait"), " for ", Listed(types));
  if (run_.stage_wait && run_.stage_wait->what == waiting.what && left > kNamed) return;
  waiting.missing = run_.tasks.Names(
      [&types](const Task& task) {
        return types.count(task.id.type) > 0 && task.state != TaskState::kSucceeded;
      },
      kNamed);
  waiting.unblock = tracked ? "all of them have to succeed" : "all of them have to be started";
  if (run_.stage_wait == waiting) return;
  run_.stage_wait = waiting;
  run_.Do(effect::Record{std::move(waiting)});
}

std::string GangScheduler::NeverStarted(const std::string& type) const {
  std::vector<std::string> names = stages_.Dependents(type);
  std::erase_if(names,
                [this](const std::string& name) { return admitted_[stages_.StageOf(name)]; });
  if (names.empty()) return "";
  const bool one = names.size() == 1;
  return absl::StrCat("; ", Listed(names), one ? ", which depends on " : ", which depend on ",
                      TypeName(type), one ? ", does not start" : ", do not start");
}

}  // namespace tony::core
