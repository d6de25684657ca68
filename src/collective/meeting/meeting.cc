// Each rank publishes its whereabouts. Rank 0 makes a plan of them and publishes it. All ranks then
// follow the plan: a HostAcceptor if all share memory, else MeetByNet().
#include "collective/meeting/meeting.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "collective/base/random_name.h"
#include "collective/host/host_members.h"
#include "collective/meeting/meeting_plan.h"
#include "collective/meeting/net_meeting.h"
#include "collective/meeting/signed_store.h"

namespace tony::collective {
namespace {

constexpr char kPlanKey[] = "plan";
constexpr char kKeys[] = "host/";
/// Digits of Whereabouts::number: enough that no earlier number comes again.
constexpr size_t kNumberDigits = 16;

std::string InodeOf(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 ? std::to_string(found.st_ino) : "";
}

/// The own whereabouts. Ranks can share memory if they reach each other through an abstract Unix
/// socket and the kernel can compare their users. That takes the same boot of the same machine, the
/// same network namespace, the same user namespace, and the same user.
Result<Whereabouts> Here(const Meeting& meeting) {
  auto number = RandomName();
  if (!number.ok()) return number.status();
  Whereabouts here;
  here.number = number->substr(0, kNumberDigits);
  here.wire_mac = meeting.wire_mac;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> here.network;
  here.network += "/" + InodeOf("/proc/self/ns/net");
  here.host = meeting.host.empty() ? here.network + "/" + InodeOf("/proc/self/ns/user") + "/" +
                                         std::to_string(geteuid())
                                   : meeting.host;
  if (!meeting.shared_memory) here.host += "/rank " + std::to_string(meeting.rank);
  return here;
}

/// Without a key there is no TCP at all, whatever the store says: other users of the machine can
/// connect to loopback addresses and listen there, too.
Status NoKey(const std::string& why) {
  return {Code::kFailedPrecondition,
          why + ", and there is no key: give all ranks the same TONY_COLLECTIVE_KEY"};
}

/// Rank 0's plan, from the whereabouts of all ranks. `memory`: set if all ranks share it.
Result<MeetingPlan> Decide(const std::vector<Whereabouts>& ranks, bool has_secret,
                           std::shared_ptr<SharedMemory>& memory) {
  MeetingPlan plan;
  plan.hosts = MeetingPlan::HostsOf(ranks);
  for (const Whereabouts& one : ranks) {
    plan.numbers.push_back(one.number);
    plan.wire_mac = plan.wire_mac || one.wire_mac;
  }
  const auto elsewhere = std::find_if(ranks.begin(), ranks.end(), [&](const Whereabouts& one) {
    return one.network != ranks[0].network;
  });
  plan.loopback = elsewhere == ranks.end();
  if (plan.hosts.size() > 1) {
    if (has_secret) return plan;
    return NoKey("rank " + std::to_string(plan.hosts[1][0]) + " is on another host than rank 0");
  }
  const auto count = static_cast<int>(ranks.size());
  auto created = HostGroup::CreateMemory(count);
  if (created.ok()) {
    memory = std::move(*created);
    return plan;
  }
  if (count == 1) return plan;  // a single rank has nobody to share with
  plan.reason = created.status().message();
  if (!has_secret) return NoKey("the ranks of this host cannot share memory (" + plan.reason + ")");
  plan.hosts = MeetingPlan::Apart(count);
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

/// Rank 0's side. It uses its own whereabouts directly and asks the store for nothing that it
/// knows, so nobody can forge them. Whatever fails before the plan is published is published
/// instead of the plan, so the others need not wait for their deadline.
Met MeetAsFirst(SignedStore& store, const Meeting& meeting, const Whereabouts& here,
                Deadline deadline) {
  std::vector<Whereabouts> ranks = {here};
  Status status;
  for (int rank = 1; rank < meeting.ranks && status.ok(); ++rank) {
    auto found = store.Get(kKeys + std::to_string(rank), rank, deadline);
    status = OfRank(found.status(), rank);
    if (found.ok()) ranks.push_back(Whereabouts::Decode(*found));
  }
  std::shared_ptr<SharedMemory> memory;
  MeetingPlan plan;
  auto points = PointsOf(meeting);
  auto run = RandomName();
  if (status.ok()) status = points.status();
  if (status.ok()) status = run.status();
  if (status.ok()) {
    auto decided = Decide(ranks, !meeting.secret.empty(), memory);
    status = decided.status();
    if (decided.ok()) plan = std::move(*decided);
  }
  std::unique_ptr<HostAcceptor> acceptor;
  if (status.ok() && memory != nullptr) {
    auto opened = HostAcceptor::Open();
    status = opened.status();
    if (opened.ok()) acceptor = std::move(*opened);
  }
  if (!status.ok()) {
    // If the store does not take this either, the others wait until their own deadline.
    (void)store.Put(kPlanKey, Refusal(status));
    return status;
  }
  plan.points = *points;
  plan.run = *run;
  if (acceptor != nullptr) plan.acceptor = acceptor->address();
  if (Status put = store.Put(kPlanKey, plan.Encode()); !put.ok()) return put;
  if (acceptor == nullptr) return AsMembers(MeetByNet(store, meeting, plan, deadline));
  return AsMembers(HostAcceptor::WithGroup(
      acceptor->Gather(std::move(memory), meeting.ranks, meeting.secret, deadline), 0,
      meeting.ranks));
}

/// Another rank's side: reads rank 0's plan and follows it.
Met MeetByPlan(SignedStore& store, const Meeting& meeting, const Whereabouts& here,
               Deadline deadline) {
  auto told = store.Get(kPlanKey, 0, deadline);
  if (!told.ok()) return OfAll(told.status(), store, meeting, kKeys);
  auto plan = MeetingPlan::Decode(*told, meeting.ranks);
  if (!plan.ok()) return plan.status();
  // The signature alone does not prove that the plan is of this start: launchers may use a scope
  // again, with the same key, and the store may still hold values of that start. The plan must
  // return the random number that this rank has just published.
  if (plan->numbers[static_cast<size_t>(meeting.rank)] != here.number) {
    const std::string key = kKeys + std::to_string(meeting.rank);
    return Status(Code::kAborted, "rank 0 has not read what this rank has put under '" + key +
                                      "' into the job's store, but what was there before, or what "
                                      "somebody else has put there");
  }
  if (!plan->acceptor.empty()) {
    return AsMembers(
        HostAcceptor::Enter(plan->acceptor, meeting.rank, meeting.ranks, meeting.secret, deadline));
  }
  if (meeting.secret.empty()) {
    return NoKey("what is said to be rank 0's plan is that ranks of one host speak TCP");
  }
  return AsMembers(MeetByNet(store, meeting, *plan, deadline));
}

}  // namespace

Met Meet(Store& store, const Meeting& meeting, Deadline deadline) {
  const int rank = meeting.rank;
  const int ranks = meeting.ranks;
  const std::string& secret = meeting.secret;
  if (rank < 0 || rank >= ranks || secret.size() > HostAcceptor::kSecretBytes) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                              std::to_string(ranks) + " with a secret of " +
                                              std::to_string(secret.size()) + " bytes");
  }
  if (meeting.host.find('\n') != std::string::npos) {
    return Status(Code::kInvalidArgument, "a host's name is one line");
  }
  auto here = Here(meeting);
  if (!here.ok()) return here.status();
  SignedStore signing(store, secret, meeting.scope, rank);
  const Status put = signing.Put(kKeys + std::to_string(rank), here->Encode());
  if (!put.ok()) return put;
  return rank == 0 ? MeetAsFirst(signing, meeting, *here, deadline)
                   : MeetByPlan(signing, meeting, *here, deadline);
}

}  // namespace tony::collective
