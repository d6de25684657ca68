// Counts consecutive failures per node; one success resets the count.
#include "backend/yarn/node_failures.h"

#include <utility>

namespace tony::backend {
namespace {

constexpr int kTolerated = 1;

}  // namespace

bool NodeFailures::Failed(const std::string& node, int cluster_nodes) {
  if (++in_a_row_[node] <= kTolerated || left_out_.contains(node)) return false;
  if (cluster_nodes > 0 && static_cast<int>(left_out_.size()) + 1 >= cluster_nodes) return false;
  left_out_.insert(node);
  untold_.insert(node);
  return true;
}

std::vector<std::string> NodeFailures::Tell() {
  std::vector<std::string> names;
  for (const std::string& node : std::exchange(untold_, {})) {
    // A scheduler knows nodes by the first form with yarn.scheduler.include-port-in-node-name, by
    // the second form without it.
    names.push_back(node);
    names.push_back(node.substr(0, node.rfind(':')));
  }
  return names;
}

}  // namespace tony::backend
