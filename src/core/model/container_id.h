// The ids of containers on backends that number them themselves.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tony::core {

/// Which container of a job it is. Plain data.
struct ContainerNumber {
  int incarnation = 1;  ///< the ApplicationMaster that numbered it; 1: as if all were one
  int number = 0;       ///< from 1

  bool operator==(const ContainerNumber&) const = default;
};

/// "JOB-c0007", or "JOB-a2-c0007" of incarnation 2.
std::string ContainerId(absl::string_view job_id, const ContainerNumber& number);

/// The inverse of ContainerId(). A part that `container_id` lacks keeps its default.
ContainerNumber NumberOfContainer(absl::string_view job_id, absl::string_view container_id);

}  // namespace tony::core
