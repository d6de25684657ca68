// The portal's answers as JSON; openapi.json describes them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "portal/index/indexer.h"
#include "portal/index/job_index.h"
#include "portal/login/portal_access.h"
#include "web/api/parameters.h"

namespace tony::portal {

using Json = nlohmann::ordered_json;

/// The name of a job in the portal's addresses: its id, and for a job of the Nth location, from the
/// second on, "@N" behind it, since two locations may have jobs of one id.
std::string JobAddress(const std::vector<std::string>& locations, const std::string& location,
                       const std::string& job_id);
/// The inverse. NotFound – no job can have that address.
absl::StatusOr<JobKey> JobOfAddress(const std::vector<std::string>& locations,
                                    const std::string& address);

/// Reads the parameters of a list. What is wrong is noted in `parameters`.
JobWish ReadWish(web::Parameters& parameters);

/// A page of jobs. `address`: JobAddress() of each.
Json JobPageJson(const JobPage& page, const std::vector<std::string>& locations,
                 const IndexProgress& progress, int64_t now_millis);
/// The jobs of a page as Prometheus' http_sd_configs reads them: at `host`, the name by which it
/// has called the portal, each below the path `base`.
Json TargetsJson(const JobPage& page, const std::vector<std::string>& locations,
                 const std::string& host, absl::string_view base);
Json CountsJson(const JobCounts& counts);
Json SessionJson(const Visitor& visitor);

/// The bytes of the portal's openapi.json.
std::string PortalOpenApiDocument();

}  // namespace tony::portal
