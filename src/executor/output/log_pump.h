// Carries one output stream of the user's program from its pipe into its log, without secrets.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "executor/output/pattern_redactor.h"
#include "logs/secret_scanner.h"
#include "logs/segmented_log.h"
#include "os/files/unique_fd.h"

namespace tony::executor {

/// How the output is kept.
struct LogOptions {
  logs::LogLimits limits;
  std::vector<std::string> redact;  ///< RE2 patterns to take out, besides known secrets
};

/// Reads whenever there is something to read, so that the program never waits for its log, even if
/// the log cannot be written. Everything in the log and everything the observer sees has passed
/// SecretScanner and PatternRedactor, so no file contains a secret that they know.
///
/// A program that prints little at a time is read only every few milliseconds; the pipe is large
/// enough for that. Owned by the event loop.
class LogPump {
 public:
  struct Callbacks {
    /// Receives everything that is written, before it is written.
    logs::OutputSink observer;
    /// Receives a sentence for people: output was lost or dropped. At most a few for each log.
    logs::SegmentedLog::OnLoss on_loss;
    /// Called before the loop reads this stream, so that another one can be read first. May be
    /// empty.
    std::function<void()> before_read = {};
  };

  /// Makes the pipe and opens the log `path` ("….log"). `clock` must outlive this. InvalidArgument
  /// – RE2 does not accept a pattern; errno codes.
  static absl::StatusOr<std::unique_ptr<LogPump>> Open(EventLoop& loop, const Clock& clock,
                                                       const std::string& path,
                                                       const LogOptions& options,
                                                       Callbacks callbacks);

  /// The write end, for the program; close it here once the program has its own.
  int write_end() const { return write_end_.get(); }
  void CloseWriteEnd() { write_end_.Reset(); }
  /// Takes over what is in the pipe now, without waiting for more and without following a process
  /// that goes on writing.
  void ReadWaiting();
  /// ReadWaiting(), and nothing is held back: the possible begin of a secret is no longer one.
  void Drain();
  /// Drain(), then completes the log: what remains to be said about it is said.
  void Finish();

 private:
  LogPump(EventLoop& loop, const Clock& clock, os::UniqueFd read_end, os::UniqueFd write_end,
          logs::SegmentedLog log, PatternRedactor patterns, Callbacks callbacks);
  void Watch();
  void OnReadable();
  /// Returns the number of bytes read: 0 at the end of the stream, negative if nothing is there.
  ssize_t ReadOnce();
  /// Releases held bytes without waiting for the rest of a divided secret.
  void PassOnHeld();
  void Keep(const char* data, size_t size);

  EventLoop& loop_;
  const Clock& clock_;
  os::UniqueFd read_end_;
  os::UniqueFd write_end_;
  logs::SegmentedLog log_;
  logs::SecretScanner scanner_;
  PatternRedactor patterns_;
  const logs::OutputSink to_patterns_;
  const logs::OutputSink to_log_;
  const Callbacks callbacks_;
  const std::unique_ptr<char[]> buffer_;  ///< each page of it costs memory only once it is filled
  bool may_pause_ = false;                ///< the pipe is large enough
  bool over_ = false;                     ///< the end of the pipe was seen
  int64_t read_at_ = 0;                   ///< Unix milliseconds of the newest read
  std::unique_ptr<EventLoop::Handle> pause_;
  std::unique_ptr<EventLoop::Handle>
      watch_;  ///< last: destroyed before the descriptor that it watches
};

}  // namespace tony::executor
