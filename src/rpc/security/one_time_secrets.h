// Secrets that stand in for a certificate once, until the certificate is issued.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::rpc {

/// One secret for each owner, a container for instance. Holds as many secrets as there are owners
/// that were not forgotten. Thread safe.
class OneTimeSecrets {
 public:
  /// A new secret for `owner`, 64 hexadecimal digits of 256 random bits, in place of its earlier
  /// one. It can be used until `end`. Internal – the kernel gives no random bits.
  absl::StatusOr<std::string> Make(const std::string& owner, TimePoint end);
  /// Uses the owner's secret up. NotFound – the owner has none. PermissionDenied – it is another
  /// one; nothing is used up. AlreadyExists – it was used before. DeadlineExceeded – it is too old.
  /// The comparison takes the same time wherever the texts differ.
  absl::Status Use(const std::string& owner, const std::string& secret, TimePoint now);
  /// Drops the owner's secret, which nobody can use from now on. An unknown owner is ignored.
  void Forget(const std::string& owner);

 private:
  struct Secret {
    std::string text;
    TimePoint end;
    bool used = false;
  };

  std::mutex mutex_;  ///< guards the map
  std::map<std::string, Secret> secrets_;
};

}  // namespace tony::rpc
