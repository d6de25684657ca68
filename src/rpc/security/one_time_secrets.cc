// A used secret is kept until its owner is forgotten, so that a second use can be told from a
// guess.
#include "rpc/security/one_time_secrets.h"

#include <sys/random.h>

#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "os/files/message_digest.h"

namespace tony::rpc {
namespace {

/// 256 bits: nobody guesses them, so wrong secrets need no count.
constexpr size_t kSecretBytes = 32;

}  // namespace

absl::StatusOr<std::string> OneTimeSecrets::Make(const std::string& owner, TimePoint end) {
  std::array<char, kSecretBytes> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return absl::InternalError("the kernel gives no random bits for a container's secret");
  }
  std::string text = absl::BytesToHexString({bytes.data(), bytes.size()});
  std::lock_guard lock(mutex_);
  secrets_[owner] = {.text = text, .end = end};
  return text;
}

absl::Status OneTimeSecrets::Use(const std::string& owner, const std::string& secret,
                                 TimePoint now) {
  std::lock_guard lock(mutex_);
  const auto found = secrets_.find(owner);
  if (found == secrets_.end()) {
    return absl::NotFoundError(absl::StrCat("no executor of ", owner, " is awaited"));
  }
  Secret& own = found->second;
  // The length is no secret. Whether it was used, or is too old, is for its holder only.
  if (!os::SameDigest(secret, own.text)) {
    return absl::PermissionDeniedError(absl::StrCat("the secret is not that of ", owner));
  }
  if (std::exchange(own.used, true)) {
    return absl::AlreadyExistsError(absl::StrCat("the secret of ", owner, " was used before"));
  }
  if (now > own.end) {
    return absl::DeadlineExceededError(absl::StrCat("the secret of ", owner, " is too old"));
  }
  return absl::OkStatus();
}

void OneTimeSecrets::Forget(const std::string& owner) {
  std::lock_guard lock(mutex_);
  secrets_.erase(owner);
}

}  // namespace tony::rpc
