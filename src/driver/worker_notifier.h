// Tells a worker of an elastic Horovod job that the hosts have changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "driver/elastic_messages.h"

namespace tony::driver {

/// The machine on which a worker runs, as seen by the driver.
enum class WorkerMachine { kThis, kAnother };

/// Returns the endpoints in the order in which to try them. Loopback addresses ("127.…", and "0.…",
/// which the kernel takes for them) come first for a worker of this machine. For a worker of
/// another machine they are left out, because they would reach some process of this machine. They
/// are kept if the worker has no other address: the hosts of a cluster may all be names of one
/// machine, and loopback then does reach the worker.
std::vector<WorkerAddress::Endpoint> EndpointsToTry(const WorkerAddress& worker,
                                                    WorkerMachine machine);

/// Sends each notification as one request on a connection of its own. An address may be dead, or
/// belong to another machine (each machine may have a 172.17.0.1), so only a reply with the
/// worker's secret counts.
///
/// 1. The first address is tried. If it fails, the next one is tried at once.
/// 2. If an address does not answer for a while, the next one is tried in parallel: a worker that
///    computes may be slow to answer, and must not be taken for a dead address.
/// 3. The notification ends with the first valid reply, with the last failure, or with the
///    time-out. A worker that receives a notification twice acts on it once, because of the
///    timestamp.
///
/// Not thread safe: owned by the event loop.
class WorkerNotifier {
 public:
  struct Limits {
    std::chrono::milliseconds next_address{
        500};  ///< wait for an answer before the next address is tried
    std::chrono::milliseconds in_all{5'000};  ///< limit for a whole notification
  };

  /// OK – the worker has acknowledged the notification. A worker that is about to meet the ranks of
  /// a new round forgets all notifications, so repeat this one with the same timestamp until the
  /// worker asks for its place in the next round. DeadlineExceeded – no address has answered in
  /// time; Unavailable – each address has failed. Both messages say what happened at each address.
  /// In both cases the worker may still have received the notification.
  using OnDone = std::function<void(const absl::Status&)>;

  /// `loop` must outlive this.
  WorkerNotifier(EventLoop& loop, Limits limits);
  /// Ends all notifications; no callback follows.
  ~WorkerNotifier();
  WorkerNotifier(const WorkerNotifier&) = delete;
  WorkerNotifier& operator=(const WorkerNotifier&) = delete;

  /// `on_done` follows once, from the loop; it may destroy the notifier. Two notifications to the
  /// same worker at a time may arrive in any order; the worker ignores the older one after the
  /// newer.
  void Notify(const WorkerAddress& worker, WorkerMachine machine, int64_t timestamp,
              HostChange change, OnDone on_done);

 private:
  class Attempt;
  class Notification;

  EventLoop& loop_;
  const Limits limits_;
  std::list<std::unique_ptr<Notification>> notifications_;
};

}  // namespace tony::driver
