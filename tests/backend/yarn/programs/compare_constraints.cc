// Compares what we make of placement constraints with what Hadoop does.
//
//   compare_constraints CONSTRAINT MESSAGE …
//
// Each MESSAGE is Hadoop's, in base64. Prints a line for each difference, and exits with 1 when
// there is any.
#include <google/protobuf/util/message_differencer.h>

#include <cstdio>

#include "absl/strings/escaping.h"
#include "backend/yarn/placement.h"

namespace tony::backend {
namespace {

using ::hadoop::yarn::PlacementConstraintProto;
using ::hadoop::yarn::PlacementConstraintTargetProto;
using ::hadoop::yarn::SimplePlacementConstraintProto;

// Empty where there is none.
std::string Difference(const std::string& text, const std::string& base64) {
  const auto constraint = jobfile::ParsePlacement(text);
  if (!constraint.ok()) return constraint.status().ToString() + "\n";
  std::string bytes;
  PlacementConstraintProto theirs;
  if (!absl::Base64Unescape(base64, &bytes) || !theirs.ParseFromString(bytes)) {
    return "Hadoop's message cannot be read\n";
  }
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  // Sets of Java's have no order.
  differencer.TreatAsSet(
      SimplePlacementConstraintProto::descriptor()->FindFieldByName("targetExpressions"));
  differencer.TreatAsSet(
      PlacementConstraintTargetProto::descriptor()->FindFieldByName("targetValues"));
  // Moved ones are reported, too.
  return differencer.Compare(ConstraintOf(*constraint), theirs) ? "" : difference;
}

}  // namespace
}  // namespace tony::backend

int main(int count, char** arguments) {
  if (count < 3 || count % 2 == 0) return 2;
  int differences = 0;
  for (int i = 1; i < count; i += 2) {
    const std::string difference = tony::backend::Difference(arguments[i], arguments[i + 1]);
    if (difference.empty()) continue;
    ++differences;
    std::printf("%s: %s", arguments[i], difference.c_str());
  }
  std::printf("%d constraints compared\n", count / 2);
  return differences == 0 ? 0 : 1;
}
