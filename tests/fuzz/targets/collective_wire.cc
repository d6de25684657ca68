// Messages between ranks of tony.collective, from another process of the job, whose connection has
// proved that it knows the job's key.
//
// Besides not crashing: a message is its bytes, one way only; what a coordinator decides on it can
// be sent; a table of switch points is read again from what is written of it.
#include <string>
#include <vector>

#include "collective/engine/set_coordinators.h"
#include "collective/group/switch_points.h"
#include "collective/net/net_address.h"
#include "collective/request/wire.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

void CheckDecision(const collective::Decision& decision) {
  Require(collective::DecodeDecision(collective::Encode(decision)).ok(), "a decision can be read");
  (void)decision.Text();
}

/// By the only rank of a job: whatever it submits is ready at once.
void Submit(const collective::Submission& submission) {
  collective::SetCoordinators coordinators(1, {});
  if (!coordinators.Submit(0, submission).empty()) return;
  for (const auto& addressed : coordinators.Decide(/*idle=*/true)) {
    CheckDecision(addressed.decision);
  }
}

}  // namespace

void FuzzCollectiveWire(std::string_view input) {
  if (auto submission = collective::DecodeSubmission(input); submission.ok()) {
    Require(collective::Encode(*submission) == input, "a submission is its bytes");
    for (const collective::Request& request : submission->requests) {
      if (request.ShapeFault().empty()) Require(request.elements() >= 0, "a shape has its size");
      (void)request.ShapeText();
    }
    Submit(*submission);
  }
  if (auto decision = collective::DecodeDecision(input); decision.ok()) {
    Require(collective::Encode(*decision) == input, "a decision is its bytes");
    (void)decision->Text();
  }
  const std::string text(input);
  if (auto points = collective::SwitchPoints::Decode(text, "the table"); points.ok()) {
    const std::string written = points->Encode();
    auto again = collective::SwitchPoints::Decode(written, "the table");
    Require(again.ok() && again->Encode() == written, "a table is read as it was written");
  }
  (void)collective::NetAddress::Parse(text);
}

}  // namespace tony::fuzz
