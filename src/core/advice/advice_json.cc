#include "core/advice/advice_json.h"

#include <nlohmann/json.hpp>

namespace tony::core {

nlohmann::ordered_json AdviceJson(const JobAdvice& advice) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Advice& each : advice.advice) {
    nlohmann::ordered_json lines = nlohmann::ordered_json::object();
    for (const AdviceLine& line : each.lines) lines[line.key] = line.value;
    all.push_back({{"heuristic", each.heuristic},
                   {"severity", AdviceSeverityName(each.severity)},
                   {"score", each.score()},
                   {"type", each.type},
                   {"tasks", each.tasks},
                   {"sentence", each.sentence},
                   {"evidence", each.evidence},
                   {"formula", each.formula},
                   {"cost", each.cost},
                   {"lines", std::move(lines)}});
  }
  return {{"advice", std::move(all)}, {"xml", AdviceXml(advice.advice)}};
}

}  // namespace tony::core
