// One function per framework; each variable is the one that the framework's own launcher would set.
#include "core/runtime/framework_variables.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::core {
namespace {

int64_t CountOf(const ClusterSpec& cluster, const std::string& type) {
  return std::count_if(cluster.endpoints.begin(), cluster.endpoints.end(),
                       [&type](const Endpoint& endpoint) { return endpoint.task.type == type; });
}

/// Whether `host` is an address of the fourth or the sixth version, and no name.
bool IsNumericAddress(const std::string& host) {
  return host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

void AddTensorFlowVariables(const TaskContext& context, Environment& environment) {
  // The executor holds the port while TensorFlow's server binds it, so the server must set
  // SO_REUSEPORT.
  environment["TF_GRPC_REUSE_PORT"] = "true";
  if (context.mode == DistributedMode::kFirstComeServed) return;
  environment["CLUSTER_SPEC"] = context.cluster.ToJson();
  // TensorFlow's training cluster does not include evaluators.
  std::vector<std::string> without;
  if (context.task.type != "evaluator") without.push_back("evaluator");
  nlohmann::ordered_json config;
  config["cluster"] = nlohmann::ordered_json::parse(context.cluster.ToJson(without));
  config["task"]["type"] = context.task.type;
  config["task"]["index"] = context.task.index;
  environment["TF_CONFIG"] = config.dump();
}

void AddPyTorchVariables(const TaskContext& context, Environment& environment) {
  const Endpoint* master = context.cluster.Find(TaskId{"worker", 0});
  if (master == nullptr) return;
  environment["INIT_METHOD"] = absl::StrCat("tcp://", master->Address());
  environment["MASTER_ADDR"] = master->host;
  environment["MASTER_PORT"] = std::to_string(master->port);
  const int64_t workers = CountOf(context.cluster, "worker");
  environment["WORLD"] = std::to_string(workers);
  environment["WORLD_SIZE"] = std::to_string(workers);
  if (context.task.type != "worker") return;
  environment["RANK"] = std::to_string(context.task.index);
  const LocalRank local = LocalRankOf(context.cluster, context.task);
  environment["LOCAL_RANK"] = std::to_string(local.rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(local.size);
  // torchrun reads an option that it is not given from PET_<OPTION>. So each task's torchrun is a
  // node of one group, and the ranks that it starts get their variables from it.
  environment["PET_NNODES"] = environment["WORLD_SIZE"];
  environment["PET_NODE_RANK"] = environment["RANK"];
  environment["PET_MASTER_ADDR"] = environment["MASTER_ADDR"];
  environment["PET_MASTER_PORT"] = environment["MASTER_PORT"];
}

void AddHorovodVariables(const TaskContext& context, Environment& environment) {
  environment["CLUSTER_SPEC"] = context.cluster.ToJson({kDriverType});
  if (context.task.type == kDriverType) {
    environment["CLUSTER_WORKER_LIST"] = FormatWorkerList(WorkerHostsOf(context.cluster));
  }
  if (!context.horovod) return;
  const HorovodSlot& place = *context.horovod;
  const auto set = [&environment](const char* name, int value) {
    environment[absl::StrCat("HOROVOD_", name)] = std::to_string(value);
    // Horovod's launcher uses these names for each process that it starts (gloo_run.py).
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
    // Elastic workers talk to the driver through Python's urllib, which would obey a proxy.
    environment["no_proxy"] = environment["NO_PROXY"] = absl::StrCat("localhost,", place.address);
  }
  environment["LOCAL_RANK"] = std::to_string(place.slot.local_rank);
  if (place.interfaces.empty()) return;
  // Gloo takes one interface, NCCL any of several.
  environment["HOROVOD_GLOO_IFACE"] = place.interfaces.substr(0, place.interfaces.find(','));
  environment["NCCL_SOCKET_IFNAME"] = place.interfaces;
}

void AddJaxVariables(const TaskContext& context, Environment& environment) {
  const Endpoint* coordinator = nullptr;
  int processes = 0;
  for (const char* const type : kRankedTypes) {
    for (const Endpoint& endpoint : context.cluster.endpoints) {
      if (endpoint.task.type != type) continue;
      if (coordinator == nullptr) coordinator = &endpoint;
      if (endpoint.task == context.task) environment["JAX_PROCESS_ID"] = std::to_string(processes);
      ++processes;
    }
  }
  if (coordinator == nullptr) return;
  // JAX reads the address itself, and tony.jax reads the two numbers.
  environment["JAX_COORDINATOR_ADDRESS"] = coordinator->Address();
  environment["JAX_NUM_PROCESSES"] = std::to_string(processes);
  // By default JAX's coordinator, which knows no passwords, listens on all interfaces.
  if (coordinator->host == "127.0.0.1") {
    environment["JAX_COORDINATOR_BIND_ADDRESS"] = coordinator->Address();
  }
  if (!context.gpus.empty()) {
    // CUDA numbers the devices that a process sees from 0. Named devices also keep JAX from looking
    // for another launcher, such as Slurm, that would give each process a single device.
    std::string devices = "0";
    const auto others = std::count(context.gpus.begin(), context.gpus.end(), ',');
    for (int device = 1; device <= others; ++device) absl::StrAppend(&devices, ",", device);
    environment["JAX_LOCAL_DEVICE_IDS"] = devices;
  }
  // Versions before 0.5 have no collectives between processes on CPUs without it.
  environment["JAX_CPU_COLLECTIVES_IMPLEMENTATION"] = "gloo";
}

void AddMxNetVariables(const TaskContext& context, Environment& environment) {
  const Endpoint* scheduler = context.cluster.Find(TaskId{kSchedulerType, 0});
  const std::string& role = context.task.type;
  if (scheduler == nullptr ||
      (role != kSchedulerType && role != kServerType && role != kWorkerType)) {
    return;
  }
  environment["DMLC_ROLE"] = role;
  environment["DMLC_PS_ROOT_URI"] = scheduler->host;
  environment["DMLC_PS_ROOT_PORT"] = std::to_string(scheduler->port);
  environment["DMLC_LOCAL"] = "0";
  environment["DMLC_NUM_SERVER"] = std::to_string(CountOf(context.cluster, kServerType));
  environment["DMLC_NUM_WORKER"] = std::to_string(CountOf(context.cluster, kWorkerType));
  if (scheduler->host == "127.0.0.1") {
    // By itself ps-lite takes the first interface that leads out of the machine.
    environment["DMLC_NODE_HOST"] = scheduler->host;
  } else if (!IsNumericAddress(scheduler->host)) {
    // The scheduler cannot listen at a name. With this it listens at all of its addresses, and the
    // others still find it by its name.
    environment["DMLC_USE_KUBERNETES"] = "1";
  }
}

void AddFrameworkVariables(const TaskContext& context, Environment& environment) {
  switch (context.framework) {
    case Framework::kTensorFlow:
      return AddTensorFlowVariables(context, environment);
    case Framework::kPyTorch:
      return AddPyTorchVariables(context, environment);
    case Framework::kHorovod:
      return AddHorovodVariables(context, environment);
    case Framework::kJax:
      return AddJaxVariables(context, environment);
    case Framework::kMxNet:
      return AddMxNetVariables(context, environment);
    case Framework::kStandalone:
      return;
  }
}

}  // namespace tony::core
