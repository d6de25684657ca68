// The folder tony.local.dir, which is tony's alone.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"

namespace tony::client {

/// Opens `path`, which is made when it is missing, and makes sure of two things before anything is
/// written to or removed from it:
///
/// - nobody can put another folder in its place (os/files/folder_trust.h);
/// - it is tony's. A new or an empty folder becomes so by a marker, ".tony-folder". In one without
///   the marker there may be only what earlier versions, which made none, have put there: "jobs"
///   and "staging" with jobs' folders (storage/job_proof.h), "ledger" with its files, and "yarn",
///   which is a cluster's. It gets the marker then.
///
/// PermissionDenied – the first does not hold; FailedPrecondition – the second does not, or a part
/// of the path is no folder; errno codes. Messages say what to do.
absl::StatusOr<os::FolderHandle> OpenLocalFolder(const std::string& path);

/// Where submissions keep what they have seen of the time (seen_time.h), in that folder.
std::string SeenTimeFile(const std::string& local_dir);

}  // namespace tony::client
