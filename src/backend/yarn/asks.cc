// A linear list is enough: a job has a handful of types.
#include "backend/yarn/asks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend/yarn/placement.h"

namespace tony::backend {

void Asks::Add(const std::vector<core::ContainerRequest>& requests) {
  for (const core::ContainerRequest& request : requests) {
    if (request.count <= 0) continue;
    Ask ask{.id = ++last_id_,
            .type = request.type,
            .missing = request.count,
            .capability = CapabilityOf(request, options_)};
    const auto label = options_.node_labels.find(request.type);
    if (label != options_.node_labels.end()) ask.label = label->second;
    const auto placement = options_.placements.find(request.type);
    if (placement != options_.placements.end()) ask.placement = placement->second;
    asks_.push_back(std::move(ask));
  }
}

void Asks::Cancel() {
  // Asks that the ResourceManager does not know are simply dropped. The others stay with the number
  // 0 until Tell() has told it; also one that waits for another try, of which it may have rejected
  // only a part.
  std::erase_if(asks_, [](const Ask& ask) { return !ask.known; });
  for (Ask& ask : asks_) {
    ask.missing = 0;
    ask.rejected = 0;
    ask.told = false;
  }
}

void Asks::Forgotten() {
  std::erase_if(asks_, [](const Ask& ask) { return ask.missing == 0; });
  for (Ask& ask : asks_) {
    ask.rejected = 0;
    ask.told = false;
    ask.known = false;
  }
}

std::optional<std::string> Asks::Rejected(int64_t allocation_request_id, int count) {
  for (Ask& ask : asks_) {
    if (ask.id != allocation_request_id || ask.missing == 0) continue;
    ask.rejected = std::min(ask.rejected + count, ask.missing);
    return ask.type;
  }
  return std::nullopt;
}

void Asks::Retry() {
  for (Ask& ask : asks_) ask.told = ask.told && ask.rejected == 0;
}

void Asks::Tell(::hadoop::yarn::AllocateRequestProto* request) {
  last_told_.clear();
  for (Ask& ask : asks_) {
    if (ask.told) continue;
    if (options_.placements.empty()) {
      *request->add_ask() = ResourceRequest(ask);
    } else {
      *request->add_scheduling_requests() = SchedulingRequest(ask);
    }
    last_told_.push_back(ask.id);
    ask.rejected = 0;
    ask.told = true;
    ask.known = true;
  }
  std::erase_if(asks_, [](const Ask& ask) { return ask.missing == 0; });
}

::hadoop::yarn::ResourceRequestProto Asks::ResourceRequest(const Ask& ask) {
  ::hadoop::yarn::ResourceRequestProto message;
  message.set_allocation_request_id(ask.id);
  message.mutable_priority()->set_priority(static_cast<int>(ask.id));
  message.set_resource_name("*");
  *message.mutable_capability() = ask.capability;
  message.set_num_containers(ask.missing);
  message.set_relax_locality(true);
  if (!ask.label.empty()) message.set_node_label_expression(ask.label);
  return message;
}

::hadoop::yarn::SchedulingRequestProto Asks::SchedulingRequest(const Ask& ask) {
  ::hadoop::yarn::SchedulingRequestProto message;
  message.set_allocationrequestid(ask.id);
  message.mutable_priority()->set_priority(static_cast<int>(ask.id));
  message.mutable_executiontype()->set_execution_type(::hadoop::yarn::GUARANTEED);
  for (const std::string& tag : ask.placement.tags) message.add_allocationtags(tag);
  // After a rejection only the rejected number is asked for anew: a handler that rejects has
  // forgotten these, and a handler that keeps requests never rejects.
  message.mutable_resourcesizing()->set_numallocations(ask.rejected > 0 ? ask.rejected
                                                                        : ask.missing);
  *message.mutable_resourcesizing()->mutable_resources() = ask.capability;
  if (ask.placement.constraint.has_value()) {
    *message.mutable_placementconstraint() = ConstraintOf(*ask.placement.constraint);
  }
  if (!ask.label.empty()) AddLabel(ask.label, message.mutable_placementconstraint());
  return message;
}

bool Asks::Refused() {
  const std::vector<int64_t> refused = std::exchange(last_told_, {});
  return std::erase_if(asks_, [&](const Ask& ask) {
           return std::find(refused.begin(), refused.end(), ask.id) != refused.end();
         }) > 0;
}

bool Asks::untold() const {
  return std::any_of(asks_.begin(), asks_.end(), [](const Ask& ask) { return !ask.told; });
}

std::optional<std::string> Asks::Take(int64_t allocation_request_id) {
  const auto found = std::find_if(asks_.begin(), asks_.end(), [&](const Ask& ask) {
    return ask.id == allocation_request_id && ask.missing > 0;
  });
  if (found == asks_.end()) return std::nullopt;
  std::string type = found->type;
  found->rejected = std::min(found->rejected, --found->missing);
  if (found->missing == 0) asks_.erase(found);
  return type;
}

int Asks::missing() const {
  int missing = 0;
  for (const Ask& ask : asks_) missing += ask.missing;
  return missing;
}

std::string Asks::DescribeMissing() const {
  std::vector<std::string> parts;
  for (const Ask& ask : asks_) {
    if (ask.missing == 0) continue;
    const bool placed = ask.placement.constraint.has_value();
    parts.push_back(
        absl::StrCat(ask.missing, " ", ask.type, " (", Describe(ask.capability),
                     ask.label.empty() ? "" : ", label ", ask.label, placed ? ", placed " : "",
                     placed ? jobfile::FormatPlacement(*ask.placement.constraint) : "", ")"));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace tony::backend
