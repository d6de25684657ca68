// Walks over the dependencies of task types.
#include "core/schedule/stage_graph.h"

#include <algorithm>

namespace tony::core {
namespace {

TypeProgress Of(const std::string& type, const JobProgress& progress) {
  const auto found = progress.find(type);
  return found == progress.end() ? TypeProgress() : found->second;
}

/// The indices of the types that each one depends on, each once.
std::vector<std::vector<size_t>> Edges(const std::vector<TaskType>& types) {
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < types.size(); ++i) index.emplace(types[i].name, i);
  std::vector<std::vector<size_t>> edges(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    for (const std::string& name : types[i].depends_on) {
      const auto found = index.find(name);
      if (found == index.end()) continue;
      if (std::find(edges[i].begin(), edges[i].end(), found->second) == edges[i].end()) {
        edges[i].push_back(found->second);
      }
    }
  }
  return edges;
}

/// Looks for a cycle, depth first. Not thread safe.
class CycleSearch {
 public:
  explicit CycleSearch(const std::vector<std::vector<size_t>>& edges)
      : edges_(edges), marks_(edges.size(), Mark::kNew) {}

  /// True when a cycle was found from `node` on; path() is it then.
  bool Visit(size_t node) {
    if (marks_[node] == Mark::kDone) return false;
    const bool again = marks_[node] == Mark::kOnPath;
    if (again) path_.erase(path_.begin(), std::find(path_.begin(), path_.end(), node));
    path_.push_back(node);
    if (again) return true;
    marks_[node] = Mark::kOnPath;
    for (size_t next : edges_[node]) {
      if (Visit(next)) return true;
    }
    marks_[node] = Mark::kDone;
    path_.pop_back();
    return false;
  }

  const std::vector<size_t>& path() const { return path_; }

 private:
  enum class Mark { kNew, kOnPath, kDone };

  const std::vector<std::vector<size_t>>& edges_;
  std::vector<Mark> marks_;
  std::vector<size_t> path_;
};

}  // namespace

std::vector<std::string> StageGraph::FindCycle(const std::vector<TaskType>& types) {
  const std::vector<std::vector<size_t>> edges = Edges(types);
  CycleSearch search(edges);
  std::vector<std::string> cycle;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!search.Visit(i)) continue;
    for (size_t node : search.path()) cycle.push_back(types[node].name);
    break;
  }
  return cycle;
}

StageGraph::StageGraph(const std::vector<TaskType>& types) {
  std::vector<std::vector<size_t>> edges = Edges(types);
  for (size_t i = 0; i < types.size(); ++i) {
    nodes_.push_back({types[i].name, types[i].instances, types[i].tracking, std::move(edges[i]),
                      std::vector<bool>(types.size())});
  }
  std::vector<bool> done(types.size());
  for (size_t i = 0; i < nodes_.size(); ++i) AddAncestors(i, done);
}

void StageGraph::AddAncestors(size_t node, std::vector<bool>& done) {
  if (done[node]) return;
  done[node] = true;
  for (size_t parent : nodes_[node].depends_on) {
    AddAncestors(parent, done);
    nodes_[node].ancestors[parent] = true;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[parent].ancestors[i]) nodes_[node].ancestors[i] = true;
    }
  }
}

const StageGraph::Node* StageGraph::Find(const std::string& name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&name](const Node& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

bool StageGraph::Fulfilled(const Node& node, const JobProgress& progress) const {
  const TypeProgress now = Of(node.name, progress);
  const int counted = node.tracking == Tracking::kTracked ? now.succeeded : now.started;
  return counted >= node.instances;
}

bool StageGraph::ordered() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return !node.depends_on.empty(); });
}

std::vector<std::string> StageGraph::Startable(const JobProgress& progress) const {
  std::vector<std::string> types;
  for (const Node& node : nodes_) {
    if (Of(node.name, progress).started > 0) continue;
    const bool free = std::all_of(
        node.depends_on.begin(), node.depends_on.end(),
        [this, &progress](size_t parent) { return Fulfilled(nodes_[parent], progress); });
    if (free) types.push_back(node.name);
  }
  return types;
}

std::vector<std::string> StageGraph::Complete(const JobProgress& progress) const {
  std::vector<std::string> types;
  for (const Node& node : nodes_) {
    if (node.tracking == Tracking::kTracked && Fulfilled(node, progress)) {
      types.push_back(node.name);
    }
  }
  return types;
}

std::vector<std::string> StageGraph::WaitsFor(const std::string& type,
                                              const JobProgress& progress) const {
  std::vector<std::string> types;
  const Node* const node = Find(type);
  if (node == nullptr) return types;
  for (size_t parent : node->depends_on) {
    if (!Fulfilled(nodes_[parent], progress)) types.push_back(nodes_[parent].name);
  }
  return types;
}

std::vector<std::string> StageGraph::Dependents(const std::string& type) const {
  std::vector<std::string> types;
  const Node* const ancestor = Find(type);
  if (ancestor == nullptr) return types;
  const auto index = static_cast<size_t>(ancestor - nodes_.data());
  for (const Node& node : nodes_) {
    if (node.ancestors[index]) types.push_back(node.name);
  }
  return types;
}

std::vector<BlockedType> StageGraph::Blocked(const JobProgress& progress) const {
  std::vector<BlockedType> blocked;
  for (const Node& node : nodes_) {
    if (Of(node.name, progress).started > 0) continue;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const bool failed =
          nodes_[i].tracking == Tracking::kTracked && Of(nodes_[i].name, progress).failed > 0;
      if (!node.ancestors[i] || !failed) continue;
      blocked.push_back({node.name, nodes_[i].name});
      break;
    }
  }
  return blocked;
}

}  // namespace tony::core
