// Stages and gangs in JobMachine: admits stages as their dependencies are fulfilled, gathers each
// as a gang, and stops waiting for types whose time is over.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job/job_machine.h"

namespace tony::core {
namespace {

/// At most this many tasks are named in a recorded wait. While more are missing, the wait is not
/// recorded anew each time one of them ends.
constexpr int kNamed = 16;

/// "a, b start", "a starts"
std::string Sentence(const std::vector<std::string>& names, const std::string& of_one,
                     const std::string& of_many) {
  return absl::StrCat(absl::StrJoin(names, ", "), " ", names.size() == 1 ? of_one : of_many);
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

void JobMachine::Begin() {
  if (!Move(JobTrigger::kStart)) return;
  started_at_ = now_;
  checked_at_ = now_;
  AdmitStages();
}

JobProgress JobMachine::Progress() const {
  JobProgress progress;
  for (const TaskType& type : job_.types) {
    const TypeCounts& counts = tasks_.of(type.name);
    progress[type.name] = {.started = counts.listed,
                           .succeeded = counts.succeeded,
                           .waited_for = counts.tracking == Tracking::kTracked};
  }
  return progress;
}

void JobMachine::OnProgress() {
  progressed_ = true;
  AdmitStages();
  SettleTypes();
}

void JobMachine::AdmitStages() {
  // Most jobs have one stage, which is admitted at once; this exit keeps each further success
  // cheap.
  if (std::find(admitted_.begin(), admitted_.end(), false) == admitted_.end()) return;
  const JobProgress progress = Progress();
  for (size_t i = 0; i < admitted_.size(); ++i) {
    const Stage& stage = stages_.stages()[i];
    if (admitted_[i] || !stages_.WaitsFor(stage, progress).empty()) continue;
    admitted_[i] = true;
    std::vector<Task*> members;
    for (Task& task : tasks_.all()) {
      if (stages_.StageOf(task.id.type) == i && !JoinsLater(task)) members.push_back(&task);
    }
    FormGang(members, Duration(0));
    if (stage.depends_on.empty()) continue;
    SayGoesOn(absl::StrCat(Sentence(stage.types, "comes", "come"), " next, after ",
                           absl::StrJoin(stage.depends_on, ", ")));
  }
}

void JobMachine::SettleTypes() {
  // A type is settled when its whole stage has succeeded, or when an admitted stage builds on it;
  // otherwise a new epoch runs it again, since types of one stage may need each other.
  std::set<std::string> settled;
  for (size_t i = 0; i < admitted_.size(); ++i) {
    const Stage& stage = stages_.stages()[i];
    const bool whole =
        std::all_of(stage.types.begin(), stage.types.end(), [this](const std::string& type) {
          return tasks_.of(type).tracking != Tracking::kTracked || tasks_.of(type).complete();
        });
    if (whole) settled.insert(stage.types.begin(), stage.types.end());
    if (admitted_[i]) settled.insert(stage.depends_on.begin(), stage.depends_on.end());
  }
  // Horovod's ranked tasks restart together or not at all, so a finished one stays until all are.
  const bool ranked_run = RankedRun();
  std::erase_if(settled, [&](const std::string& type) {
    return settled_.count(type) > 0 || !tasks_.of(type).complete() ||
           (ranked_run && IsRanked(type));
  });
  if (settled.empty()) return;
  settled_.insert(settled.begin(), settled.end());
  missing_ = true;
  for (Task& task : tasks_.all()) {
    if (settled.count(task.id.type) > 0 && task.attached) Dismiss(task, kStageOver);
  }
  SettleDriver();
}

bool JobMachine::RankedRun() const {
  return job_.framework == Framework::kHorovod &&
         std::any_of(job_.types.begin(), job_.types.end(), [this](const TaskType& type) {
           return IsRanked(type.name) && !tasks_.of(type.name).complete();
         });
}

void JobMachine::SettleDriver() {
  const bool over = std::any_of(settled_.begin(), settled_.end(), IsRanked);
  Task* driver = tasks_.Find({kDriverType, 0});
  if (job_.framework != Framework::kHorovod || !over || driver == nullptr) return;
  if (!settled_.insert(kDriverType).second || driver->over()) return;
  tasks_.SetGang(*driver, 0);
  ChangeTask(*driver, TaskState::kStopped, "all processes have ended well");
  if (driver->attached) Dismiss(*driver, kStageOver);
}

void JobMachine::FormGang(const std::vector<Task*>& members, Duration delay) {
  if (members.empty()) return;
  ++last_gang_;
  for (Task* task : members) tasks_.SetGang(*task, last_gang_);
  Gang& gang = tasks_.gangs().at(last_gang_);
  gang.since = now_;
  gang.not_before = now_ + delay;
  missing_ = true;
}

bool JobMachine::AwaitsRoom(const Task& task) const {
  // Only tracked types count: an untracked dependency, a server say, keeps its containers.
  const Stage& stage = stages_.stages()[stages_.StageOf(task.id.type)];
  return std::any_of(stage.depends_on.begin(), stage.depends_on.end(), [this](const auto& type) {
    const TypeCounts& counts = tasks_.of(type);
    return counts.tracking == Tracking::kTracked && counts.bound > 0;
  });
}

void JobMachine::RequestMissing() {
  if (!std::exchange(missing_, false) || verdict_) return;
  effect::RequestContainers request;
  for (Task& task : tasks_.all()) {
    const bool needed = task.gang != 0 && task.state == TaskState::kNew && !task.asked;
    // AwaitsRoom() delays the request, so a stage never needs more room than it has itself and
    // takes the place of its predecessors.
    if (!needed || now_ < tasks_.gangs().at(task.gang).ask_after || AwaitsRoom(task)) continue;
    AddTo(request, *task.type);
    tasks_.Ask(task);
  }
  if (request.requests.empty()) return;
  Do(std::move(request));
  if (!settled_.empty()) Do(effect::GiveBackSpare{});
}

void JobMachine::NotePartlyHeld() {
  for (auto& [number, gang] : tasks_.gangs()) {
    if (gang.bound == gang.size) gang.incomplete_since.reset();
    if (gang.bound == 0 || gang.bound == gang.size) {
      gang.partly_held_since.reset();
      continue;
    }
    // Both times start when the gang holds some containers but not all. Only incomplete_since
    // survives a moment without any, so a gang that yields and asks again still ends by the
    // allocation timeout.
    if (!gang.incomplete_since) gang.incomplete_since = now_;
    if (!gang.partly_held_since) gang.partly_held_since = now_;
  }
}

bool JobMachine::HeldBack(int number, Gang& gang) {
  if (now_ >= gang.not_before) return false;
  if (std::exchange(gang.said_held_back, true)) return true;
  const auto left = std::chrono::ceil<std::chrono::seconds>(gang.not_before - now_);
  const auto member = std::find_if(tasks_.all().begin(), tasks_.all().end(),
                                   [number](const Task& task) { return task.gang == number; });
  if (GoesOnWithout(*member)) {
    Do(effect::Record{
        JobNote{absl::StrCat(member->id.ToString(), " is ready, and joins the others in ",
                             left.count(), " s (tony.horovod.host-cooldown-ms)")}});
    return true;
  }
  Do(effect::Record{
      JobWaiting{absl::StrCat("all is ready for the next start, which comes ", left.count(),
                              " s later, since several in a row have failed"),
                 {},
                 "it comes by itself (tony.am.retry-backoff-ms)"}});
  return true;
}

void JobMachine::ReleaseGangs() {
  if (verdict_) return;
  std::vector<int> complete;
  for (auto& [number, gang] : tasks_.gangs()) {
    if (gang.ready == gang.size && !HeldBack(number, gang)) complete.push_back(number);
  }
  for (const int number : complete) {
    if (!verdict_) Release(number);
  }
}

std::optional<Verdict> JobMachine::NameClash(int number) const {
  // Only Horovod compares the boot ids: other frameworks use addresses alone, and a container may
  // be a virtual machine with a boot id of its own.
  if (job_.framework != Framework::kHorovod) return std::nullopt;
  std::map<std::string, const Task*> first;  // by host name
  for (const Task& task : tasks_.all()) {
    const bool runs = task.gang == number || (task.listed && !task.over());
    if (!runs || !task.container || task.boot_id.empty()) continue;
    const auto [other, is_first] = first.try_emplace(task.container->host, &task);
    if (is_first || other->second->boot_id == task.boot_id) continue;
    Verdict verdict;
    verdict.reason = Reason::kBackendFailed;
    verdict.guilty = task.id;
    verdict.sentence = absl::StrCat(
        "Two machines have the name ", task.container->host, ", on which ",
        other->second->id.ToString(), " and ", task.id.ToString(),
        " are, so the tasks could not find each other; give each machine a name of its own");
    return verdict;
  }
  return std::nullopt;
}

void JobMachine::Release(int number) {
  // The check precedes the journal entry, so a clash leaves no released gang behind.
  if (std::optional<Verdict> clash = NameClash(number)) return Decide(std::move(*clash));
  auto spec = std::make_shared<ClusterSpec>();
  std::vector<std::string> container_ids;
  std::vector<VisualizationReady> pages;
  for (const Task& task : tasks_.all()) {
    if (task.gang != number) continue;
    spec->endpoints.push_back(EndpointOf(task));
    if (!AwaitsPlan(task)) container_ids.push_back(task.container->id);
    if (task.visualization_port == 0 || task.listed) continue;
    Endpoint page = spec->endpoints.back();
    page.port = task.visualization_port;
    pages.push_back({task.id, absl::StrCat("http://", page.Address())});
  }
  const decision::GangReleased released{epoch_, std::move(spec)};
  Note(released);
  Open(released);
  for (VisualizationReady& page : pages) Do(effect::Record{std::move(page)});
  if (!container_ids.empty()) SendStart(std::move(container_ids));
  OnProgress();
}

void JobMachine::Open(const decision::GangReleased& released) {
  bool first = false;
  std::vector<std::string> types;
  for (const Endpoint& endpoint : released.spec->endpoints) {
    Task* task = tasks_.Find(endpoint.task);
    if (task == nullptr) continue;
    if (types.empty() || types.back() != task->id.type) types.push_back(task->id.type);
    first = first || !task->listed;
    tasks_.SetGang(*task, 0);
    tasks_.SetListed(*task, true);
    members_changed_ = true;
  }
  // A restart at the old ports leaves the spec as it is; only a task that was not listed yet
  // changes it.
  if (first) spec_ = SpecWith(released.spec);
  running_since_ = now_;
  if (Move(JobTrigger::kGangRegistered)) return;
  SayGoesOn(Sentence(types, first ? "starts" : "starts again", first ? "start" : "start again"));
}

std::shared_ptr<const ClusterSpec> JobMachine::SpecWith(
    const std::shared_ptr<const ClusterSpec>& added) const {
  if (spec_ == nullptr) return added;
  std::map<TaskId, const Endpoint*> known;
  // The plan of ranks refers to every ranked task, so finished ones stay in the spec.
  const bool ranked_run = RankedRun();
  for (const Endpoint& endpoint : spec_->endpoints) {
    const TypeCounts& type = tasks_.of(endpoint.task.type);
    const bool over = type.succeeded == type.size;
    if (!over || (ranked_run && IsRanked(endpoint.task.type))) known[endpoint.task] = &endpoint;
  }
  for (const Endpoint& endpoint : added->endpoints) known[endpoint.task] = &endpoint;
  auto spec = std::make_shared<ClusterSpec>();
  for (const Task& task : tasks_.all()) {
    const auto found = known.find(task.id);
    if (found != known.end()) spec->endpoints.push_back(*found->second);
  }
  return spec;
}

Endpoint JobMachine::EndpointOf(const Task& task) {
  Endpoint endpoint;
  endpoint.task = task.id;
  endpoint.host = task.container->host;
  endpoint.port = task.port;
  endpoint.host_id = task.container->host_id;
  endpoint.devices = absl::StrJoin(task.container->gpus, ",");
  endpoint.sidecar = task.tracking() == Tracking::kSidecar;
  return endpoint;
}

void JobMachine::SayWhichStageWaits() {
  if (!std::exchange(progressed_, false) || state_ != JobState::kRunning || awaited_back_ > 0) {
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
    const TypeCounts& counts = tasks_.of(type);
    types.insert(type);
    tracked = tracked || counts.tracking == Tracking::kTracked;
    left += counts.size - counts.succeeded;
  }
  JobWaiting waiting;
  waiting.what =
      absl::StrCat(Sentence(stage.types, "waits", "wait"), " for ", absl::StrJoin(types, ", "));
  if (said_ && said_->what == waiting.what && left > kNamed) return;
  waiting.missing = tasks_.Names(
      [&types](const Task& task) {
        return types.count(task.id.type) > 0 && task.state != TaskState::kSucceeded;
      },
      kNamed);
  waiting.unblock = tracked ? "all of them have to succeed" : "all of them have to be started";
  if (said_ == waiting) return;
  said_ = waiting;
  Do(effect::Record{std::move(waiting)});
}

std::string JobMachine::NeverStarted(const std::string& type) const {
  std::vector<std::string> names = stages_.Dependents(type);
  std::erase_if(names,
                [this](const std::string& name) { return admitted_[stages_.StageOf(name)]; });
  if (names.empty()) return "";
  const bool one = names.size() == 1;
  return absl::StrCat("; ", absl::StrJoin(names, ", "),
                      one ? ", which depends on " : ", which depend on ", type,
                      one ? ", does not start" : ", do not start");
}

void JobMachine::CheckGroups() {
  const std::optional<TimePoint> due = groups_.NextDeadline();
  if (!due || now_ < *due) return;
  // An executor that must attach again may report an end that came in time.
  for (const Task& task : tasks_.all()) {
    if (task.reattach_by) return;
  }
  for (const OverdueType& overdue : groups_.TakeDue(now_)) {
    if (verdict_) return;
    if (overdue.ignored) {
      if (tasks_.of(overdue.type).tracking != Tracking::kTracked) continue;
      Do(effect::Record{JobNote{overdue.sentence}});
      Note(decision::TrackingStopped{overdue.type});
      StopTracking(overdue.type);
      continue;
    }
    Verdict verdict;
    verdict.reason = Reason::kDependencyTimeout;
    verdict.sentence = overdue.sentence;
    const auto late = std::find_if(
        tasks_.all().begin(), tasks_.all().end(),
        [&overdue](const Task& task) { return task.id.type == overdue.type && !task.over(); });
    if (late != tasks_.all().end()) verdict.guilty = late->id;
    Decide(std::move(verdict));
  }
}

void JobMachine::StopTracking(const std::string& type) {
  tasks_.StopTracking(type);
  JudgeEnd();
  if (!verdict_) OnProgress();
}

}  // namespace tony::core
