// Linear searches over the endpoints, which keep the order of the job's types in the JSON as well.
#include "core/model/cluster_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace tony::core {

std::string Endpoint::Address() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

std::string ClusterSpec::ToJson(const std::vector<std::string>& without) const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.sidecar) continue;
    if (std::find(without.begin(), without.end(), endpoint.task.type) != without.end()) continue;
    json[endpoint.task.type].push_back(endpoint.Address());
  }
  return json.dump();
}

const Endpoint* ClusterSpec::Find(const TaskId& task) const {
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.task == task) return &endpoint;
  }
  return nullptr;
}

LocalRank LocalRankOf(const ClusterSpec& spec, const TaskId& task) {
  const Endpoint* self = spec.Find(task);
  LocalRank result{0, 0};
  for (const Endpoint& other : spec.endpoints) {
    if (self == nullptr || other.task.type != task.type || other.host_id != self->host_id ||
        other.devices != self->devices) {
      continue;
    }
    if (other.task.index < task.index) ++result.rank;
    ++result.size;
  }
  if (result.size == 0) result.size = 1;
  return result;
}

}  // namespace tony::core
