// A bounded queue that is swapped out as a whole: a thread that adds an event holds the lock for
// one push_back, and the writing thread makes one system call for all events of kPause.
#include "collective/watch/timeline.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "collective/base/thread.h"

namespace tony::collective {
namespace {

/// Pause between two writes, so that not each event costs a wake-up and a system call.
constexpr auto kPause = std::chrono::milliseconds(50);

int64_t Nanoseconds(std::chrono::system_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

Status CannotWrite(const std::string& path) {
  return {Code::kFailedPrecondition,
          "cannot write the timeline " + path + ": " + std::strerror(errno)};
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

}  // namespace

Result<std::shared_ptr<Timeline>> Timeline::Start(const Options& options) {
  Descriptor file(open(options.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return CannotWrite(options.path);
  return std::shared_ptr<Timeline>(new Timeline(options, std::move(file)));
}

Timeline::Timeline(Options options, Descriptor file)
    : options_(std::move(options)), file_(std::move(file)) {
  thread_ = StartThread([this] { Run(); });
}

Timeline::~Timeline() {
  const Status written = Finish();
  static_cast<void>(written);  // Write() has printed it on stderr
}

void Timeline::Add(TraceEvent event) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (finishing_) return;
    if (events_.size() >= kMostEvents) {
      ++dropped_;
      return;
    }
    first = events_.empty();
    events_.push_back(std::move(event));
  }
  // Only the first event of a batch wakes the writing thread.
  if (first) changed_.notify_all();
}

void Timeline::SetClock(int64_t offset, int64_t error) {
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t unix_at_0 = Nanoseconds(std::chrono::system_clock::now().time_since_epoch()) -
                            std::chrono::nanoseconds(steady).count();
  {
    const std::lock_guard lock(mutex_);
    if (clock_) return;
    clock_ = {.offset = offset, .error = error, .unix_nanoseconds = unix_at_0};
  }
  changed_.notify_all();
}

Status Timeline::Finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.notify_all();
  // A thread may be joined once only, and Finish() may be called twice.
  const std::lock_guard ending(ending_);
  if (thread_.joinable()) thread_.join();
  return written_;
}

void Timeline::Run() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, options_.clock_patience, [this] { return finishing_ || clock_; });
  }
  SetClock(0, -1);  // nobody has answered in time; no effect if somebody has
  TraceText text(options_.rank, *clock_);
  Write(text.Begin(HostName(), std::chrono::steady_clock::now()));
  std::vector<TraceEvent> events;
  int64_t dropped = 0;
  int64_t dropped_in_all = 0;
  for (bool more = true; more;) {
    more = Take(events, dropped);
    std::string lines;
    for (const TraceEvent& event : events) text.Add(event, lines);
    events.clear();
    if (dropped > 0) lines += text.Dropped(dropped, std::chrono::steady_clock::now());
    dropped_in_all += dropped;
    Write(lines);
  }
  Write(text.End(std::chrono::steady_clock::now()));
  if (dropped_in_all == 0) return;
  std::fprintf(stderr, "tony.collective: %lld events are not in the timeline %s: it is too slow\n",
               static_cast<long long>(dropped_in_all), options_.path.c_str());
}

bool Timeline::Take(std::vector<TraceEvent>& events, int64_t& dropped) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finishing_ || !events_.empty(); });
  // More events are collected for a moment; Finish() cuts the pause short.
  changed_.wait_for(lock, kPause, [this] { return finishing_; });
  events.swap(events_);
  dropped = std::exchange(dropped_, 0);
  return !finishing_;
}

void Timeline::Write(const std::string& text) {
  size_t written = 0;
  while (written_.ok() && written < text.size()) {
    const ssize_t size = write(file_.get(), &text[written], text.size() - written);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      written_ = CannotWrite(options_.path);
      std::fprintf(stderr, "tony.collective: %s; it ends here\n", written_.message().c_str());
      return;
    }
    written += static_cast<size_t>(size);
  }
}

}  // namespace tony::collective
