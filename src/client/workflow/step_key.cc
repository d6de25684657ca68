#include "client/workflow/step_key.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "os/files/archive_digest.h"

namespace tony::client {
namespace {

constexpr size_t kMostBytes = 1000;
constexpr size_t kDigestDigits = 32;

}  // namespace

std::string JoinStepKey(const std::vector<std::string>& parts) {
  return absl::StrJoin(parts, "|", [](std::string* key, const std::string& part) {
    absl::StrAppend(key, absl::StrReplaceAll(part, {{"%", "%25"}, {"|", "%7C"}}));
  });
}

absl::Status CheckStepKey(const std::string& key) {
  if (key.empty()) {
    return absl::InvalidArgumentError(
        "the step's key is empty; name workflow, execution and step, without the attempt");
  }
  if (key.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the step's key has ", key.size(),
                                                   " bytes; give one of ", kMostBytes, " at most"));
  }
  if (SafeText(key) != key) {
    return absl::InvalidArgumentError(
        "the step's key has control characters, or is not UTF-8; leave them out");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> StepDigest(const std::string& key) {
  os::Sha256 digest;
  digest.Update(key.data(), key.size());
  TONY_ASSIGN_OR_RETURN(const std::string digits, digest.Finish());
  return digits.substr(0, kDigestDigits);
}

}  // namespace tony::client
