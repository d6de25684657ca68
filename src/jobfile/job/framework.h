// The framework of a job, and the driver that a Horovod job has because of it.
#pragma once

#include <string>

#include "core/model/job_description.h"
#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// The program that runs the rendezvous of a Horovod job.
enum class HorovodDriver {
  kNone,   ///< none: the job has another framework
  kTony,   ///< tony-driver; the configuration sets only its size and its nodes
  kUsers,  ///< a program of the user's, `tony.driver.command`
};

/// The framework of the job. TensorFlow if the key is not set or names one that this version does
/// not support.
core::Framework FrameworkOf(const Configuration& configuration);

HorovodDriver HorovodDriverOf(const Configuration& configuration);

/// Whether the job is a Horovod job and `task_type` is the type of its driver.
bool IsHorovodDriver(const Configuration& configuration, const std::string& task_type);

}  // namespace tony::jobfile
