// The portal's list of jobs as HTML, for browsers without scripts and as a start for the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "portal/index/indexer.h"
#include "portal/index/job_index.h"

namespace tony::portal {

/// The whole page with the jobs of `page`, the newest ones; its script takes its place. Links are
/// relative. Thread safe.
std::string RenderListPage(const JobPage& page, const std::vector<std::string>& locations,
                           const IndexProgress& progress, int64_t now_millis);

}  // namespace tony::portal
