// The driver's side of notification_test.py: a rendezvous server where a worker puts its address,
// and what is then told to it.
//
//   notify_worker
//
// Prints its port, and "worker" with the worker's addresses when it has put them. Then for each
// line "TIMESTAMP CHANGE" of standard input, CHANGE a number, notifies the worker and prints
// "heard" or why not; "TIMESTAMP CHANGE stranger" does so without its secret. Ends with its input.
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/event_loop.h"
#include "core/rendezvous/slot_plan.h"
#include "driver/elastic_messages.h"
#include "driver/worker_notifier.h"
#include "os/network/peer_user.h"
#include "rendezvous/local_store.h"
#include "rendezvous/rendezvous_server.h"

namespace tony::driver {
namespace {

void Print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Not thread safe: owned by the event loop.
class Program {
 public:
  explicit Program(EventLoop& loop) : loop_(loop) {
    store_.Begin(core::PlanSlots({{"a", 1}}, 1).value());
    watch_ = store_.Watch([this](const core::StoreOperation& change) { OnChange(change); });
    server_ = *rendezvous::RendezvousServer::Start(loop, store_, 0, os::LoopbackPeerCheck(), {});
    input_watch_ = loop.WatchReadable(STDIN_FILENO, [this] { OnInput(); });
    Print(absl::StrCat(server_->port()));
  }

 private:
  void OnChange(const core::StoreOperation& change) {
    const auto* put = std::get_if<core::PutValue>(&change);
    if (put == nullptr || put->scope != "worker_addresses") return;
    const auto worker = ParseWorkerAddresses(*put->value);
    if (!worker.ok()) return Print(worker.status().ToString());
    worker_ = *worker;
    Print(absl::StrCat("worker ", put->key, " ",
                       absl::StrJoin(worker_.endpoints, " ", [](auto* text, const auto& endpoint) {
                         absl::StrAppend(text, endpoint.interface, "=", endpoint.address, ":",
                                         endpoint.port);
                       })));
  }

  void OnInput() {
    char bytes[4096];
    const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof(bytes));
    if (size <= 0) return loop_.Stop();
    input_.append(bytes, static_cast<size_t>(size));
    for (size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      OnLine(input_.substr(0, end));
      input_.erase(0, end + 1);
    }
  }

  void OnLine(const std::string& line) {
    long long timestamp = 0;
    int change = 0;
    char who[16] = "";
    if (std::sscanf(line.c_str(), "%lld %d %15s", &timestamp, &change, who) < 2) {
      return Print("not understood: " + line);
    }
    WorkerAddress worker = worker_;
    if (*who != '\0') worker.secret.assign(kSecretBytes, 's');
    notifier_.Notify(
        worker, WorkerMachine::kThis, timestamp, static_cast<HostChange>(change),
        [](const absl::Status& status) { Print(status.ok() ? "heard" : status.ToString()); });
  }

  EventLoop& loop_;
  rendezvous::LocalStore store_{loop_, core::StoreLimits::For(1)};
  std::unique_ptr<EventLoop::Handle> watch_;
  std::unique_ptr<rendezvous::RendezvousServer> server_;
  std::unique_ptr<EventLoop::Handle> input_watch_;
  WorkerNotifier notifier_{loop_, {}};
  WorkerAddress worker_;
  std::string input_;
};

}  // namespace
}  // namespace tony::driver

int main() {
  tony::EventLoop loop;
  const tony::driver::Program program(loop);
  loop.Run();
}
