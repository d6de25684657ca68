// The plan of ranks as a driver writes it down: TonY's form, which drivers of users know.
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

/// A list with an object for each slot: hostname, rank, size, localRank, localSize, crossRank,
/// crossSize; in an elastic job also the round and the member. Not the port.
std::string FormatPlan(const RendezvousPlan& plan);
/// Inverse of FormatPlan. InvalidArgument – it is not of that form.
absl::StatusOr<RendezvousPlan> ParsePlan(const std::string& text);

/// The file in which a driver writes them: "1234____HOROVOD_RENDEZVOUS_SERVER____", after its
/// server's port.
std::string PlanFileName(int port);
/// Whether it is such a file's name, by its form; whether the number is a port is not asked.
bool IsPlanFile(const std::string& name);
/// The port of the server, of a file's name; nothing for a file of another kind, and for what is no
/// port.
std::optional<int> PortOfPlanFile(const std::string& name);

/// The members of an elastic job, as tony's driver reads them.
struct MemberList {
  std::vector<ElasticMember> members;
  bool finished = false;  ///< one has ended well

  bool operator==(const MemberList&) const = default;
};
std::string FormatMembers(const MemberList& list);
/// Inverse of FormatMembers. InvalidArgument – it is not of that form.
absl::StatusOr<MemberList> ParseMembers(const std::string& text);

/// The file in which its executor tells an elastic job's driver of them.
inline constexpr char kMembersFileName[] = "members";

/// The file in which tony's driver says for whom processes wait.
inline constexpr char kWaitFileName[] = "rendezvous-wait";
/// The file that tony's driver truncates every kBeatInterval, as long as it answers: that needs no
/// room on a disk that is full.
inline constexpr char kBeatFileName[] = "beat";
inline constexpr std::chrono::seconds kBeatInterval{5};

std::string FormatWait(const RendezvousWait& wait);
/// Inverse of FormatWait. InvalidArgument – it is not of that form.
absl::StatusOr<RendezvousWait> ParseWait(const std::string& text);

}  // namespace tony::core
