// The parameters with which a rank meets the others of its job.
#pragma once

#include <string>

#include "collective/group/switch_points.h"

namespace tony::collective {

struct Meeting {
  int rank = 0;
  int ranks = 1;
  /// The job's key, which only its ranks know; at most HostAcceptor::kSecretBytes bytes. Without a
  /// key, ranks meet only if all of them can share memory.
  std::string secret;
  /// The name of this start of the job, the same on all ranks. Values that ranks tell each other
  /// are valid in this start only.
  std::string scope;
  /// Ranks with the same name here share memory. Empty: ranks with the same machine, network and
  /// user do.
  std::string host;
  /// The numeric address by which other hosts reach this rank. Empty: that of the default route, or
  /// loopback if all ranks are on one machine.
  std::string address;
  /// False: this rank shares memory with no other rank, and uses TCP with all.
  bool shared_memory = true;
  /// Data sent through TCP carries a MAC; on all ranks if any rank sets this. Messages always do.
  bool wire_mac = false;
  SwitchPoints points;  ///< all ranks use those of rank 0
  /// The file from which rank 0 reads its switch points. Empty: `points`.
  std::string points_file;
};

}  // namespace tony::collective
