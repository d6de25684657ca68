// How the ranks of a job find each other.
#pragma once

#include <memory>
#include <string>

#include "collective/deadline.h"
#include "collective/members.h"
#include "collective/status.h"
#include "collective/store.h"
#include "collective/switch_points.h"

namespace tony::collective {

struct Meeting {
  int rank = 0;
  int ranks = 1;
  /// Which all ranks of the job know and nobody else: HostDoor::kSecretBytes at most. Without one
  /// ranks meet only where all of them can share memory.
  std::string secret;
  /// This start of the job, by the same name at all ranks: what they tell each other counts in it
  /// and in no other one.
  std::string scope;
  /// Ranks that give the same share memory; empty: those whose machine, network and user are the
  /// same.
  std::string host;
  /// In numbers, which other hosts reach this rank by; empty: that of the default route, or
  /// loopback where all ranks are on one machine.
  std::string address;
  /// False: this rank shares memory with nobody, and speaks TCP with all.
  bool shared_memory = true;
  /// Data between hosts carries a MAC, at all ranks if one of them wants it. Messages do anyway.
  bool wire_mac = false;
  SwitchPoints points;  ///< rank 0's are those of all
  /// Rank 0 reads its points from here; empty: those above.
  std::string points_file;
};

/// Until all ranks are there. Each tells the others what they need to know through `store`, signed
/// with the secret (signed_store.h), since others may write there.
///
/// On one host through shared memory, on several through TCP between them, and where memory cannot
/// be shared through TCP alone: Members::transport() says which.
/// InvalidArgument: a rank out of range, a secret too long, an address that is none; of rank 0:
/// switch points out of range, or a file that is none of them.
/// FailedPrecondition: ranks cannot all share memory and there is no secret; a value in the store
/// is not of the rank whose it should be; a rank has given up, or refuses us. DeadlineExceeded:
/// names who is missing. Aborted: a rank has ended meanwhile, or the store has values of another
/// start.
/// ResourceExhausted: no descriptors.
Result<std::unique_ptr<Members>> Meet(Store& store, const Meeting& meeting, Deadline deadline);

}  // namespace tony::collective
