// The histories that TonY has left, as far as the names of their files tell of the jobs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "portal/index/indexed_job.h"

namespace tony::portal {

/// What the list says of each of them in place of a sentence about its end.
inline constexpr char kTonyHistory[] =
    "a history of TonY: its file's name says when it ran, whose it was and how it ended";
inline constexpr char kTonyHistoryWithoutEnd[] =
    "a history of TonY without an end: its cluster knows whether it still runs";

/// The job of a file "ID-START-END-USER-STATUS.jhist", or of "ID-START-USER.jhist.inprogress" as
/// long as it had not ended; nothing: the file is none of these. TonY puts no limit to the user's
/// name, in which '-' may occur too.
std::optional<history::JobEntry> EntryOfHistoryName(absl::string_view name);

/// The jobs of all histories below `folder`, by id, with the marks of their files, which are not
/// opened. Of two histories of a job the one with an end counts. Looks five folders deep, as TonY
/// lays them out ("finished/2019/05/31/ID/…"), through no link, and at kMostHistories files at
/// most. The codes of os::OpenOwnFolder(); Unavailable – the folders cannot be read.
absl::StatusOr<std::map<std::string, ReadJob>> FindHistories(const std::string& folder);

inline constexpr size_t kMostHistories = 200'000;

}  // namespace tony::portal
