// Helpers of the local backend's tests.
#include "tests/backend/local/backend_support.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "gtest/gtest.h"

namespace tony::backend {

void RecordingListener::OnContainerGranted(const core::Container& container) {
  const std::lock_guard<std::mutex> lock(mutex_);
  granted_.push_back(container);
  changed_.notify_all();
}

void RecordingListener::OnExecutorStarted(const std::string& container_id,
                                          const core::ExecutorProcess& process) {
  const std::lock_guard<std::mutex> lock(mutex_);
  started_[container_id] = process;
  changed_.notify_all();
}

void RecordingListener::OnAllocationWaiting(const std::string& what, const std::string& unblock) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(what + " | " + unblock);
  changed_.notify_all();
}

void RecordingListener::OnAllocationRefused(bool never_fits, const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  refused_.push_back((never_fits ? "never: " : "failed: ") + sentence);
  changed_.notify_all();
}

void RecordingListener::OnContainerEnded(const std::string& container_id,
                                         const core::ContainerEnd& end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_[container_id] = end;
  changed_.notify_all();
}

std::vector<core::Container> RecordingListener::WaitGranted(size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  WaitFor(lock, [&] { return granted_.size() >= count; });
  return granted_;
}

std::string RecordingListener::WaitWaiting(size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  return WaitFor(lock, [&] { return waiting_.size() >= count; }) ? waiting_.back() : "";
}

std::string RecordingListener::WaitRefused() {
  std::unique_lock<std::mutex> lock(mutex_);
  return WaitFor(lock, [&] { return !refused_.empty(); }) ? refused_.back() : "";
}

core::ExecutorProcess RecordingListener::WaitStarted(const std::string& container_id) {
  std::unique_lock<std::mutex> lock(mutex_);
  WaitFor(lock, [&] { return started_.count(container_id) > 0; });
  return started_[container_id];
}

core::ContainerEnd RecordingListener::WaitEnded(const std::string& container_id) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!WaitFor(lock, [&] { return ended_.count(container_id) > 0; })) {
    return {.sentence = "did not end"};
  }
  return ended_[container_id];
}

size_t RecordingListener::granted_count() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return granted_.size();
}

size_t RecordingListener::ended_count() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_.size();
}

ForkedChild::ForkedChild(const std::function<int()>& body) : pid_(::fork()) {
  if (pid_ == 0) ::_exit(body());
  EXPECT_GT(pid_, 0);
}

ForkedChild::~ForkedChild() {
  Kill(SIGKILL);
  Wait();
}

void ForkedChild::Kill(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

int ForkedChild::Wait() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, 0) == pid_) pid_ = -1;
  return status_;
}

Signpost::Signpost() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }

Signpost::~Signpost() {
  ::close(ends_[0]);
  ::close(ends_[1]);
}

void Signpost::Reach(char what) const { EXPECT_EQ(::write(ends_[1], &what, 1), 1); }

void Signpost::BecomeOutput() const { ::dup2(ends_[1], STDOUT_FILENO); }

char Signpost::Await() const {
  pollfd readable{.fd = ends_[0], .events = POLLIN};
  const int limit_ms = static_cast<int>(std::chrono::milliseconds(kPatience).count());
  char what = 0;
  if (::poll(&readable, 1, limit_ms) != 1) return 0;
  EXPECT_EQ(::read(ends_[0], &what, 1), 1);
  return what;
}

core::Capacity SmallMachine(int64_t memory_mb, int gpus) {
  core::Capacity capacity{.host = "box", .memory_mb = memory_mb, .vcores = 2};
  capacity.gpus.resize(static_cast<size_t>(gpus));
  std::iota(capacity.gpus.begin(), capacity.gpus.end(), 0);
  return capacity;
}

core::ContainerRequest Workers(int count, int64_t memory_mb, int gpus) {
  return {.type = "worker",
          .count = count,
          .resources = {.memory_mb = memory_mb, .vcores = 1, .gpus = gpus}};
}

}  // namespace tony::backend
