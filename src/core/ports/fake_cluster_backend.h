// A backend without machines for tests: records each call, and the test triggers grants and ends.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ports/cluster_backend.h"

namespace tony::core {

/// Containers are called c1, c2, … in the order of their grants. Each is on a host of its own
/// (host1, host2, …) unless `set_hosts` says otherwise. Grants, refusals and ends reach the
/// listener only when the test calls for them. Not thread safe.
class FakeClusterBackend : public ClusterBackend {
 public:
  explicit FakeClusterBackend(Listener& listener) : listener_(listener) {}

  void Reclaim(const std::vector<Container>& containers) override {
    std::string call = "reclaim";
    for (const Container& container : containers) {
      absl::StrAppend(&call, " ", container.id);
      if (!holds(container.id)) gone_.push_back(container.id);
    }
    calls_.push_back(std::move(call));
  }

  void Request(const std::vector<ContainerRequest>& requests) override {
    std::string call = "request";
    for (const ContainerRequest& request : requests) {
      absl::StrAppend(&call, " ", request.type, "=", request.count);
    }
    calls_.push_back(std::move(call));
    requests_.push_back(requests);
  }

  void Launch(const std::string& container_id, const LaunchContext& context) override {
    calls_.push_back(absl::StrCat("launch ", container_id, " ", context.name));
    auto found = containers_.find(container_id);
    if (found != containers_.end()) found->second.launched = true;
  }

  void Kill(const std::string& container_id) override {
    calls_.push_back(absl::StrCat("kill ", container_id));
    auto found = containers_.find(container_id);
    if (found == containers_.end()) return;
    if (found->second.launched) {
      found->second.killed = true;
    } else {
      containers_.erase(found);
    }
  }

  void GiveBackSpare() override { calls_.push_back("give back spare"); }

  void CancelRequests() override {
    calls_.push_back("cancel");
    requests_.clear();
  }

  /// The number of hosts over which containers are spread in turn. 0: one host for each container.
  void set_hosts(int hosts) { hosts_ = hosts; }

  /// The calls so far, oldest first: "request worker=2 ps=1", "launch c1 worker-0", "kill c1",
  /// "give back spare", "cancel".
  const std::vector<std::string>& calls() const { return calls_; }
  /// The types of requested containers that are not granted yet, one entry for each container.
  std::vector<std::string> pending() const {
    std::vector<std::string> types;
    for (const std::vector<ContainerRequest>& requests : requests_) {
      for (const ContainerRequest& request : requests)
        types.insert(types.end(), request.count, request.type);
    }
    return types;
  }
  /// True when the container was granted and has neither ended nor been given back.
  bool holds(const std::string& container_id) const { return containers_.count(container_id) > 0; }
  /// True when the container was killed: it ends when the test calls End().
  bool killed(const std::string& container_id) const {
    auto found = containers_.find(container_id);
    return found != containers_.end() && found->second.killed;
  }

  /// Grants the oldest pending container of `type`; false when none is pending.
  bool Grant(const std::string& type) {
    for (std::vector<ContainerRequest>& requests : requests_) {
      for (ContainerRequest& request : requests) {
        if (request.type != type || request.count == 0) continue;
        --request.count;
        GrantUnasked(type, request.resources.gpus);
        return true;
      }
    }
    return false;
  }
  /// Grants everything that is pending, oldest first.
  void GrantAll() {
    for (const std::string& type : pending()) Grant(type);
  }
  /// Grants a container that is not requested (any more).
  void GrantUnasked(const std::string& type, int gpus = 0) {
    const int number = ++last_number_;
    const int host = hosts_ == 0 ? number : (number - 1) % hosts_ + 1;
    Container container;
    container.id = absl::StrCat("c", number);
    container.type = type;
    container.resources.gpus = gpus;
    container.host = absl::StrCat("host", host);
    container.host_id = absl::StrCat("id-of-host", host);
    for (int i = 0; i < gpus; ++i) container.gpus.push_back(next_gpu_++);
    containers_[container.id] = {container};
    listener_.OnContainerGranted(container);
  }
  /// Grants a container a second time.
  void RepeatGrant(const std::string& container_id) {
    const Container container = containers_.at(container_id).container;
    listener_.OnContainerGranted(container);
  }
  void Wait(const std::string& what, const std::string& unblock) {
    listener_.OnAllocationWaiting(what, unblock);
  }
  /// Refuses the oldest request as a whole.
  void Refuse(bool never_fits, const std::string& sentence) {
    if (!requests_.empty()) requests_.pop_front();
    listener_.OnAllocationRefused(never_fits, sentence);
  }
  /// Simulates the loss of the ApplicationMaster: its requests and the containers that it has not
  /// launched are gone.
  void MasterLost() {
    requests_.clear();
    gone_.clear();
    std::erase_if(containers_, [](const auto& entry) { return !entry.second.launched; });
  }
  /// Reports the end of a reclaimed container that is gone; false when there is none.
  bool EndReclaimed() {
    if (gone_.empty()) return false;
    const std::string container_id = gone_.front();
    gone_.pop_front();
    listener_.OnContainerEnded(container_id, {true, "gone while no ApplicationMaster was there"});
    return true;
  }
  /// Ends a container. False when no container has that id (any more).
  bool End(const std::string& container_id, const ContainerEnd& end) {
    if (containers_.erase(container_id) == 0) return false;
    listener_.OnContainerEnded(container_id, end);
    return true;
  }

 private:
  struct Held {
    Container container;
    bool launched = false;
    bool killed = false;
  };

  Listener& listener_;
  std::deque<std::vector<ContainerRequest>> requests_;
  std::map<std::string, Held> containers_;
  std::deque<std::string> gone_;  ///< reclaimed containers that no longer exist
  std::vector<std::string> calls_;
  int hosts_ = 0;
  int last_number_ = 0;
  int next_gpu_ = 0;
};

}  // namespace tony::core
