// Two threads share the plane: the data thread starts operations, and Watch() polls for their end.
// The mutex guards the list between them.
#include "collective/gpu/gpu_plane.h"

#include <exception>
#include <iterator>
#include <numeric>
#include <utility>

#include "collective/base/thread.h"
#include "collective/gpu/gpu_meeting.h"

namespace tony::collective {
namespace {

using std::chrono::steady_clock;

// Watch() yields the processor for kYieldTime, then sleeps kSleep between two polls: a GPU can wake
// a thread only by an interrupt. A caller waits for the event, or for this polling.
constexpr auto kYieldTime = std::chrono::milliseconds(1);
constexpr auto kSleep = std::chrono::microseconds(50);

/// Whether the status is a refusal: all ranks get the same one, and all can go on.
bool IsRefusal(const Status& status) {
  return status.code() == Code::kInvalidArgument || status.code() == Code::kFailedPrecondition;
}

}  // namespace

GpuPlane::GpuPlane(Group& host, Setup setup) : host_(host), setup_(std::move(setup)) {
  if (!setup_.names.empty()) return;
  setup_.names.resize(static_cast<size_t>(host.ranks()));
  std::iota(setup_.names.begin(), setup_.names.end(), 0);
}

GpuPlane::~GpuPlane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) watch_.join();
}

void GpuPlane::Run(const Decision& decision, std::vector<Tensor> tensors,
                   std::chrono::milliseconds patience) {
  Issued issued = {.what = decision.Text(), .tensors = std::move(tensors)};
  Status status;
  try {
    status = Begin(decision, issued, patience);
  } catch (const std::exception& error) {
    status = {Code::kResourceExhausted, issued.what + " on GPUs: " + error.what()};
  }
  if (!status.ok()) {
    if (!IsRefusal(status)) OnFailure(status);
    Tell(issued, status);
    // The GPU may still use the buffers of an operation that began in part, and freeing them here
    // would make this thread wait for it.
    const std::lock_guard lock(mutex_);
    return Keep(issued);
  }
  for (size_t i = 0; i < issued.tensors.size(); ++i) {
    const Tensor& tensor = issued.tensors[i];
    // Called before Watch() knows of the operation, so a submitter hears first that the GPU has it,
    // and then that it is done.
    if (tensor.gpu.on_issued) tensor.gpu.on_issued(issued.done, issued.results.outputs[i]);
  }
  {
    const std::lock_guard lock(mutex_);
    issued_.push_back(std::move(issued));
  }
  changed_.notify_all();
}

Status GpuPlane::GetReady(const Decision& decision, const std::vector<Tensor>& tensors,
                          std::chrono::milliseconds patience) {
  {
    std::unique_lock lock(mutex_);
    WaitForRoom(lock);
    if (!failure_.ok()) return failure_;
  }
  if (setup_.gpu == nullptr) return {Code::kFailedPrecondition, "there are no GPUs here"};
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].submitted() || tensors[i].joined) continue;
    return {Code::kAborted, "tensor '" + decision.tensors[i].name + "' is decided on, but rank " +
                                std::to_string(setup_.names[static_cast<size_t>(host_.rank())]) +
                                " has given it up"};
  }
  if (Status able = GpuOperations::Refusal(decision.kind, limitation_); !able.ok()) return able;
  if (group_ != nullptr) return {};
  if (Status met = Meet(After(patience)); !met.ok()) return met;
  // The meeting has found out what the GPUs lack.
  return GpuOperations::Refusal(decision.kind, limitation_);
}

Status GpuPlane::Begin(const Decision& decision, Issued& issued,
                       std::chrono::milliseconds patience) {
  if (Status ready = GetReady(decision, issued.tensors, patience); !ready.ok()) return ready;
  const std::lock_guard lock(mutex_);
  issued.begin = steady_clock::now();
  issued.deadline = After(patience);
  auto done = Event::Create(operations_->device());
  if (!done.ok()) return done.status();
  issued.done = std::move(*done);
  Status begun;
  // Several NCCL groups on one GPU could wait for each other, so this operation runs after the last
  // one of any group.
  if (setup_.gpu->last != nullptr) begun = group_->WaitFor(setup_.gpu->last->handle());
  if (begun.ok())
    begun = operations_->Begin(decision, issued.tensors, issued.results, issued.deadline);
  if (begun.ok()) begun = group_->Record(*issued.done);
  if (begun.ok()) setup_.gpu->last = issued.done;
  return begun.ok() ? begun : Status(begun.code(), issued.what + ": " + begun.message());
}

void GpuPlane::WaitForRoom(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return issued_.size() < kMostIssued; });
}

