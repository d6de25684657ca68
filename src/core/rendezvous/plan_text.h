// Text forms of what a driver and its executor exchange in files: the plan of ranks, members and
// waits.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rendezvous/elastic_rounds.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::core {

/// A JSON list with an object for each slot: hostname, rank, size, localRank, localSize, crossRank,
/// crossSize; in an elastic job also the round and the member. The port is not part of it. This is
/// TonY's form, which users' own drivers write, too.
std::string FormatPlan(const RendezvousPlan& plan);
/// Inverse of FormatPlan. InvalidArgument – the text does not have that form.
absl::StatusOr<RendezvousPlan> ParsePlan(const std::string& text);

/// The name of the file for the plan: "1234____HOROVOD_RENDEZVOUS_SERVER____", where 1234 is the
/// port of the driver's server.
std::string PlanFileName(int port);
/// True for a name of that form, whether or not its number is a valid port.
bool IsPlanFile(const std::string& name);
/// The server's port in the name of a plan file. nullopt – the name has another form, or its number
/// is no port.
std::optional<int> PortOfPlanFile(const std::string& name);

/// The members of an elastic job, as tony's driver reads them.
struct MemberList {
  std::vector<ElasticMember> members;
  bool finished = false;  ///< a process has succeeded

  bool operator==(const MemberList&) const = default;
};
std::string FormatMembers(const MemberList& list);
/// Inverse of FormatMembers. InvalidArgument – the text does not have that form.
absl::StatusOr<MemberList> ParseMembers(const std::string& text);

/// The file in which the executor of an elastic job's driver passes the member list on to it.
inline constexpr char kMembersFileName[] = "members";

/// The file in which tony's driver reports which tasks the processes wait for.
inline constexpr char kWaitFileName[] = "rendezvous-wait";
/// The file that tony's driver truncates every kBeatInterval as long as it answers. Truncation
/// needs no room, so it works on a full disk.
inline constexpr char kBeatFileName[] = "beat";
inline constexpr std::chrono::seconds kBeatInterval{5};

std::string FormatWait(const RendezvousWait& wait);
/// Inverse of FormatWait. InvalidArgument – the text does not have that form.
absl::StatusOr<RendezvousWait> ParseWait(const std::string& text);

}  // namespace tony::core
