// Opens the folder tony.local.dir, which belongs to tony alone.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"

namespace tony::client {

/// Opens `path`, which is made when it is missing, and checks two things before anything is written
/// to it or removed from it:
///
/// - No other user can put another folder in its place (os/files/folder_trust.h).
/// - The folder is tony's. A new or an empty folder becomes tony's by a marker, ".tony-folder". A
///   folder without the marker may contain only what earlier versions, which made no marker, put
///   there: "jobs" and "staging" with jobs' folders (storage/job_proof.h), "ledger" with its files,
///   and "yarn", which belongs to a cluster. Such a folder gets the marker then.
///
/// PermissionDenied – the first check fails; FailedPrecondition – the second check fails, or a part
/// of the path is no folder; errno codes. Messages say what to do.
absl::StatusOr<os::FolderHandle> OpenLocalFolder(const std::string& path);

/// The file in tony.local.dir that keeps what submissions have seen of the time (seen_time.h).
std::string SeenTimeFile(const std::string& local_dir);

}  // namespace tony::client
