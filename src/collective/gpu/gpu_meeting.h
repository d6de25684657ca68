// How the ranks of a group get a group of GPUs, or all hear which of them has none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/gpu/nccl_group.h"
#include "collective/gpu/rank_gpu.h"
#include "collective/group/group.h"

namespace tony::collective {

/// All ranks come to it with the same operation, on their data threads:
///
/// 1. Each opens its libraries and its GPU, and the first one makes NCCL's unique id. All tell all
///    by an allgather of the host's group: the id, or why this rank cannot.
/// 2. If all can, each gets what it needs of its GPU, and all tell all.
/// 3. If all have it, they connect, and all tell all.
/// 4. They tell each other what their GPUs cannot do.
/// So no rank waits in NCCL for one that does not come, and after an error operations of the host's
/// group go on.
class GpuMeeting {
 public:
  struct Met {
    std::shared_ptr<NcclGroup> group;  ///< connected
    std::shared_ptr<Device> device;
    std::string transport;  ///< one sentence
    /// Empty, or why no factors are applied: of the first rank that has no kernel.
    std::string limitation;
  };

  /// `names`: of the ranks, by which people know them. `sys`: see LookAtTransport().
  GpuMeeting(Group& host, const std::vector<int>& names, std::string sys)
      : host_(host), names_(names), sys_(std::move(sys)) {}

  /// FailedPrecondition: a rank cannot, which all are told: "GPUs cannot be used, since rank 2 …".
  /// Others are the host group's, which has failed then.
  /// `made` gets the group before it is connected, so that Fail() can end that.
  Result<Met> Meet(RankGpu& gpu, const NcclGroup::Options& options,
                   const std::function<void(std::shared_ptr<NcclGroup>)>& made, Deadline deadline);

 private:
  /// What a rank says at a time.
  struct Word {
    std::string fault;  ///< empty: it can go on
    std::string id;     ///< of the first rank
  };
  /// What all have said.
  Result<std::vector<Word>> Exchange(const Word& mine, Deadline deadline);
  /// Ok if all can go on.
  Status Verdict(const std::vector<Word>& words) const;

  Group& host_;
  const std::vector<int>& names_;
  const std::string sys_;
};

}  // namespace tony::collective
