// The "version" member guards the format; ClaimFromJson() refuses versions that it does not know,
// and numbers that no tony writes.
#include "backend/local/claim_json.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace tony::backend {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr int64_t kMostMemory = int64_t{1} << 36;  // in MiB
constexpr int64_t kMostCount = 1'000'000;

json ToJson(const core::Resources& resources) {
  return {
      {"memory_mb", resources.memory_mb}, {"vcores", resources.vcores}, {"gpus", resources.gpus}};
}

/// Another user may have written the text, so each number is bounded: sums over claims must neither
/// overflow nor make more free than there is.
int64_t NumberFrom(const json& object, const char* name, int64_t most) {
  const int64_t number = object.at(name).get<int64_t>();
  if (number < 0 || number > most) {
    throw json::other_error::create(501, absl::StrCat(name, " is out of range"), &object);
  }
  return number;
}

core::Resources ResourcesFrom(const json& object) {
  return {.memory_mb = NumberFrom(object, "memory_mb", kMostMemory),
          .vcores = static_cast<int>(NumberFrom(object, "vcores", kMostCount)),
          .gpus = static_cast<int>(NumberFrom(object, "gpus", kMostCount))};
}

core::Claim ClaimFrom(const json& object) {
  core::Claim claim;
  claim.job_id = object.at("job_id").get<std::string>();
  claim.pid = NumberFrom(object, "pid", kMostMemory);
  claim.ticket = NumberFrom(object, "ticket", core::kMostTicket);
  for (const json& grant : object.at("held")) {
    claim.held.push_back({.resources = ResourcesFrom(grant.at("resources")),
                          .gpus = grant.at("gpus").get<std::vector<int>>()});
    if (std::cmp_not_equal(claim.held.back().gpus.size(), claim.held.back().resources.gpus)) {
      throw json::other_error::create(501, "a grant names other GPUs than it counts", &grant);
    }
  }
  for (const json& request : object.at("wanted")) {
    claim.wanted.push_back({.type = request.at("type").get<std::string>(),
                            .count = static_cast<int>(NumberFrom(request, "count", kMostCount)),
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
