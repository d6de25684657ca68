// Standard output or error of this program, written without ever blocking the event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "os/files/unique_fd.h"

namespace tony::client {

/// Writes one piece after the other. Not thread safe: owned by the event loop.
class OutputFile {
 public:
  /// OK – the piece is written. Unavailable – nobody reads any more. ResourceExhausted – the disk
  /// is full.
  using OnWritten = std::function<void(const absl::Status&)>;

  /// `fd` stays the caller's.
  OutputFile(EventLoop& loop, int fd);

  /// Must not be called again before the callback, which may come from within the call.
  void Write(std::string bytes, OnWritten on_written);

 private:
  void WriteMore();

  EventLoop& loop_;
  os::UniqueFd own_;  ///< the same file, opened again so that writing does not block
  int fd_;
  size_t most_bytes_;  ///< for one write
  std::string bytes_;
  size_t written_ = 0;
  OnWritten on_written_;
  std::unique_ptr<EventLoop::Handle> watch_;
};

}  // namespace tony::client
