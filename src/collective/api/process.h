// The one engine of a process, and the table of the operations that the process has submitted.
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
#include "collective/api/request_handle.h"
#include "collective/base/status.h"
#include "collective/engine/engine.h"
#include "collective/meeting/meeting.h"

namespace tony::collective {

/// Thread safe. In a child of fork() of an initialized process every call returns an error: the
/// parent's threads do not run there, and mutexes that they held stay locked.
class Process {
 public:
  struct Setup {
    Meeting meeting;
    std::chrono::milliseconds meet_timeout{0};
    Engine::Options engine;
  };
  using Handle = int64_t;  ///< above 0
  /// Submits to the engine an operation that finishes the request.
  using Submission = std::function<Status(Engine&, std::shared_ptr<RequestHandle>)>;
  using GroupSubmission =
      std::function<Status(Engine&, const std::vector<std::shared_ptr<RequestHandle>>&)>;

  /// The process's only instance. It is never destroyed, since the program may end without a
  /// shutdown while threads still run.
  static Process& Get();

  /// Meets the other ranks and starts the engine. FailedPrecondition – it is initialized already.
  /// More codes: those of Meet().
  Status Init(Store& store, const Setup& setup);
  /// Ends the engine. Operations that are not done fail; handles stay valid.
  Status Shutdown();
  bool initialized();
  /// This rank's place in a process set. FailedPrecondition – not initialized. InvalidArgument –
  /// see Engine::MembershipIn().
  Result<ProcessSets::Membership> MembershipIn(SetId set);

  /// Allocates memory for tensors; if there are other ranks on this host, they can reach it, too.
  /// The codes are those of Buffers.
  Result<void*> Allocate(size_t bytes);
  Status Free(void* data) { return buffers_.Free(data); }

  /// Submits one operation and returns its handle. FailedPrecondition – not initialized. More
  /// codes: those of `submission`.
  Result<Handle> Submit(const Submission& submission);
  /// Submits `count` operations at once. Returns the first one's handle; the other handles follow
  /// it.
  Result<Handle> SubmitAll(size_t count, const GroupSubmission& submission);
  /// The request of a handle. InvalidArgument – there is no such handle.
  Result<std::shared_ptr<RequestHandle>> Find(Handle handle);
  /// Calls `look` with the engine's Watch and returns its result. FailedPrecondition – not
  /// initialized.
  template <typename Look>
  auto OfWatch(Look look) -> decltype(look(std::declval<Watch&>())) {
    auto member = Current();
    if (!member.ok()) return member.status();
    return look((*member)->engine.watch());
  }
  /// Engine::StartAutotune(). FailedPrecondition – not initialized.
  Status StartAutotune(const Engine::Tuning& tuning);
  /// Forgets a handle and its request. FailedPrecondition – the operation is not done, and the GPU
  /// does not have it: its memory is in use.
  Status Release(Handle handle);

 private:
  struct Member {
    Member(std::unique_ptr<Members> members, const Setup& setup)
        : engine(std::move(members), setup.engine) {}
    Engine engine;
  };

  Process() = default;
  bool forked() const { return owner_ != 0 && owner_ != getpid(); }
  /// The part of Init() that does not change owner_.
  Status Meet(Store& store, const Setup& setup);
  /// The current engine. FailedPrecondition – there is none.
  Result<std::shared_ptr<Member>> Current();

  std::atomic<pid_t> owner_ = 0;  ///< the process that is initialized or about to be; 0: none
  std::mutex starting_;           ///< serializes init and shutdown; locked before mutex_
  std::mutex mutex_;
  std::shared_ptr<Member> member_;
  bool was_shut_down_ = false;
  Buffers buffers_;
  Handle last_handle_ = 0;
  std::unordered_map<Handle, std::shared_ptr<RequestHandle>> requests_;
};

}  // namespace tony::collective
