#include "executor/output/reported_values.h"

namespace tony::executor {

void ReportedValues::Take(const core::ReportLine& line) {
  for (const core::ReportPair& pair : line.pairs) {
    if (pair.value.size() > kMostValueBytes) continue;
    std::string name(pair.name);
    if (values_.size() >= kMostNames && values_.count(name) == 0) continue;
    values_[std::move(name)] = std::string(pair.value);
  }
}

}  // namespace tony::executor
