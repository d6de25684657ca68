// Times only: the executor sends the messages and tells the keeper.
#include "executor/master/task_lease.h"

namespace tony::executor {

bool TaskLease::Renew(TimePoint sent) {
  if (length_ <= Duration(0) || sent <= renewed_from_) return false;
  renewed_from_ = sent;
  end_ = sent + length_;
  return true;
}

bool TaskLease::BeginDoubt() {
  if (in_doubt()) return false;
  doubt_ = Doubt::kInDoubt;
  return true;
}

bool TaskLease::ShouldAsk() {
  if (doubt_ != Doubt::kInDoubt || expired()) return false;
  doubt_ = Doubt::kAsked;
  return true;
}

}  // namespace tony::executor
