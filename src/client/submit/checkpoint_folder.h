// Makes and locks the checkpoint folder that a job on this machine names.
#pragma once

#include <optional>
#include <string>

#include "jobfile/job/job_builder.h"
#include "jobfile/xml/problem.h"
#include "os/files/unique_fd.h"

namespace tony::client {

/// The folder of tony.application.checkpoint-dir. Plain data.
struct CheckpointFolder {
  os::UniqueFd lock;  ///< to be inherited by the job's processes; not valid: there is no lock
  std::optional<jobfile::Problem> problem;  ///< why the job cannot have the folder
  std::string note;  ///< why the folder is not locked, although it should be; empty: it need not be
};

/// Checks that the job's checkpoint folder is a folder to which this user may write, or may become
/// one. Makes nothing.
std::optional<jobfile::Problem> CheckCheckpointFolder(const jobfile::LoadedJob& job);

/// Makes the job's checkpoint folder, with its parents, by the user's umask, and locks it unless
/// jobs may share it. A job without such a folder, or with one on another file system (a URI), gets
/// no lock.
CheckpointFolder ClaimCheckpointFolder(const jobfile::LoadedJob& job);

}  // namespace tony::client
