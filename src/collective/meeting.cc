// One door on the host of rank 0.
#include "collective/meeting.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "collective/host_members.h"

namespace tony::collective {
namespace {

constexpr char kDoorKey[] = "door";

std::string HostKey(int rank) { return "host/" + std::to_string(rank); }

std::string InodeOf(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 ? std::to_string(found.st_ino) : "";
}

/// Ranks with the same one reach each other through a Unix socket, and know each other's user: of
/// one boot of one machine, one network and one table of users.
std::string HostIdentity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot + "/" + InodeOf("/proc/self/ns/net") + "/" + InodeOf("/proc/self/ns/user") + "/" +
         std::to_string(geteuid());
}

/// FailedPrecondition: a rank is elsewhere. DeadlineExceeded: it has not said where it is.
Status CheckAllAreHere(Store& store, int ranks, const std::string& here, Deadline deadline) {
  for (int rank = 1; rank < ranks; ++rank) {
    auto host = store.Get(HostKey(rank), deadline);
    if (host.status().code() == Code::kDeadlineExceeded) {
      return {Code::kDeadlineExceeded, "rank " + std::to_string(rank) + " has not come"};
    }
    if (!host.ok()) return host.status();
    if (*host == here) continue;
    return {Code::kFailedPrecondition,
            "rank " + std::to_string(rank) + " is on another host than rank 0"};
  }
  return {};
}

/// What a rank finds instead of the address when rank 0 gave up: a sentence.
constexpr char kNoDoor = '!';

}  // namespace

Result<std::unique_ptr<Members>> Meet(Store& store, const Meeting& meeting, Deadline deadline) {
  const auto [rank, ranks, secret] = meeting;
  if (rank < 0 || rank >= ranks || secret.size() > HostDoor::kSecretBytes) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                              std::to_string(ranks) + " with a secret of " +
                                              std::to_string(secret.size()) + " bytes");
  }
  const std::string here = HostIdentity();
  if (Status put = store.Put(HostKey(rank), here); !put.ok()) return put;
  const auto as_members = [](Result<std::unique_ptr<HostMembers>> met) {
    return met.ok() ? Result<std::unique_ptr<Members>>(std::move(*met)) : met.status();
  };
  if (rank != 0) {
    auto address = store.Get(kDoorKey, deadline);
    if (address.status().code() == Code::kDeadlineExceeded) {
      return Status(Code::kDeadlineExceeded, "rank 0 has not come");
    }
    if (!address.ok()) return address.status();
    if (address->empty() || address->front() == kNoDoor) {
      return Status(Code::kFailedPrecondition,
                    address->empty() ? "rank 0 has no address" : address->substr(1));
    }
    return as_members(HostDoor::Enter(*address, rank, ranks, secret, deadline));
  }
  if (Status all = CheckAllAreHere(store, ranks, here, deadline); !all.ok()) {
    // The others' own deadline follows where this cannot be told either.
    (void)store.Put(kDoorKey, kNoDoor + all.message());
    return all;
  }
  auto door = HostDoor::Open();
  if (!door.ok()) return door.status();
  if (Status put = store.Put(kDoorKey, (*door)->address()); !put.ok()) return put;
  return as_members((*door)->Admit(ranks, secret, deadline));
}

}  // namespace tony::collective
