// Decides which nodes the job leaves out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tony::backend {

/// The rules:
/// 1. A node on which two launches of this job in a row have failed is left out from then on.
/// 2. The last node of the cluster is never left out.
///
/// Not thread safe.
class NodeFailures {
 public:
  /// Counts a failed launch. `node`: "host:port". `cluster_nodes`: number of the cluster's nodes; 0
  /// if unknown. True if this failure makes the node left out.
  bool Failed(const std::string& node, int cluster_nodes);
  void Succeeded(const std::string& node) { in_a_row_.erase(node); }

  const std::set<std::string>& left_out() const { return left_out_; }
  /// The names that the ResourceManager must be told now; they then count as told. Each node is
  /// named in both forms by which a scheduler may know it.
  std::vector<std::string> Tell();
  /// The ResourceManager was restarted and has lost all names.
  void Forgotten() { untold_ = left_out_; }
  /// Whether Tell() would return something.
  bool untold() const { return !untold_.empty(); }

 private:
  std::map<std::string, int> in_a_row_;
  std::set<std::string> left_out_;
  std::set<std::string> untold_;
};

}  // namespace tony::backend
