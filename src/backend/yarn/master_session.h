// The ApplicationMaster's session with the ResourceManager.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "hadoop/rpc/rpc_client.h"
#include "hadoop/yarn/master_protocol.pb.h"

namespace tony::backend {

struct MasterSessionOptions {
  std::vector<hadoop::Endpoint> scheduler;  ///< one server, or both of a highly available pair
  hadoop::Token token;                      ///< the AMRMToken
  hadoop::RequiredProtection protection;    ///< required of the connection
  ::hadoop::yarn::RegisterApplicationMasterRequestProto registration;
  Duration fast_heartbeat{};  ///< interval of allocate calls while something is awaited
  Duration slow_heartbeat{};
  Duration away_limit{};  ///< the longest time for which the ResourceManager may be away
};

/// The registration, the heartbeats and the end of one attempt:
/// ```
///             Start               answer
///   NEW ─────────▶ REGISTERING ─────────▶ HEARTBEATING ◀─┐ answer, after an interval
///                       ▲                    │   │  └────┘
///                       └────────────────────┘   ▼ Finish
///                      the ResourceManager       FINISHING ──▶ ENDED
///                      was restarted
/// ```
/// The session also goes to ENDED when another attempt runs, or when it cannot go on. It waits for
/// a ResourceManager that does not answer. Not thread safe: owned by the event loop.
class MasterSession {
 public:
  /// All are called from the loop, never from within a call to this class, and never after ENDED.
  struct Events {
    /// The session has registered. `again`: with a ResourceManager that has lost what was asked
    /// for.
    std::function<void(const ::hadoop::yarn::RegisterApplicationMasterResponseProto&, bool again)>
        registered;
    /// Adds everything that is to be told to the next allocate call.
    std::function<void(::hadoop::yarn::AllocateRequestProto&)> fill;
    std::function<void(const ::hadoop::yarn::AllocateResponseProto&)> allocated;
    /// The ResourceManager did not take what `fill` added last. InvalidArgument – it never will.
    std::function<void(const absl::Status&)> refused;
    /// Returns whether something is awaited.
    std::function<bool()> awaiting;
    /// Another attempt runs, or the application has ended.
    std::function<void(const std::string& sentence)> deposed;
    /// The session cannot go on.
    std::function<void(const absl::Status&)> failed;
  };

  MasterSession(EventLoop& loop, MasterSessionOptions options, Events events);
  MasterSession(const MasterSession&) = delete;
  MasterSession& operator=(const MasterSession&) = delete;

  void Start();
  /// There is something to tell: makes the next allocate call as soon as possible.
  void Poke();
  /// Unregisters in place of all further heartbeats. `done` receives OK, DeadlineExceeded if the
  /// ResourceManager is away for too long, or the ResourceManager's refusal.
  void Finish(::hadoop::yarn::FinishApplicationMasterRequestProto request,
              std::function<void(const absl::Status&)> done);

  bool registered() const { return state_ == State::kHeartbeating; }
  bool ended() const { return state_ == State::kEnded; }
  /// Whether the ResourceManager has answered lately: within twice the slow heartbeat.
  bool answered_lately() const;

 private:
  enum class State { kNew, kRegistering, kHeartbeating, kFinishing, kEnded };
  using RegisterResponse = ::hadoop::yarn::RegisterApplicationMasterResponseProto;
  using AllocateResponse = ::hadoop::yarn::AllocateResponseProto;
  using FinishResponse = ::hadoop::yarn::FinishApplicationMasterResponseProto;

  void Register();
  void OnRegistered(const absl::StatusOr<RegisterResponse>& response);
  void AllocateAfter(Duration delay);
  void Allocate();
  void SendAllocate();
  void OnAllocated(const absl::StatusOr<AllocateResponse>& response);
  void OnAllocateFailed(const absl::Status& status);
  void NextHeartbeat();
  void SendFinish();
  void OnFinished(const absl::StatusOr<FinishResponse>& response);
  void EndFinish(const absl::Status& status);
  /// True if `status` says that this attempt is no longer the one that counts.
  bool Deposed(const absl::Status& status);
  void Depose(const std::string& sentence);
  void Fail(const absl::Status& status);

  EventLoop& loop_;
  const MasterSessionOptions options_;
  const Events events_;
  const SystemClock clock_;
  hadoop::RpcClient client_;
  State state_ = State::kNew;
  bool was_registered_ = false;
  int response_id_ = 0;
  ::hadoop::yarn::AllocateRequestProto allocate_;  ///< the last request
  bool in_flight_ = false;
  bool poked_ = false;
  TimePoint last_answer_;
  std::unique_ptr<EventLoop::Handle> timer_;
  ::hadoop::yarn::FinishApplicationMasterRequestProto finish_;
  std::function<void(const absl::Status&)> finished_;
};

}  // namespace tony::backend
