// The ApplicationMaster's part of tunnels: joins the stream of a client, or of an executor that
// wants to reach the job's driver, with an executor's.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/model/task_id.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

using TunnelReactor = grpc::ServerBidiReactor<v1::TunnelFrame, v1::TunnelFrame>;

/// Carries frames from one stream to the other, one at a time in each direction: the next is read
/// when the one before has been written, so a side that takes nothing makes the other one wait, in
/// the windows of HTTP/2, and no more than a frame is held here.
///
///   client ── open ──▶ relay ── wish ──▶ owner ── Expect(), and OpenTunnel ──▶ executor
///          ◀─ bytes ──▶      ◀──────────── answer, bytes ──────────────────────┘
///
/// Thread safe; wishes come from gRPC's threads.
class TunnelRelay {
 public:
  /// Somebody wants to be joined with a task's port, or with logs; Expect() or Refuse() answers it.
  struct Wish {
    int64_t tunnel = 0;  ///< its number, from 1
    core::TaskId task;
    int port = 0;                     ///< 0: the visualization port, or else the task's own
    std::optional<v1::LogWish> logs;  ///< in place of task and port
    bool by_executor = false;         ///< not a client: only the job's driver is for it
  };
  /// Must not call the relay.
  using OnWish = std::function<void(const Wish&)>;

  /// At a time, by all clients of the job: a browser takes half a dozen for a page.
  static constexpr int kMostTunnels = 64;
  /// The same of logs, of which a client takes those of all tasks at once.
  static constexpr int kMostLogTunnels = 1024;
  /// The same of executors, each of which has one.
  static constexpr int kMostExecutorTunnels = 16384;
  /// The longest piece of bytes in one frame.
  static constexpr size_t kMostFrameBytes = size_t{64} * 1024;

  explicit TunnelRelay(OnWish on_wish) : on_wish_(std::move(on_wish)) {}

  /// The stream of a client, of an executor that wants to reach the driver, or of one that answers
  /// a wish, whose roles were checked. gRPC owns it.
  TunnelReactor* FromClient(grpc::CallbackServerContext* context);
  TunnelReactor* FromReachingExecutor(grpc::CallbackServerContext* context);
  TunnelReactor* FromExecutor(grpc::CallbackServerContext* context,
                              const std::string& container_id);

  /// The executor of that container may answer.
  void Expect(int64_t tunnel, const std::string& container_id);
  /// Ends a tunnel that no executor has answered; one that was answered goes on.
  void Refuse(int64_t tunnel, const absl::Status& why);
  /// Ends all tunnels, and those to come.
  void Close(const std::string& why);

 private:
  class Leg;

  const OnWish on_wish_;
  std::mutex mutex_;  ///< guards the rest and the state of every leg
  std::set<Leg*> legs_;
  absl::flat_hash_map<int64_t, Leg*> waiting_;  ///< of those who wish, until they are joined
  int clients_ = 0;                             ///< legs of clients
  int executors_ = 0;                           ///< legs of executors that have wished
  int port_clients_ = 0;                        ///< of these, that have wished for a port
  int log_clients_ = 0;                         ///< that have wished for logs
  int64_t last_tunnel_ = 0;
  std::string closed_;  ///< why nothing is taken in any more; empty: it is
};

}  // namespace tony::rpc
