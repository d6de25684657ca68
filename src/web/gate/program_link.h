// The port through which the gate reaches the program of the job that has a page of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::web {

/// A connection to the program, which is being made at first. Bytes that are written meanwhile
/// wait. Callbacks come from the loop, never from within a call to this class, and none comes after
/// its destruction, which breaks the connection. Not thread safe: owned by the event loop.
class ProgramLink {
 public:
  /// `bytes` is empty when the program sends nothing more. Any error: there is no connection (any
  /// more), and the message says why.
  using OnRead = std::function<void(absl::StatusOr<std::string> bytes)>;

  virtual ~ProgramLink() = default;
  /// Waits for bytes. Must not be called again before the callback, nor after the end.
  virtual void Read(OnRead on_read) = 0;
  /// Sends all of `bytes`. Must not be called again before the callback, which never comes on a
  /// broken connection: Read() tells of that.
  virtual void Write(std::string bytes, std::function<void()> on_written) = 0;
};

/// Not thread safe: owned by the event loop.
class ProgramLinks {
 public:
  virtual ~ProgramLinks() = default;
  /// What the program is, for sentences: "worker:0".
  virtual std::string program() = 0;
  /// Where the program listens, which its redirections may name: "host:6006"; empty: not known.
  virtual std::string authority() = 0;
  /// FailedPrecondition – nothing listens there, so there is nothing to connect to.
  virtual absl::StatusOr<std::unique_ptr<ProgramLink>> Open() = 0;
};

}  // namespace tony::web
