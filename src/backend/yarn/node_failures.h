// Which nodes are to be left out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tony::backend {

/// 1. A node on which two launches in a row have failed, for this job, is left out from then on.
/// 2. Never the last: as many as the cluster has nodes cannot all be left out.
/// Not thread safe.
class NodeFailures {
 public:
  /// A node's name, "host:port". `cluster_nodes`: how many there are; 0: not known. True when it
  /// is left out now.
  bool Failed(const std::string& node, int cluster_nodes);
  void Succeeded(const std::string& node) { in_a_row_.erase(node); }

  const std::set<std::string>& left_out() const { return left_out_; }
  /// What the ResourceManager is to be told now, and then was: names of nodes, each in both of the
  /// forms that a scheduler may know it by.
  std::vector<std::string> Tell();
  /// The ResourceManager was restarted and knows of none.
  void Forgotten() { untold_ = left_out_; }
  /// Whether Tell() would say something.
  bool untold() const { return !untold_.empty(); }

 private:
  std::map<std::string, int> in_a_row_;
  std::set<std::string> left_out_;
  std::set<std::string> untold_;
};

}  // namespace tony::backend
