// The ApplicationMaster's part of a tunnel: joins the stream of a client, or of an executor that
// wants to reach the job's driver, with the stream of an executor that answers.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/logging.h"
#include "core/model/task_id.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Takes and gives frames as they are serialized; see tunnel_frame.h.
using TunnelReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

/// Carries frames between two streams, one at a time in each direction. The relay reads the next
/// frame when the one before has been written, so a slow side makes the other one wait in HTTP/2's
/// flow control windows, and the relay holds at most one frame per direction. Frames of bytes are
/// passed on as they came, without a copy.
///
///   client ── open ──▶ relay ── wish ──▶ owner ── Expect(), and OpenTunnel ──▶ executor
///          ◀─ bytes ──▶      ◀──────────── answer, bytes ──────────────────────┘
///
/// Thread safe; wishes come from gRPC's threads.
class TunnelRelay {
 public:
  /// The wish of a client or executor to be joined with a task's port, with a command in its
  /// container, or with logs. Expect() or Refuse() answers it.
  struct Wish {
    int64_t tunnel = 0;  ///< the tunnel's number, from 1
    core::TaskId task;
    int port = 0;  ///< 0: the visualization port, or the task's own port if it has none
    std::optional<v1::LogWish> logs;        ///< set: logs are wanted, and task and port are unused
    std::optional<v1::ExecWish> exec = {};  ///< set: a command is wanted, and port is unused
    bool by_executor = false;  ///< the wish is an executor's, which may reach the job's driver only
  };
  /// Receives a wish. Must not call the relay.
  using OnWish = std::function<void(const Wish&)>;

  /// Limit on open tunnels to ports, for all clients of the job: a browser uses half a dozen per
  /// page.
  static constexpr int kMostTunnels = 64;
  /// Limit on open tunnels to logs: a client opens those of all tasks at once.
  static constexpr int kMostLogTunnels = 1024;
  /// Limit on open tunnels to commands. Each executor has a lower one for its own.
  static constexpr int kMostExecTunnels = 64;
  /// Limit on open tunnels of executors, each of which has one.
  static constexpr int kMostExecutorTunnels = 16384;
  /// The longest data in one frame, in bytes.
  static constexpr size_t kMostFrameBytes = size_t{1} << 20;

  explicit TunnelRelay(OnWish on_wish) : on_wish_(std::move(on_wish)) {}

  /// Takes the stream of a client, of an executor that wants to reach the driver, or of an executor
  /// that answers a wish. The caller has checked the peer's role. gRPC owns the returned reactor.
  TunnelReactor* FromClient(grpc::CallbackServerContext* context);
  TunnelReactor* FromReachingExecutor(grpc::CallbackServerContext* context);
  TunnelReactor* FromExecutor(grpc::CallbackServerContext* context,
                              const std::string& container_id);

  /// Lets the executor of container `container_id` answer the tunnel.
  void Expect(int64_t tunnel, const std::string& container_id);
  /// Ends a tunnel that no executor has answered; a tunnel that was answered goes on.
  void Refuse(int64_t tunnel, const absl::Status& why);
  /// Ends all tunnels, and all that are opened later.
  void Close(const std::string& why);

 private:
  class Leg;

  const OnWish on_wish_;
  std::mutex mutex_;  ///< guards the members below and the state of every leg
  std::set<Leg*> legs_;
  absl::flat_hash_map<int64_t, Leg*> waiting_;  ///< legs with a wish, until they are joined
  int clients_ = 0;                             ///< legs of clients
  int executors_ = 0;                           ///< legs of executors with a wish
  int port_clients_ = 0;                        ///< client legs with a wish for a port
  int log_clients_ = 0;                         ///< client legs with a wish for logs
  int exec_clients_ = 0;                        ///< client legs with a wish for a command
  int64_t last_tunnel_ = 0;
  LogLimit crowd_log_;
  LogLimit stray_log_;
  std::string closed_;  ///< why no tunnel is accepted any more; empty: tunnels are accepted
};

}  // namespace tony::rpc
