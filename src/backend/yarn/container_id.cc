// The id's number holds the count of the ResourceManager's starts in its upper bits and a sequence
// number in the lower 40.
#include "backend/yarn/container_id.h"

#include <cinttypes>
#include <cstdio>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tony::backend {
namespace {

constexpr int kSequenceBits = 40;
constexpr int64_t kSequenceMask = (int64_t{1} << kSequenceBits) - 1;

}  // namespace

std::string ContainerIdText(const ::hadoop::yarn::ContainerIdProto& id) {
  const auto& attempt = id.app_attempt_id();
  const int64_t starts = id.id() >> kSequenceBits;
  char epoch[24] = "";
  if (starts > 0) std::snprintf(epoch, sizeof(epoch), "e%02" PRId64 "_", starts);
  char text[128];
  std::snprintf(text, sizeof(text), "container_%s%" PRId64 "_%04d_%02d_%06" PRId64, epoch,
                attempt.application_id().cluster_timestamp(), attempt.application_id().id(),
                attempt.attemptid(), id.id() & kSequenceMask);
  return text;
}

absl::StatusOr<::hadoop::yarn::ContainerIdProto> ParseContainerId(const std::string& text) {
  std::vector<std::string> parts = absl::StrSplit(text, '_');
  int64_t starts = 0;
  bool good = parts.size() == 6 && parts[1].size() > 1 && parts[1][0] == 'e' &&
              absl::SimpleAtoi(parts[1].substr(1), &starts);
  if (good) parts.erase(parts.begin() + 1);
  int64_t timestamp = 0;
  int application = 0;
  int attempt = 0;
  int64_t sequence = 0;
  good = parts.size() == 5 && parts[0] == "container" && absl::SimpleAtoi(parts[1], &timestamp) &&
         absl::SimpleAtoi(parts[2], &application) && absl::SimpleAtoi(parts[3], &attempt) &&
         absl::SimpleAtoi(parts[4], &sequence) && starts >= 0 && sequence >= 0 &&
         sequence <= kSequenceMask;
  if (!good) return absl::InvalidArgumentError(absl::StrCat(text, " is no container of YARN"));
  ::hadoop::yarn::ContainerIdProto id;
  id.mutable_app_attempt_id()->mutable_application_id()->set_cluster_timestamp(timestamp);
  id.mutable_app_attempt_id()->mutable_application_id()->set_id(application);
  id.mutable_app_attempt_id()->set_attemptid(attempt);
  id.set_id((starts << kSequenceBits) | sequence);
  return id;
}

}  // namespace tony::backend
