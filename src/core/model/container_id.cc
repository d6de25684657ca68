// A job's id may look like the end of a container's, so it is taken off first.
#include "core/model/container_id.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tony::core {

std::string ContainerId(absl::string_view job_id, const ContainerNumber& number) {
  const std::string last = absl::StrCat("-c", absl::Dec(number.number, absl::kZeroPad4));
  if (number.incarnation <= 1) return absl::StrCat(job_id, last);
  return absl::StrCat(job_id, "-a", number.incarnation, last);
}

ContainerNumber NumberOfContainer(absl::string_view job_id, absl::string_view container_id) {
  ContainerNumber found;
  if (!absl::ConsumePrefix(&container_id, job_id)) return found;
  for (absl::string_view part : absl::StrSplit(container_id, '-')) {
    int number = 0;
    if (absl::ConsumePrefix(&part, "a") && absl::SimpleAtoi(part, &number)) {
      found.incarnation = number;
    } else if (absl::ConsumePrefix(&part, "c") && absl::SimpleAtoi(part, &number)) {
      found.number = number;
    }
  }
  return found;
}

}  // namespace tony::core