/// Only the data thread sets group_, so it may read it without the mutex.
Status GpuPlane::Meet(Deadline deadline) {
  GpuMeeting meeting(host_, setup_.names, setup_.sys);
  auto met = meeting.Meet(
      *setup_.gpu, setup_.group,
      [this](std::shared_ptr<NcclGroup> group) { Publish(std::move(group)); }, deadline);
  if (!met.ok()) {
    Publish(nullptr);
    return met.status();
  }
  met->group->Defer(true);
  if (host_.rank() == 0 && setup_.say) {
    setup_.say(met->transport + (met->limitation.empty() ? "" : "; " + met->limitation));
  }
  const std::lock_guard lock(mutex_);
  group_ = met->group;
  limitation_ = met->limitation;
  operations_ = std::make_unique<GpuOperations>(*group_, met->device);
  watch_ = StartThread([this] { Watch(); });
  return {};
}

void GpuPlane::Publish(std::shared_ptr<NcclGroup> group) {
  // The replaced group may be the last reference, and closing it waits for the other ranks' NCCL
  // for seconds. It is destroyed after the lock, so that Fail() does not hold up the links' thread.
  std::shared_ptr<NcclGroup> replaced;
  const std::lock_guard lock(fail_mutex_);
  replaced = std::exchange(target_, std::move(group));
  if (target_ != nullptr && failed_) target_->Fail(failed_why_, failed_when_);
}

void GpuPlane::Fail(const std::string& why, Deadline when) {
  const std::lock_guard lock(fail_mutex_);
  if (std::exchange(failed_, true) && failed_when_ <= when) return;
  failed_why_ = why;
  failed_when_ = when;
  if (target_ != nullptr) target_->Fail(why, when);
}

void GpuPlane::OnFailure(const Status& status) {
  // The other ranks wait in NCCL for operations that this rank has not begun, so NCCL has to be
  // aborted here as well.
  Fail(status.message(), {});
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
  }
  if (setup_.on_failure) setup_.on_failure(status);
}

void GpuPlane::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return issued_.empty() && !telling_; });
}

void GpuPlane::Watch() {
  std::unique_lock lock(mutex_);
  auto busy = steady_clock::now();  // when an operation last began or ended
  for (;;) {
    if (issued_.empty() && !garbage_.empty()) {
      // Freed without the mutex, since freeing waits for the GPU.
      std::vector<std::shared_ptr<std::byte[]>> garbage = std::exchange(garbage_, {});
      lock.unlock();
      garbage.clear();
      lock.lock();
    }
    if (issued_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || !issued_.empty(); });
      busy = steady_clock::now();
    }
    if (issued_.empty()) return;
    std::vector<Issued> ended;
    const Status status = PollFirst(ended);
    // The submitters are told without the mutex: a callback may take long, and the data thread can
    // go on. `telling_` keeps Finish() waiting meanwhile.
    telling_ = !ended.empty();
    lock.unlock();
    if (!ended.empty()) {
      changed_.notify_all();
      if (!status.ok()) OnFailure(status);
      for (Issued& one : ended) Tell(one, status);
      busy = steady_clock::now();
    } else if (steady_clock::now() - busy < kYieldTime) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
    lock.lock();
    for (Issued& one : ended) Keep(one);
    if (std::exchange(telling_, false)) changed_.notify_all();
  }
}

Status GpuPlane::PollFirst(std::vector<Issued>& ended) {
  Issued& first = issued_.front();
  auto done = group_->Poll(first.what, *first.done, first.deadline, first.begin);
  if (done.ok() && !*done) return {};
  if (!done.ok()) {
    // The communicator is aborted now, so none of the operations behind this one can end either.
    if (failure_.ok()) failure_ = done.status();
    std::move(issued_.begin(), issued_.end(), std::back_inserter(ended));
    issued_.clear();
    return done.status();
  }
  ended.push_back(std::move(first));
  issued_.pop_front();
  return {};
}

void GpuPlane::Keep(Issued& issued) {
  std::move(issued.results.kept.begin(), issued.results.kept.end(), std::back_inserter(garbage_));
  for (Output& output : issued.results.outputs) {
    // Null where the submitter has taken it.
    if (output.data != nullptr) garbage_.push_back(std::move(output.data));
  }
}

void GpuPlane::Tell(Issued& issued, const Status& status) {
  issued.results.outputs.resize(issued.tensors.size());
  for (size_t i = 0; i < issued.tensors.size(); ++i) {
    issued.tensors[i].Tell(status, status.ok() ? std::move(issued.results.outputs[i]) : Output{});
  }
}

}  // namespace tony::collective
