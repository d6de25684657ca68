// `tony top`: which job holds which share of this machine, and which waits, from the ledger that
// new jobs would use.
#include <nlohmann/json.hpp>

#include "backend/local/capacity_probe.h"
#include "backend/local/ledger.h"
#include "backend/local/ledger_choice.h"
#include "client/jobs/job_json.h"
#include "client/show/machine_table.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "core/schedule/amount.h"
#include "jobfile/job/job_builder.h"
#include "os/machine/machine.h"

namespace tony::client {
namespace {

nlohmann::ordered_json AmountJson(const core::Amount& amount) {
  return {{"gpus", amount.gpus}, {"memory_mb", amount.memory_mb}, {"vcores", amount.vcores}};
}

nlohmann::ordered_json ClaimJson(const core::Claim& claim, const std::string& own_user) {
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
  for (const core::Grant& grant : claim.held) {
    for (const int gpu : grant.gpus) gpus.push_back(gpu);
  }
  return {{"user", claim.user.empty() ? own_user : claim.user},
          {"id", claim.job_id},
          {"pid", claim.pid},
          {"held", AmountJson(core::HeldBy(claim))},
          {"gpu_indices", std::move(gpus)},
          {"wanted", AmountJson(core::WantedIn(claim.wanted))}};
}

absl::StatusOr<int> RunTop(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const jobfile::LocalSettings settings = jobfile::BuildLocalSettings(configuration);
  TONY_ASSIGN_OR_RETURN(const backend::Ledger ledger,
                        backend::Ledger::Open(backend::LedgerOfNewJobs(settings)));
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Claim> claims, ledger.Claims());
  TONY_ASSIGN_OR_RETURN(const os::Machine machine, os::ReadMachine());
  const core::Capacity capacity = backend::ProbeCapacity(settings, machine, /*with_gpus=*/true);
  const std::string& user = context.environment.user;
  if (!line.Has("json")) {
    context.out(RenderMachine(capacity, claims, user, context.screen.width));
    return kVerbDone;
  }
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const core::Claim& claim : claims) jobs.push_back(ClaimJson(claim, user));
  context.bytes(DumpJson({{"host", capacity.host},
                          {"gpus", capacity.gpus.size()},
                          {"memory_mb", capacity.memory_mb},
                          {"ledger", ledger.folder()},
                          {"jobs", std::move(jobs)}}));
  return kVerbDone;
}

}  // namespace

Verb TopVerb() {
  return {"top",
          "",
          "which job holds what of this machine, and which waits",
          "Jobs of other users are seen if an administrator has made the folder of the key "
          "tony.local.ledger.\n",
          {},
          0,
          &RunTop};
}

}  // namespace tony::client
