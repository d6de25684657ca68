// {"base_path": "/PLACE/", "visits": [{"secret": "…", "end": 1800000000000}]}
#include "appmaster/page/kept_visits.h"

#include <nlohmann/json.hpp>

#include "common/logging.h"
#include "os/files/files.h"

namespace tony::appmaster {
namespace {

using Json = nlohmann::json;

}  // namespace

void KeepVisits(const std::string& path, const web::CodeAccess::Kept& kept) {
  Json json = {{"base_path", kept.base_path}, {"visits", Json::array()}};
  for (const web::Visits::Kept& visit : kept.visits) {
    json["visits"].push_back({{"secret", visit.secret}, {"end", visit.end}});
  }
  const absl::Status written = os::WriteFileAtomically(path, json.dump());
  if (!written.ok()) LogWarning(std::string(written.message()));
}

std::optional<web::CodeAccess::Kept> ReadKeptVisits(const std::string& path) {
  const absl::StatusOr<std::string> text = os::ReadFile(path);
  if (!text.ok()) return std::nullopt;
  try {
    const Json json = Json::parse(*text);
    web::CodeAccess::Kept kept{json.at("base_path"), {}};
    for (const Json& visit : json.at("visits")) {
      kept.visits.push_back({visit.at("secret"), visit.at("end")});
    }
    return kept;
  } catch (const Json::exception& error) {
    LogWarning("the visits of the job's page are not known any more",
               {{"file", path}, {"why", error.what()}});
    return web::CodeAccess::Kept{};
  }
}

}  // namespace tony::appmaster
