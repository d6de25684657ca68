// A list that is short: a job has a handful of types.
#include "backend/yarn/asks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::backend {

void Asks::Add(const std::vector<core::ContainerRequest>& requests) {
  for (const core::ContainerRequest& request : requests) {
    if (request.count <= 0) continue;
    const auto label = options_.node_labels.find(request.type);
    asks_.push_back({.id = ++last_id_,
                     .type = request.type,
                     .missing = request.count,
                     .capability = CapabilityOf(request, options_),
                     .label = label == options_.node_labels.end() ? "" : label->second});
  }
}

void Asks::Cancel() {
  std::erase_if(asks_, [](const Ask& ask) { return !ask.told; });
  for (Ask& ask : asks_) {
    ask.missing = 0;
    ask.told = false;
  }
}

void Asks::Forgotten() {
  std::erase_if(asks_, [](const Ask& ask) { return ask.missing == 0; });
  for (Ask& ask : asks_) ask.told = false;
}

std::vector<::hadoop::yarn::ResourceRequestProto> Asks::Tell() {
  std::vector<::hadoop::yarn::ResourceRequestProto> messages;
  last_told_.clear();
  for (Ask& ask : asks_) {
    if (ask.told) continue;
    messages.push_back(Message(ask));
    last_told_.push_back(ask.id);
    ask.told = true;
  }
  std::erase_if(asks_, [](const Ask& ask) { return ask.missing == 0; });
  return messages;
}

::hadoop::yarn::ResourceRequestProto Asks::Message(const Ask& ask) const {
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
  if (--found->missing == 0) asks_.erase(found);
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
    parts.push_back(absl::StrCat(ask.missing, " ", ask.type, " (", Describe(ask.capability),
                                 ask.label.empty() ? "" : ", label ", ask.label, ")"));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace tony::backend
