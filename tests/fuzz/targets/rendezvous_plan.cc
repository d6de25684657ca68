// The files through which an executor and a Horovod job's driver speak: plans, members, waits, and
// a list of workers. The driver may be the user's program.
//
// Besides not crashing: what was read is read again from what is written of it.
#include <string>

#include "core/rendezvous/plan_text.h"
#include "core/rendezvous/worker_hosts.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

/// `format` of what `parse` finds, if it finds anything, has to be read as the same.
template <typename Parse, typename Format>
void CheckSame(const std::string& text, Parse parse, Format format) {
  const auto read = parse(text);
  if (!read.ok()) {
    Require(absl::IsInvalidArgument(read.status()), "anything else is InvalidArgument");
    return;
  }
  const std::string written = format(*read);
  const auto again = parse(written);
  Require(again.ok() && format(*again) == written, "what is written is what was read");
}

}  // namespace

void FuzzRendezvousPlan(std::string_view input) {
  const std::string text(input);
  CheckSame(text, core::ParsePlan, core::FormatPlan);
  CheckSame(text, core::ParseMembers, core::FormatMembers);
  CheckSame(text, core::ParseWait, core::FormatWait);
  if (const auto plan = core::ParsePlan(text); plan.ok()) {
    (void)core::CheckElasticPlan(*plan);
    (void)core::CheckPlan(*plan, {{"host", {{"worker", 0}, {"worker", 1}}}});
  }
  (void)core::ParseWorkerList(text);
  if (const std::optional<int> port = core::PortOfPlanFile(text)) {
    Require(*port >= 0 && *port <= 65535, "a plan file's port is one");
    Require(core::PortOfPlanFile(core::PlanFileName(*port)) == port, "its name has its port");
  }
}

}  // namespace tony::fuzz
