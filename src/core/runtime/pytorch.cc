// Rendering of PyTorch's variables.
#include "core/runtime/pytorch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tony::core {

void PyTorchRuntime::Render(const TaskContext& context, Environment& environment) const {
  const Endpoint* master = context.cluster.Find(TaskId{"worker", 0});
  if (master == nullptr) return;
  environment["INIT_METHOD"] = absl::StrCat("tcp://", master->Address());
  environment["MASTER_ADDR"] = master->host;
  environment["MASTER_PORT"] = std::to_string(master->port);
  const auto workers =
      std::count_if(context.cluster.endpoints.begin(), context.cluster.endpoints.end(),
                    [](const Endpoint& endpoint) { return endpoint.task.type == "worker"; });
  environment["WORLD"] = std::to_string(workers);
  environment["WORLD_SIZE"] = std::to_string(workers);
  if (context.task.type != "worker") return;
  environment["RANK"] = std::to_string(context.task.index);
  const LocalRank local = LocalRankOf(context.cluster, context.task);
  environment["LOCAL_RANK"] = std::to_string(local.rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(local.size);
}

}  // namespace tony::core
