// Local time, to the second, and 16 random bits. storage/job_proof.h recognizes this form, so both
// change together.
#include "client/submit/job_id.h"

#include <ctime>

#include "absl/strings/str_format.h"

namespace tony::client {

std::string MakeLocalJobId(int64_t unix_millis, uint32_t random) {
  const time_t seconds = unix_millis / 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return absl::StrFormat("local-%s-%04x", std::string(text), random & 0xffff);
}

}  // namespace tony::client
