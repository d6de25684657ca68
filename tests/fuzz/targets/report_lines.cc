// What a program writes into the pipe of its reports.
//
// Besides not crashing: the result is the same however the bytes are divided, every number is
// finite, and names and values keep their limits.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "common/fake_clock.h"
#include "executor/output/program_reports.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

struct Result {
  std::map<std::string, std::string> values;
  std::optional<core::Progress> progress;
  std::vector<std::string> defects;

  bool operator==(const Result&) const = default;
};

Result Read(const std::vector<std::string>& pieces) {
  const FakeClock clock;
  Result result;
  executor::ProgramReports reports(clock,
                                   [&](const std::string& why) { result.defects.push_back(why); });
  for (const std::string& piece : pieces) reports.AddBytes(piece.data(), piece.size());
  result.values = reports.values();
  result.progress = reports.progress();
  return result;
}

}  // namespace

void FuzzReportLines(std::string_view input) {
  InputReader reader(input);
  const uint8_t division = reader.Byte();
  const std::string bytes = reader.Rest();
  const Result result = Read({bytes});
  Require(result == Read(Divided(bytes, division)), "the same is read in pieces");
  Require(result.values.size() <= executor::ReportedValues::kMostNames, "names have a limit");
  Require(result.defects.size() <= 1, "a defect is noted once");
  if (!result.progress) return;
  Require(result.progress->step >= -1, "a step is no negative number");
  Require(result.progress->values.size() <= core::ProgressTracker::kMostValues,
          "values have a limit");
  for (const auto& [name, value] : result.progress->values) {
    Require(std::isfinite(value), "values are finite");
    Require(name.size() <= core::kMostReportNameBytes, "names have a length");
  }
  const bool noted = !result.defects.empty();
  Require(noted == (result.progress->unread_lines > 0), "what is counted was noted");
}

}  // namespace tony::fuzz
