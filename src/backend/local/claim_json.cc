// The "version" member guards the format; ClaimFromJson() refuses versions that it does not know.
#include "backend/local/claim_json.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace tony::backend {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json ToJson(const core::Resources& resources) {
  return {
      {"memory_mb", resources.memory_mb}, {"vcores", resources.vcores}, {"gpus", resources.gpus}};
}

core::Resources ResourcesFrom(const json& object) {
  return {.memory_mb = object.at("memory_mb").get<int64_t>(),
          .vcores = object.at("vcores").get<int>(),
          .gpus = object.at("gpus").get<int>()};
}

core::Claim ClaimFrom(const json& object) {
  core::Claim claim;
  claim.job_id = object.at("job_id").get<std::string>();
  claim.pid = object.at("pid").get<int64_t>();
  claim.ticket = object.at("ticket").get<int64_t>();
  for (const json& grant : object.at("held")) {
    claim.held.push_back({.resources = ResourcesFrom(grant.at("resources")),
                          .gpus = grant.at("gpus").get<std::vector<int>>()});
  }
  for (const json& request : object.at("wanted")) {
    claim.wanted.push_back({.type = request.at("type").get<std::string>(),
                            .count = request.at("count").get<int>(),
                            .resources = ResourcesFrom(request.at("resources"))});
  }
  return claim;
}

}  // namespace

std::string ClaimToJson(const core::Claim& claim) {
  json held = json::array();
  for (const core::Grant& grant : claim.held) {
    held.push_back({{"resources", ToJson(grant.resources)}, {"gpus", grant.gpus}});
  }
  json wanted = json::array();
  for (const core::ContainerRequest& request : claim.wanted) {
    wanted.push_back({{"type", request.type},
                      {"count", request.count},
                      {"resources", ToJson(request.resources)}});
  }
  const json object = {{"version", kVersion},    {"job_id", claim.job_id}, {"pid", claim.pid},
                       {"ticket", claim.ticket}, {"held", held},           {"wanted", wanted}};
  // Replaces bytes that are not UTF-8 instead of throwing.
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::StatusOr<core::Claim> ClaimFromJson(const std::string& text) {
  try {
    const json object = json::parse(text);
    if (const int version = object.at("version").get<int>(); version != kVersion) {
      return absl::InvalidArgumentError(absl::StrCat("unknown version ", version));
    }
    return ClaimFrom(object);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace tony::backend
