// Rendering of Horovod's variables.
#include "core/runtime/horovod.h"

#include "absl/strings/str_cat.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::core {

void HorovodRuntime::Render(const TaskContext& context, Environment& environment) const {
  environment["CLUSTER_SPEC"] = context.cluster.ToJson({kDriverType});
  if (context.task.type == kDriverType) {
    environment["CLUSTER_WORKER_LIST"] = FormatWorkerList(WorkerHostsOf(context.cluster));
  }
  if (!context.horovod) return;
  const HorovodPlace& place = *context.horovod;
  const auto set = [&environment](const char* name, int value) {
    environment[absl::StrCat("HOROVOD_", name)] = std::to_string(value);
  };
  environment["HOROVOD_HOSTNAME"] = place.slot.host;
  set("RANK", place.slot.rank);
  set("SIZE", place.slot.size);
  set("LOCAL_RANK", place.slot.local_rank);
  set("LOCAL_SIZE", place.slot.local_size);
  set("CROSS_RANK", place.slot.cross_rank);
  set("CROSS_SIZE", place.slot.cross_size);
  environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = place.address;
  set("GLOO_RENDEZVOUS_PORT", place.port);
  environment["HOROVOD_CONTROLLER"] = "gloo";
  environment["HOROVOD_CPU_OPERATIONS"] = "gloo";
  environment["PYTHONUNBUFFERED"] = "1";
  if (place.elastic) {
    environment["HOROVOD_ELASTIC"] = "1";
    environment["TONY_ROUND"] = std::to_string(place.round);
    // Elastic workers speak with the driver through Python's urllib, which knows of proxies.
    environment["no_proxy"] = environment["NO_PROXY"] = absl::StrCat("localhost,", place.address);
  }
  environment["LOCAL_RANK"] = std::to_string(place.slot.local_rank);
  if (place.interfaces.empty()) return;
  // Gloo takes one, NCCL any of several.
  environment["HOROVOD_GLOO_IFACE"] = place.interfaces.substr(0, place.interfaces.find(','));
  environment["NCCL_SOCKET_IFNAME"] = place.interfaces;
}

}  // namespace tony::core
