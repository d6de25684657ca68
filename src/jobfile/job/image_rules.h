// Validation of the images of a job's containers.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds a problem for each container without an image, each text that cannot be an image's name,
/// each image of a task type that does not exist, and each malformed mount. No effect if the job
/// uses no images.
void CheckImages(const Configuration& configuration, BuildResult* result);

/// The key from which the task type `owner` has its image.
std::string ImageKey(const Configuration& configuration, const std::string& owner);

}  // namespace tony::jobfile
