// The engine's lines are passed on as they come: a layer of gigabytes is no silent wait.
#include "backend/image/image_pull.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/unique_fd.h"
#include "os/processes/subprocess.h"

namespace tony::backend {
namespace {

using std::chrono::milliseconds;

/// The most of one line that is kept; the rest of a longer line follows as a line of its own.
constexpr size_t kMostOfLine = 4096;
/// The most of the output that is searched for the engine's complaint.
constexpr size_t kMostOfTail = 8192;
/// How long the pipe may stay open after the engine has ended.
constexpr milliseconds kPipePatience{1000};

/// Splits what the engine prints into lines, and keeps its end. Not thread safe.
class Lines {
 public:
  explicit Lines(const PullProgress& progress) : progress_(progress) {}

  void Add(const char* data, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      if (data[i] != '\n' && data[i] != '\r') line_.push_back(data[i]);
      if (data[i] == '\n' || data[i] == '\r' || line_.size() == kMostOfLine) Finish();
    }
  }
  void Finish() {
    if (line_.empty()) return;
    absl::StrAppend(&tail_, line_, "\n");
    if (tail_.size() > kMostOfTail) tail_.erase(0, tail_.size() - kMostOfTail);
    progress_.on_line(std::exchange(line_, ""));
  }
  const std::string& tail() const { return tail_; }

 private:
  const PullProgress& progress_;
  std::string line_;
  std::string tail_;
};

/// A running `pull`. Not thread safe.
class Pull {
 public:
  Pull(os::Subprocess process, os::UniqueFd output, Duration limit, const PullProgress& progress)
      : process_(std::move(process)),
        output_(std::move(output)),
        progress_(progress),
        lines_(progress),
        limit_(limit),
        begin_(clock_.Now()),
        heard_(begin_) {}

  /// Returns the engine's exit status. DeadlineExceeded – it was killed.
  absl::StatusOr<os::ExitStatus> Wait() {
    while (true) {
      if (const auto status = process_.TryWait()) {
        Drain();
        lines_.Finish();
        return *status;
      }
      const TimePoint now = clock_.Now();
      if (now >= begin_ + limit_) return GiveUp();
      if (now >= heard_ + progress_.pause) {
        heard_ = now;
        progress_.on_silence(now - begin_);
      }
      WaitUntil(std::min(begin_ + limit_, heard_ + progress_.pause));
    }
  }
  const std::string& tail() const { return lines_.tail(); }

 private:
  void WaitUntil(TimePoint end) {
    const int64_t left = std::chrono::ceil<milliseconds>(end - clock_.Now()).count();
    pollfd watched[] = {{.fd = output_.valid() ? output_.get() : -1, .events = POLLIN},
                        {.fd = process_.pidfd(), .events = POLLIN}};
    ::poll(watched, 2, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (watched[0].revents != 0) Read();
  }

  /// False: the output has ended.
  bool Read() {
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) {
      output_.Reset();
      return false;
    }
    heard_ = clock_.Now();
    lines_.Add(buffer.data(), static_cast<size_t>(count));
    return true;
  }

  // Helpers of the engine that live on may hold the pipe open, so its end is not waited for long.
  void Drain() {
    const TimePoint end = clock_.Now() + kPipePatience;
    while (output_.valid()) {
      const int64_t left = std::chrono::ceil<milliseconds>(end - clock_.Now()).count();
      pollfd watched{.fd = output_.get(), .events = POLLIN};
      if (left <= 0 || ::poll(&watched, 1, static_cast<int>(left)) <= 0 || !Read()) return;
    }
  }

  absl::Status GiveUp() {
    process_.Signal(SIGKILL);
    pollfd watched{.fd = process_.pidfd(), .events = POLLIN};
    ::poll(&watched, 1, static_cast<int>(kPipePatience.count()));
    process_.TryWait();
    return absl::DeadlineExceededError(
        absl::StrCat("it was not complete after ",
                     std::chrono::duration_cast<std::chrono::seconds>(limit_).count(), " s"));
  }

  const SystemClock clock_;
  os::Subprocess process_;
  os::UniqueFd output_;
  const PullProgress& progress_;
  Lines lines_;
  const Duration limit_;
  const TimePoint begin_;
  TimePoint heard_;  ///< when the engine, or on_silence, was last heard
};

}  // namespace

absl::Status PullImage(const Engine& engine, const std::string& image, Duration limit,
                       const PullProgress& progress) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  os::UniqueFd read_end(ends[0]);
  os::UniqueFd write_end(ends[1]);
  TONY_ASSIGN_OR_RETURN(os::Subprocess process,
                        os::Subprocess::Start({.arguments = {engine.program, "pull", image},
                                               .stdout_fd = write_end.get(),
                                               .stderr_fd = write_end.get(),
                                               .new_session = false}));
  write_end.Reset();
  Pull pull(std::move(process), std::move(read_end), limit, progress);
  TONY_ASSIGN_OR_RETURN(const os::ExitStatus status, pull.Wait());
  if (status.signal == 0 && status.code == 0) return absl::OkStatus();
  if (status.signal != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(engine.name(), " was killed by signal ", status.signal));
  }
  return absl::FailedPreconditionError(EngineComplaint(pull.tail()));
}

}  // namespace tony::backend
