// Removes the folder of a job that is over, and tells how large it is.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Removes `folder` with its history, logs and, if `checkpoints`, checkpoints. The locks of the
/// ApplicationMaster and its keeper are held during the removal, so that no ApplicationMaster
/// starts there. Only a folder that proves to be a job's is touched (storage/job_proof.h).
///
/// NotFound – `folder` is no job's folder. FailedPrecondition – a process of the job lives, or it
/// has checkpoints that are to stay; the message says what to do. The codes of os::OpenOwnFolder(),
/// backend::Ledger and os::RemoveTree().
absl::Status RemoveJob(const storage::JobFolder& folder, bool checkpoints);

/// The room that the files below `path` take on the disk, in bytes. Links are not followed; what
/// cannot be read counts as nothing.
int64_t DiskBytes(const std::string& path);

/// "512 KiB", "1.3 GiB": at most one digit behind the point, and none for KiB.
std::string FormatBytes(int64_t bytes);

}  // namespace tony::client
