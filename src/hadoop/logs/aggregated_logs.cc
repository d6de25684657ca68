// The length that the file states bounds each log: a log that ends early is an error, and bytes
// behind it are not part of it.
#include "hadoop/logs/aggregated_logs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::hadoop {

void AggregatedLogs::Begin(std::string container, std::string name, int64_t bytes) {
  container_ = std::move(container);
  name_ = std::move(name);
  left_ = bytes;
}

absl::StatusOr<size_t> AggregatedLogs::Read(char* data, size_t size) {
  if (left_ == 0) return 0;
  const auto most = static_cast<size_t>(std::min<uint64_t>(size, static_cast<uint64_t>(left_)));
  TONY_ASSIGN_OR_RETURN(const size_t count, ReadStored(data, most));
  if (count == 0) {
    return absl::DataLossError(
        absl::StrCat(name_, " of ", container_, " ends ", left_, " bytes too early"));
  }
  left_ -= static_cast<int64_t>(count);
  return count;
}

}  // namespace tony::hadoop
