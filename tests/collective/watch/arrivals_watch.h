// Records what a coordinator tells its Watch, without times.
#pragma once

#include <string>
#include <vector>

#include "collective/watch/arrivals.h"
#include "collective/watch/submission_watch.h"

namespace tony::collective {

class ArrivalsWatch : public SubmissionWatch {
 public:
  explicit ArrivalsWatch(int ranks) : arrivals_(ranks) {}

  /// In the order of their names.
  std::vector<Arrivals::Waiting> Waiting() const { return arrivals_.Since({}); }

 private:
  void OnSubmitted(const std::string& tensor, int rank, const std::vector<int>& members) override {
    arrivals_.Submitted(tensor, rank, members, {});
  }
  void OnReady(const std::string& tensor) override { arrivals_.Ready(tensor, {}); }
  void OnJoined(int rank) override { arrivals_.Joined(rank, {}); }
  void OnAllJoined() override { arrivals_.AllJoined(); }

  Arrivals arrivals_;
};

}  // namespace tony::collective
