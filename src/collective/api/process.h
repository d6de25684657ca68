// What one process has of the operations of all ranks: its engine, and what it has asked of it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collective/api/buffers.h"
#include "collective/api/ticket.h"
#include "collective/base/status.h"
#include "collective/engine/engine.h"
#include "collective/meeting/meeting.h"

namespace tony::collective {

/// Thread safe. A child that an initialized process forks is told so by every call: its parent's
/// threads are not there, and what they have locked stays so.
class Process {
 public:
  struct Setup {
    Meeting meeting;
    std::chrono::milliseconds meet_timeout{0};
    Engine::Options engine;
  };
  using Handle = int64_t;  ///< above 0
  /// Asks the engine for an operation that ends the ticket.
  using Submission = std::function<Status(Engine&, std::shared_ptr<Ticket>)>;
  using GroupSubmission =
      std::function<Status(Engine&, const std::vector<std::shared_ptr<Ticket>>&)>;

  /// The one of this process, which lives as long: a program may end without shutting it down.
  static Process& Get();

  /// Meets the other ranks. FailedPrecondition: initialized already. The codes of Meet().
  Status Init(Store& store, const Setup& setup);
  /// What is not done fails. The handles stay.
  Status Shutdown();
  bool initialized();
  /// In a process set. FailedPrecondition: not initialized. InvalidArgument: as of Engine.
  Result<ProcessSets::Place> PlaceIn(SetId set);

  /// For tensors; where there are other ranks on this host, they can reach it. The codes of
  /// Buffers.
  Result<void*> Allocate(size_t bytes);
  Status Free(void* data) { return buffers_.Free(data); }

  /// FailedPrecondition: not initialized. The codes of what `submission` does.
  Result<Handle> Submit(const Submission& submission);
  /// `count` operations at once. Returns the first one's handle; the others' follow it.
  Result<Handle> SubmitAll(size_t count, const GroupSubmission& submission);
  /// InvalidArgument: there is no such handle.
  Result<std::shared_ptr<Ticket>> Find(Handle handle);
  /// What `look` returns of what is to be seen of the engine. FailedPrecondition: not initialized.
  template <typename Look>
  auto OfWatch(Look look) -> decltype(look(std::declval<Watch&>())) {
    auto member = Current();
    if (!member.ok()) return member.status();
    return look((*member)->engine.watch());
  }
  /// As of Engine. FailedPrecondition: not initialized.
  Status StartAutotune(const Engine::Tuning& tuning);
  /// FailedPrecondition: not done, nor with a GPU; its memory is in use.
  Status Release(Handle handle);

 private:
  struct Member {
    Member(std::unique_ptr<Members> members, const Setup& setup)
        : engine(std::move(members), setup.engine) {}
    Engine engine;
  };

  Process() = default;
  bool forked() const { return owner_ != 0 && owner_ != getpid(); }
  /// What Init() does but for the owner.
  Status Meet(Store& store, const Setup& setup);
  /// FailedPrecondition: there is none.
  Result<std::shared_ptr<Member>> Current();

  std::atomic<pid_t> owner_ = 0;  ///< who is initialized, or about to be; 0: nobody
  std::mutex starting_;  ///< init and shutdown, one after the other; taken before the other mutex
  std::mutex mutex_;
  std::shared_ptr<Member> member_;
  bool was_shut_down_ = false;
  Buffers buffers_;
  Handle last_handle_ = 0;
  std::unordered_map<Handle, std::shared_ptr<Ticket>> tickets_;
};

}  // namespace tony::collective
