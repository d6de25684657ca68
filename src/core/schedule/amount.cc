// The sums that the rules of admission compare.
#include "core/schedule/amount.h"

namespace tony::core {

Amount HeldBy(const Claim& claim) {
  Amount sum;
  int64_t gpus = 0;
  for (const Grant& grant : claim.held) {
    sum.Add(grant.resources, 1);
    gpus += static_cast<int64_t>(grant.gpus.size());
  }
  sum.gpus = gpus;
  return sum;
}

Amount WantedIn(const std::vector<ContainerRequest>& requests) {
  Amount sum;
  for (const ContainerRequest& request : requests) sum.Add(request.resources, request.count);
  return sum;
}

}  // namespace tony::core
