#include "collective/process.h"

#include <string>
#include <utility>

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
  owner_ = getpid();
  auto members = Meet(store, setup.meeting, After(setup.meet_timeout));
  if (!members.ok()) {
    owner_ = 0;
    return members.status();
  }
  auto member = std::make_shared<Member>(std::move(*members), setup);
  const std::lock_guard lock(mutex_);
  member_ = std::move(member);
  return {};
}

Status Process::Shutdown() {
  if (forked()) return Forked();
  const std::lock_guard starting(starting_);
  std::shared_ptr<Member> last;  // goes when nobody submits to it any more
  const std::lock_guard lock(mutex_);
  was_shut_down_ = was_shut_down_ || member_ != nullptr;
  last = std::exchange(member_, nullptr);
  owner_ = 0;
  return {};
}

bool Process::initialized() { return Current().ok(); }

Result<int> Process::rank() {
  auto member = Current();
  return member.ok() ? Result<int>((*member)->rank) : member.status();
}

Result<int> Process::size() {
  auto member = Current();
  return member.ok() ? Result<int>((*member)->size) : member.status();
}

Result<void*> Process::Allocate(size_t bytes) {
  auto member = Current();
  return buffers_.Allocate(bytes, member.ok() ? (*member)->engine.arena() : nullptr);
}

Result<Process::Handle> Process::Submit(const Submission& submission) {
  auto member = Current();
  if (!member.ok()) return member.status();
  const auto ticket = std::make_shared<Ticket>();
  Handle handle = 0;
  {
    const std::lock_guard lock(mutex_);
    handle = ++last_handle_;
    tickets_.emplace(handle, ticket);
  }
  Status submitted = submission((*member)->engine, ticket);
  if (submitted.ok()) return handle;
  const std::lock_guard lock(mutex_);
  tickets_.erase(handle);
  return submitted;
}

Result<std::shared_ptr<Ticket>> Process::Find(Handle handle) {
  if (forked()) return Forked();
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(handle);
  if (found == tickets_.end()) return NoHandle(handle);
  return found->second;
}

Status Process::Release(Handle handle) {
  auto ticket = Find(handle);
  if (!ticket.ok()) return ticket.status();
  if (!(*ticket)->done()) {
    return {Code::kFailedPrecondition, "the operation with the handle " + std::to_string(handle) +
                                           " is on its way: wait for it before it is released"};
  }
  const std::lock_guard lock(mutex_);
  tickets_.erase(handle);
  return {};
}

}  // namespace tony::collective
