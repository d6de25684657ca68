// JSON, parsed without exceptions and checked field by field: a user's driver writes the plan.
#include "core/rendezvous/plan_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

using nlohmann::ordered_json;

constexpr char kFileSuffix[] = "____HOROVOD_RENDEZVOUS_SERVER____";

struct NumberField {
  const char* name;
  int Slot::*number;
};
constexpr NumberField kNumbers[] = {
    {"rank", &Slot::rank},
    {"size", &Slot::size},
    {"localRank", &Slot::local_rank},
    {"localSize", &Slot::local_size},
    {"crossRank", &Slot::cross_rank},
    {"crossSize", &Slot::cross_size},
};

absl::Status NoPlan(const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("the driver's plan of ranks cannot be read: ", why,
                   "; it is to be a JSON list of objects with hostname, rank, size, localRank, "
                   "localSize, crossRank and crossSize"));
}

std::optional<int> NumberOfPlanFile(const std::string& name) {
  int number = 0;
  if (!absl::EndsWith(name, kFileSuffix) ||
      !absl::SimpleAtoi(name.substr(0, name.size() - sizeof kFileSuffix + 1), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::string FormatPlan(const RendezvousPlan& plan) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    ordered_json object;
    object["hostname"] = slot.host;
    for (const NumberField& field : kNumbers) object[field.name] = slot.*field.number;
    if (i < plan.members.size()) {
      object["round"] = plan.round;
      object["member"] = plan.members[i];
    }
    list.push_back(std::move(object));
  }
  return list.dump();
}

absl::StatusOr<RendezvousPlan> ParsePlan(const std::string& text) {
  const auto list = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return NoPlan("it is no JSON list");
  RendezvousPlan plan;
  for (const auto& object : list) {
    Slot slot;
    const auto host = object.find("hostname");
    if (!object.is_object() || host == object.end() || !host->is_string()) {
      return NoPlan(absl::StrCat("entry ", plan.slots.size(), " has no hostname"));
    }
    slot.host = host->get<std::string>();
    for (const NumberField& field : kNumbers) {
      const auto number = object.find(field.name);
      if (number == object.end() || !number->is_number_integer()) {
        return NoPlan(absl::StrCat("entry ", plan.slots.size(), " has no number ", field.name));
      }
      slot.*field.number = number->get<int>();
    }
    // Only tony's own elastic driver adds the member and the round; a plan without them is static.
    const auto member = object.find("member"), round = object.find("round");
    if (member != object.end() && member->is_string() && round != object.end() &&
        round->is_number_integer()) {
      plan.members.push_back(member->get<std::string>());
      plan.round = round->get<int>();
    }
    plan.slots.push_back(std::move(slot));
  }
  return plan;
}

std::string FormatMembers(const MemberList& list) {
  ordered_json json;
  json["finished"] = list.finished;
  json["members"] = ordered_json::array();
  for (const ElasticMember& member : list.members) {
    json["members"].push_back({{"name", member.name}, {"host", member.host}});
  }
  return json.dump();
}

absl::StatusOr<MemberList> ParseMembers(const std::string& text) {
  const auto no_list = absl::InvalidArgumentError("the list of an elastic job's members is none");
  const auto json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("members") || !json["members"].is_array()) return no_list;
  MemberList list;
  const auto finished = json.find("finished");
  list.finished = finished != json.end() && finished->is_boolean() && finished->get<bool>();
  for (const auto& member : json["members"]) {
    if (!member.is_object() || !member.contains("name") || !member["name"].is_string() ||
        !member.contains("host") || !member["host"].is_string()) {
      return no_list;
    }
    list.members.push_back({member["name"].get<std::string>(), member["host"].get<std::string>()});
  }
  return list;
}

std::string FormatWait(const RendezvousWait& wait) {
  ordered_json json;
  json["sentence"] = wait.sentence;
  json["missing"] = wait.missing;
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

absl::StatusOr<RendezvousWait> ParseWait(const std::string& text) {
  const auto json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto sentence = json.find("sentence"), missing = json.find("missing");
  if (!json.is_object() || sentence == json.end() || !sentence->is_string() ||
      missing == json.end() || !missing->is_array()) {
    return absl::InvalidArgumentError("what the driver says of a wait cannot be read");
  }
  RendezvousWait wait;
  wait.sentence = sentence->get<std::string>();
  for (const auto& task : *missing) {
    if (task.is_string()) wait.missing.push_back(task.get<std::string>());
  }
  return wait;
}

std::string PlanFileName(int port) { return absl::StrCat(port, kFileSuffix); }

bool IsPlanFile(const std::string& name) { return NumberOfPlanFile(name).has_value(); }

std::optional<int> PortOfPlanFile(const std::string& name) {
  const std::optional<int> number = NumberOfPlanFile(name);
  return number && *number >= 0 && *number <= RendezvousPlan::kLargestPort ? number : std::nullopt;
}

}  // namespace tony::core
