// Advice about a job's settings, with what it was concluded from.
#pragma once

#include <string>
#include <vector>

namespace tony::core {

/// How much there is to gain. The levels are those of Dr. Elephant (LinkedIn's adviser for Hadoop
/// jobs), whose heuristics for TonY's jobs some of ours continue.
enum class AdviceSeverity { kLow, kModerate, kSevere, kCritical };

/// "low", "moderate", "severe", "critical"
std::string AdviceSeverityName(AdviceSeverity severity);

/// A property for the job file.
struct AdviceLine {
  std::string key;
  std::string value;

  bool operator==(const AdviceLine&) const = default;
};

/// One piece of advice. Plain data.
struct Advice {
  std::string heuristic;  ///< its stable name, such as "memory-unused"
  AdviceSeverity severity = AdviceSeverity::kLow;
  int tasks = 0;         ///< how many tasks it is about
  std::string type;      ///< the type of these tasks; empty: of several types
  std::string sentence;  ///< what to do and why
  std::string evidence;  ///< the figures that were seen
  std::string formula;   ///< how it was concluded from them, and where that comes from
  std::string cost;      ///< what the present setting costs; empty: nothing that can be counted
  std::vector<AdviceLine> lines;  ///< for the job file; empty: no key changes it

  /// Severity × tasks from "moderate" on, like Dr. Elephant's score.
  int score() const;
};

/// The lines of several pieces of advice as XML properties, for a job file. Of two proposals for
/// one key the first one counts.
std::string AdviceXml(const std::vector<Advice>& advice);

}  // namespace tony::core
