// Connects the GPUs of a group's ranks, or tells all ranks which of them has none.
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

/// All ranks call Meet() at the same decision, on their data threads:
///
/// 1. Each rank opens its libraries and its GPU, and the first rank makes NCCL's unique id. An
///    allgather of the host's group tells all ranks the id, and for each rank why it cannot.
/// 2. If all can, each rank allocates what it needs on its GPU, and all tell all.
/// 3. If all have it, the ranks connect in NCCL, and all tell all.
/// 4. All tell all what their GPUs cannot do.
///
/// So no rank waits in NCCL for one that does not come, and after an error the operations of the
/// host's group go on.
class GpuMeeting {
 public:
  struct Met {
    std::shared_ptr<NcclGroup> group;  ///< connected
    std::shared_ptr<Device> device;
    std::string transport;  ///< a sentence for users about the way between the GPUs
    /// Empty, or why factors cannot be applied: the limitation of the first rank without a kernel.
    std::string limitation;
  };

  /// `names`: the ranks' numbers in messages. `sys`: see DetectTransport().
  GpuMeeting(Group& host, const std::vector<int>& names, std::string sys)
      : host_(host), names_(names), sys_(std::move(sys)) {}

  /// Runs the meeting. `made` gets the group before it is connected, so that Fail() can end the
  /// connecting. FailedPrecondition – a rank cannot take part, and all ranks are told: "no
  /// operation on GPUs, since rank 2 …". More codes: those of the host's group, which has then
  /// failed.
  Result<Met> Meet(RankGpu& gpu, const NcclGroup::Options& options,
                   const std::function<void(std::shared_ptr<NcclGroup>)>& made, Deadline deadline);

 private:
  /// A rank's message in one round.
  struct Word {
    std::string fault;  ///< why the rank cannot go on; empty: it can
    std::string id;     ///< NCCL's unique id; from the first rank only
  };
  /// Sends this rank's message and returns those of all ranks.
  Result<std::vector<Word>> Exchange(const Word& mine, Deadline deadline);
  /// Ok if all ranks can go on.
  Status Verdict(const std::vector<Word>& words) const;

  Group& host_;
  const std::vector<int>& names_;
  const std::string sys_;
};

}  // namespace tony::collective
