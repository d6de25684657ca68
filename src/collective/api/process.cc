// A fork is recognized by the process id, before any mutex is locked: in a child a mutex may be
// locked for ever.
#include "collective/api/process.h"

#include <string>
#include <utility>
#include <vector>

namespace tony::collective {
namespace {

Status Forked() {
  return {Code::kFailedPrecondition,
          "this process was forked from a rank after it had been initialized, and is none itself: "
          "call collectives in the rank, or start this one as a new program (multiprocessing: "
          "'spawn')"};
}

Status NoHandle(int64_t handle) {
  return {Code::kInvalidArgument, "there is no operation with the handle " +
                                      std::to_string(handle) + ": it was released, or never given"};
}

}  // namespace

Process& Process::Get() {
  static Process& process = *new Process;
  return process;
}

Result<std::shared_ptr<Process::Member>> Process::Current() {
  if (forked()) return Forked();
  const std::lock_guard lock(mutex_);
  if (member_ != nullptr) return member_;
  return Status(Code::kFailedPrecondition,
                was_shut_down_ ? "the collective library was shut down: call init() again"
                               : "the collective library is not initialized: call init() first");
}

Status Process::Init(Store& store, const Setup& setup) {
  if (forked()) return Forked();
  const std::lock_guard starting(starting_);
  if (Current().ok()) {
    return {Code::kFailedPrecondition, "the collective library is initialized already"};
  }
  // Set before Meet() starts threads, so that a child forked meanwhile knows that it is one.
  owner_ = getpid();
  try {
    Status done = Meet(store, setup);
    if (!done.ok()) owner_ = 0;
    return done;
  } catch (...) {  // no thread or no memory: nothing was started, so a child may call init itself
    owner_ = 0;
    throw;
  }
}

Status Process::Meet(Store& store, const Setup& setup) {
  auto members = collective::Meet(store, setup.meeting, After(setup.meet_timeout));
  if (!members.ok()) return members.status();
  const std::string limitation = (*members)->limitation();
  auto member = std::make_shared<Member>(std::move(*members), setup);
  if (setup.meeting.rank == 0 && setup.engine.say && !limitation.empty()) {
    setup.engine.say("the ranks of a host cannot share memory, and speak TCP, which is slower: " +
                     limitation);
  }
  const std::lock_guard lock(mutex_);
  member_ = std::move(member);
  return {};
}

Status Process::Shutdown() {
  if (forked()) return Forked();
  const std::lock_guard starting(starting_);
  std::shared_ptr<Member> last;  // declared before the lock: destroyed without it, by its last user
  const std::lock_guard lock(mutex_);
  was_shut_down_ = was_shut_down_ || member_ != nullptr;
  last = std::exchange(member_, nullptr);
  owner_ = 0;
  return {};
}

bool Process::initialized() { return Current().ok(); }

Result<ProcessSets::Membership> Process::MembershipIn(SetId set) {
  auto member = Current();
  return member.ok() ? (*member)->engine.MembershipIn(set) : member.status();
}

Status Process::StartAutotune(const Engine::Tuning& tuning) {
  auto member = Current();
  return member.ok() ? (*member)->engine.StartAutotune(tuning) : member.status();
}

Result<void*> Process::Allocate(size_t bytes) {
  auto member = Current();
  return buffers_.Allocate(bytes, member.ok() ? (*member)->engine.arena() : nullptr);
}

Result<Process::Handle> Process::Submit(const Submission& submission) {
  auto first =
      SubmitAll(1, [&](Engine& engine, const std::vector<std::shared_ptr<RequestHandle>>& all) {
        return submission(engine, all[0]);
      });
  return first;
}

Result<Process::Handle> Process::SubmitAll(size_t count, const GroupSubmission& submission) {
  auto member = Current();
  if (!member.ok()) return member.status();
  std::vector<std::shared_ptr<RequestHandle>> requests;
  for (size_t i = 0; i < count; ++i) requests.push_back(std::make_shared<RequestHandle>());
  // The requests enter the table before the submission, since the engine may finish an operation
  // before Submit() returns. If it refuses, the requests leave again.
  Handle first = 0;
  {
    const std::lock_guard lock(mutex_);
    first = last_handle_ + 1;
    for (const auto& request : requests) requests_.emplace(++last_handle_, request);
  }
  Status submitted = submission((*member)->engine, requests);
  if (submitted.ok()) return first;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < count; ++i) requests_.erase(first + static_cast<Handle>(i));
  return submitted;
}

Result<std::shared_ptr<RequestHandle>> Process::Find(Handle handle) {
  if (forked()) return Forked();
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(handle);
  if (found == requests_.end()) return NoHandle(handle);
  return found->second;
}

Status Process::Release(Handle handle) {
  auto request = Find(handle);
  if (!request.ok()) return request.status();
  if (!(*request)->issued()) {
    return {Code::kFailedPrecondition, "the operation with the handle " + std::to_string(handle) +
                                           " is on its way: wait for it before it is released"};
  }
  const std::lock_guard lock(mutex_);
  requests_.erase(handle);
  return {};
}

}  // namespace tony::collective
