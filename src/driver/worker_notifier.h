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

/// Where a worker runs, as the driver sees it.
enum class WorkerMachine { kThis, kAnother };

/// The endpoints in the order in which to try them. Loopback addresses ("127.…", and "0.…", which
/// the kernel takes for them) come first for a worker of this machine. For one of another machine
/// they lead to a stranger here: they are left out, unless there are no others, for clusters whose
/// machines share their addresses.
std::vector<WorkerAddress::Endpoint> EndpointsToTry(const WorkerAddress& worker,
                                                    WorkerMachine machine);

/// Each notification is one request on a connection of its own. An address may lead nowhere, or to
/// somebody else (each machine may have a 172.17.0.1), so it counts only who answers with the
/// worker's secret.
///
/// 1. The first address is tried. When it fails, the next one is tried at once.
/// 2. When it says nothing for a while, the next one is tried besides it: a worker that computes
///    may be slow to answer, and must not be taken for a dead address.
/// 3. The first good answer ends the notification, and so does the last failure, or the time. A
///    worker that has heard of a notification twice listens once, because of the timestamp.
///
/// Not thread safe: owned by the event loop.
class WorkerNotifier {
 public:
  struct Limits {
    std::chrono::milliseconds next_address{500};  ///< for an answer, before the next one is tried
    std::chrono::milliseconds in_all{5'000};      ///< for a notification
  };

  /// OK – the worker has heard; one that is about to begin again drops it, so repeat it with the
  /// same timestamp until it asks for its place. DeadlineExceeded – nobody has answered in time;
  /// Unavailable – each address has failed. Both say what was at each address. The worker may have
  /// heard all the same.
  using OnDone = std::function<void(const absl::Status&)>;

  /// `loop` outlives it.
  WorkerNotifier(EventLoop& loop, Limits limits);
  /// Nobody is called any more.
  ~WorkerNotifier();
  WorkerNotifier(const WorkerNotifier&) = delete;
  WorkerNotifier& operator=(const WorkerNotifier&) = delete;

  /// `on_done` follows, once, from the loop; it may destroy the notifier. A worker that is told
  /// twice at a time hears of both in any order; it does not listen to the older one after the
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
