// The thread is detached, because the name service may block it for longer than this object lives.
// The shared state tells it whether anybody still waits for the answer.
#include "executor/horovod/interface_finder.h"

#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "os/network/network_interface.h"

namespace tony::executor {

/// The state shared with the thread.
struct InterfaceFinder::Shared {
  std::mutex mutex;
  EventLoop* loop = nullptr;          ///< null: nobody waits for the answer any more
  InterfaceFinder* finder = nullptr;  ///< used on the loop's thread only
};

InterfaceFinder::InterfaceFinder(EventLoop& loop, const std::string& host, OnFound on_found,
                                 std::chrono::milliseconds patience)
    : on_found_(std::move(on_found)), shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->finder = this;
  deadline_ = loop.After(patience, [this, host] {
    Finish(absl::DeadlineExceededError(
        absl::StrCat("the name service does not say in time who ", host, " is")));
  });
  std::thread([host, shared = shared_] {
    const absl::StatusOr<std::string> name = os::InterfaceTowards(host);
    std::lock_guard lock(shared->mutex);
    if (shared->loop == nullptr) return;
    shared->loop->Post([shared, name] {
      if (shared->finder != nullptr) shared->finder->Finish(name);
    });
  }).detach();
}

InterfaceFinder::~InterfaceFinder() {
  std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
  shared_->finder = nullptr;
}

void InterfaceFinder::Finish(const absl::StatusOr<std::string>& name) {
  shared_->finder = nullptr;
  deadline_.reset();
  LogDebug("the network interface is looked up", {{"name", name.value_or("")}});
  const OnFound found = on_found_;
  found(name);
}

}  // namespace tony::executor
