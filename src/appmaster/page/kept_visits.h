// The visits of a job's page, kept for the next ApplicationMaster of the job.
#pragma once

#include <optional>
#include <string>

#include "web/access/code_access.h"

namespace tony::appmaster {

/// Replaces the file `path`, which only this user can read. A failure is logged: the visitors then
/// need another address after a restart.
void KeepVisits(const std::string& path, const web::CodeAccess::Kept& kept);

/// Returns the contents of a file of KeepVisits(); empty members if the file cannot be understood;
/// nullopt – there is none, so the page had no visitors.
std::optional<web::CodeAccess::Kept> ReadKeptVisits(const std::string& path);

}  // namespace tony::appmaster
