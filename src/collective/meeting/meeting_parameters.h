// What a rank says when it meets the others of its job.
#pragma once

#include <string>

#include "collective/group/switch_points.h"

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

}  // namespace tony::collective
