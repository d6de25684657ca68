// What the environment of a task depends on.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/model/cluster_spec.h"
#include "core/model/job_description.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

using Environment = std::map<std::string, std::string>;

/// Where one of Horovod's processes belongs, and where it finds the others.
struct HorovodPlace {
  Slot slot;
  std::string address;     ///< of the rendezvous server: a name, or a number of version 4
  int port = 0;            ///< likewise
  bool elastic = false;    ///< others may come and go
  int round = 0;           ///< of an elastic job's, in which the process begins
  std::string interfaces;  ///< of the network, divided by commas; empty: the process finds one
};

/// Everything that the environment depends on.
struct TaskContext {
  TaskId task;
  Framework framework = Framework::kTensorFlow;
  std::string job_id;
  std::string container_id;
  int epoch = 0;
  int attempt = 1;        ///< starts of this task, this one included
  int tracked_tasks = 0;  ///< TASK_NUM
  bool chief = false;
  int visualization_port = 0;  ///< 0: none
  std::string checkpoint_folder;
  std::string gpus;              ///< "0,1"; empty: the task must see none
  Environment user_environment;  ///< wins over everything but the task's identity
  ClusterSpec cluster;
  std::optional<HorovodPlace> horovod;  ///< of one of Horovod's processes
};

}  // namespace tony::core
