// The values that a program reports of itself: "step=120 loss=0.31".
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/tasks/report_line.h"

namespace tony::executor {

/// Keeps the last value of each name, also words. What is too long is left out. Not thread safe.
class ReportedValues {
 public:
  static constexpr size_t kMostNames = 32;
  static constexpr size_t kMostValueBytes = 128;

  void Take(const core::ReportLine& line);
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace tony::executor
