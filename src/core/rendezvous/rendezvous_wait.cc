// The form of a rank's name in sentences.
#include "core/rendezvous/rendezvous_wait.h"

#include "absl/strings/str_cat.h"

namespace tony::core {

std::string NameOfRank(const std::string& task, const Slot& slot) {
  return absl::StrCat(task, " (rank ", slot.rank, " on ", slot.host, ")");
}

}  // namespace tony::core
