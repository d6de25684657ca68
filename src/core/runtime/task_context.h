// The facts on which a task's environment depends.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/model/cluster_spec.h"
#include "core/model/job_description.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

using Environment = std::map<std::string, std::string>;

/// The place of one of Horovod's processes, and the server through which it finds the others.
struct HorovodSlot {
  Slot slot;
  std::string address;     ///< rendezvous server: a name or an IPv4 address
  int port = 0;            ///< port of that server
  bool elastic = false;    ///< other processes may come and go
  int round = 0;           ///< elastic job: round in which the process begins
  std::string interfaces;  ///< network interfaces, separated by commas; empty: automatic
};

/// All inputs of RenderEnvironment().
struct TaskContext {
  TaskId task;
  Framework framework = Framework::kTensorFlow;
  DistributedMode mode = DistributedMode::kGang;
  std::string job_id;
  std::string container_id;
  int epoch = 0;
  int attempt = 1;        ///< starts of this task, including this one
  int tracked_tasks = 0;  ///< TASK_NUM
  bool chief = false;
  int visualization_port = 0;  ///< 0: none
  std::string checkpoint_folder;
  std::string gpus;              ///< "0,1"; empty: the task must see no GPU
  Environment user_environment;  ///< overrides everything but the task's identity
  ClusterSpec cluster;
  std::optional<HorovodSlot> horovod;  ///< set for Horovod's processes
};

}  // namespace tony::core
