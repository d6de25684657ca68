// Which framework a job is for, and which task types that alone brings along.
#pragma once

#include <string>

#include "core/model/job_description.h"
#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// Who runs the rendezvous of a Horovod job.
enum class HorovodDriver {
  kNone,   ///< nobody: the job is for another framework
  kTony,   ///< tony-driver; all that its task type takes from the configuration is its size and
           ///< where it runs
  kUsers,  ///< a program of the user's, `tony.driver.command`
};

/// TensorFlow where the key says nothing, or what this version does not have.
core::Framework FrameworkOf(const Configuration& configuration);

HorovodDriver HorovodDriverOf(const Configuration& configuration);

/// Whether tasks of the type run the rendezvous of the job, which is for Horovod then.
bool IsHorovodDriver(const Configuration& configuration, const std::string& task_type);

}  // namespace tony::jobfile
