// The ApplicationMaster as a child process of the client, on the local backend.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backend/job_folder.h"
#include "common/clock.h"
#include "os/subprocess.h"

namespace tony::client {

/// Not thread safe.
class MasterProcess {
 public:
  /// Starts tony-am (which lies beside this program) and waits until it has published its address.
  /// Unavailable – it ended before that; the message has the last lines of its log.
  /// DeadlineExceeded – it did not get ready within `deadline` and was killed.
  static absl::StatusOr<MasterProcess> Start(const backend::JobFolder& folder, bool detached,
                                             Duration deadline);

  /// Readable once the process has ended.
  int pidfd() const { return process_.pidfd(); }
  bool ended() { return process_.TryWait().has_value(); }
  void Kill() const;

 private:
  explicit MasterProcess(os::Subprocess process) : process_(std::move(process)) {}

  os::Subprocess process_;
};

}  // namespace tony::client
