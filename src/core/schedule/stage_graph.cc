// Transitive closure of the dependencies; types with equal sets of ancestors form a stage.
#include "core/schedule/stage_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tony::core {
namespace {

TypeProgress Of(const std::string& type, const JobProgress& progress) {
  const auto found = progress.find(type);
  return found == progress.end() ? TypeProgress() : found->second;
}

/// For each type the indices of its dependencies, each once; unknown names are left out.
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

/// A depth-first search for a cycle. Not thread safe.
class CycleSearch {
 public:
  explicit CycleSearch(const std::vector<std::vector<size_t>>& edges)
      : edges_(edges), marks_(edges.size(), Mark::kNew) {}

  /// True when a cycle is reachable from `node`; path() is that cycle then.
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
  MakeStages();
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

void StageGraph::MakeStages() {
  std::vector<size_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // A dependent type has strictly more ancestors than each type it depends on, so this sort is
  // topological.
  std::stable_sort(order.begin(), order.end(), [this](size_t left, size_t right) {
    const auto count = [this](size_t node) {
      return std::count(nodes_[node].ancestors.begin(), nodes_[node].ancestors.end(), true);
    };
    return count(left) < count(right);
  });
  std::vector<const Node*> firsts;  // first node of each stage
  for (size_t i : order) {
    Node& node = nodes_[i];
    const auto found = std::find_if(firsts.begin(), firsts.end(), [&node](const Node* first) {
      return first->ancestors == node.ancestors;
    });
    node.stage = static_cast<size_t>(found - firsts.begin());
    if (found == firsts.end()) firsts.push_back(&node);
  }
  for (size_t i = 0; i < firsts.size(); ++i) stages_.push_back(MakeStage(i, *firsts[i]));
}

Stage StageGraph::MakeStage(size_t index, const Node& first) const {
  std::vector<bool> needed(nodes_.size());
  for (const Node& node : nodes_) {
    if (node.stage != index) continue;
    for (size_t parent : node.depends_on) needed[parent] = true;
  }
  Stage stage;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    // A type that runs on certainly runs beside this stage if the stage waits for all that it waits
    // for.
    bool not_later = true;
    for (size_t j = 0; j < nodes_.size(); ++j) {
      not_later = not_later && (!node.ancestors[j] || first.ancestors[j]);
    }
    const bool own = node.stage == index;
    if (own) stage.types.push_back(node.name);
    if (needed[i]) stage.depends_on.push_back(node.name);
    if (own || (not_later && node.tracking != Tracking::kTracked)) {
      stage.together.push_back(node.name);
    }
  }
  return stage;
}

const StageGraph::Node* StageGraph::Find(const std::string& name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&name](const Node& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

bool StageGraph::Fulfilled(const Node& node, const JobProgress& progress) const {
  const TypeProgress now = Of(node.name, progress);
  // A tracked type that is no longer waited for may never succeed, so its start has to do.
  const bool waited_for = node.tracking == Tracking::kTracked && now.waited_for;
  return (waited_for ? now.succeeded : now.started) >= node.instances;
}

size_t StageGraph::StageOf(const std::string& type) const { return Find(type)->stage; }

std::vector<std::string> StageGraph::WaitsFor(const Stage& stage,
                                              const JobProgress& progress) const {
  std::vector<std::string> types;
  for (const std::string& name : stage.depends_on) {
    if (!Fulfilled(*Find(name), progress)) types.push_back(name);
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

}  // namespace tony::core
