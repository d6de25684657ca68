// Who is where; then one door on one host, or a mesh between several.
#include "collective/meeting/meeting.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "collective/host/host_members.h"
#include "collective/meeting/meeting_plan.h"
#include "collective/meeting/net_meeting.h"

namespace tony::collective {
namespace {

constexpr char kPlanKey[] = "plan";
constexpr char kKeys[] = "host/";

std::string InodeOf(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 ? std::to_string(found.st_ino) : "";
}

/// Ranks of one host reach each other through a Unix socket, and know each other's user: of one
/// boot of one machine, one network and one table of users.
Whereabouts Here(const Meeting& meeting) {
  Whereabouts here;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> here.network;
  here.network += "/" + InodeOf("/proc/self/ns/net");
  here.host = meeting.host.empty() ? here.network + "/" + InodeOf("/proc/self/ns/user") + "/" +
                                         std::to_string(geteuid())
                                   : meeting.host;
  if (!meeting.shared_memory) here.host += "/rank " + std::to_string(meeting.rank);
  return here;
}

/// Rank 0's, of all that have said where they are.
Result<MeetingPlan> Decide(const std::vector<Whereabouts>& ranks, bool has_secret,
                           std::shared_ptr<SharedMemory>& memory) {
  MeetingPlan plan;
  plan.hosts = MeetingPlan::HostsOf(ranks);
  const auto elsewhere = std::find_if(ranks.begin(), ranks.end(), [&](const Whereabouts& one) {
    return one.network != ranks[0].network;
  });
  plan.loopback = elsewhere == ranks.end();
  if (!plan.loopback && !has_secret) {
    return Status(Code::kFailedPrecondition,
                  "rank " + std::to_string(elsewhere - ranks.begin()) +
                      " is on another host than rank 0, and there is no key: give all ranks the "
                      "same TONY_COLLECTIVE_KEY");
  }
  if (plan.hosts.size() > 1) return plan;
  const auto count = static_cast<int>(ranks.size());
  auto created = HostGroup::CreateMemory(count);
  if (created.ok()) {
    memory = std::move(*created);
  } else {
    if (count > 1) plan.reason = created.status().message();  // one rank has nobody to share with
    plan.hosts = MeetingPlan::Apart(count);
  }
  return plan;
}

Result<SwitchPoints> PointsOf(const Meeting& meeting) {
  if (!meeting.points_file.empty()) return SwitchPoints::Read(meeting.points_file);
  if (Status checked = meeting.points.Check(); !checked.ok()) return checked;
  return meeting.points;
}

using Met = Result<std::unique_ptr<Members>>;

Met AsMembers(Result<std::unique_ptr<LinkMembers>> met) {
  return met.ok() ? Met(std::move(*met)) : met.status();
}

Met MeetAsFirst(Store& store, const Meeting& meeting, const Whereabouts& here, Deadline deadline) {
  std::vector<Whereabouts> ranks = {here};
  Status status;
  for (int rank = 1; rank < meeting.ranks && status.ok(); ++rank) {
    auto found = store.Get(kKeys + std::to_string(rank), deadline);
    status = OfRank(found.status(), rank);
    if (found.ok()) ranks.push_back(Whereabouts::Decode(*found));
  }
  std::shared_ptr<SharedMemory> memory;
  MeetingPlan plan;
  auto points = PointsOf(meeting);
  if (status.ok()) status = points.status();
  if (status.ok()) {
    auto decided = Decide(ranks, !meeting.secret.empty(), memory);
    status = decided.status();
    if (decided.ok()) plan = std::move(*decided);
  }
  std::unique_ptr<HostDoor> door;
  if (status.ok() && memory != nullptr) {
    auto opened = HostDoor::Open();
    status = opened.status();
    if (opened.ok()) door = std::move(*opened);
  }
  if (!status.ok()) {
    // The others' own deadline follows where this cannot be told either.
    (void)store.Put(kPlanKey, Refusal(status));
    return status;
  }
  plan.points = *points;
  if (door != nullptr) plan.door = door->address();
  if (Status put = store.Put(kPlanKey, plan.Encode()); !put.ok()) return put;
  if (door == nullptr) return AsMembers(MeetByNet(store, meeting, plan, deadline));
  return AsMembers(HostDoor::WithGroup(
      door->Gather(std::move(memory), meeting.ranks, meeting.secret, deadline), 0, meeting.ranks));
}

}  // namespace

Met Meet(Store& store, const Meeting& meeting, Deadline deadline) {
  const auto& [rank, ranks, secret, host, address, shared_memory, points, file] = meeting;
  if (rank < 0 || rank >= ranks || secret.size() > HostDoor::kSecretBytes) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                              std::to_string(ranks) + " with a secret of " +
                                              std::to_string(secret.size()) + " bytes");
  }
  if (host.find('\n') != std::string::npos) {
    return Status(Code::kInvalidArgument, "a host's name is one line");
  }
  const Whereabouts here = Here(meeting);
  if (Status put = store.Put(kKeys + std::to_string(rank), here.Encode()); !put.ok()) return put;
  if (rank == 0) return MeetAsFirst(store, meeting, here, deadline);
  auto told = store.Get(kPlanKey, deadline);
  if (!told.ok()) return OfAll(told.status(), store, meeting, kKeys);
  auto plan = MeetingPlan::Decode(*told, ranks);
  if (!plan.ok()) return plan.status();
  if (plan->door.empty()) return AsMembers(MeetByNet(store, meeting, *plan, deadline));
  return AsMembers(HostDoor::Enter(plan->door, rank, ranks, secret, deadline));
}

}  // namespace tony::collective
