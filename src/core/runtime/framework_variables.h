// The variables by which the tasks of each framework find each other.
#pragma once

#include "core/runtime/task_context.h"

namespace tony::core {

/// Sets TF_CONFIG and CLUSTER_SPEC, which TensorFlow's distribution strategies read. The cluster
/// never includes sidecars; only an evaluator itself sees an evaluator in it. A task that starts
/// without the others gets neither, as in TonY: their addresses are not known yet.
void AddTensorFlowVariables(const TaskContext& context, Environment& environment);

/// Sets the variables of torch.distributed's env:// rendezvous, and TonY's older names for them.
/// RANK is the index among the workers; worker:0's reserved port is the master's. Other types get
/// no rank. A torchrun that a worker starts is one node of a group of all workers, and that port is
/// the group's.
void AddPyTorchVariables(const TaskContext& context, Environment& environment);

/// Sets the variables of Horovod's launcher for the processes that it starts
/// (horovod/runner/gloo_run.py). The driver gets TonY's CLUSTER_WORKER_LIST: "host:2,other:1".
void AddHorovodVariables(const TaskContext& context, Environment& environment);

/// Sets the variables of jax.distributed, for JAX itself and for tony.jax. The processes are
/// chiefs, then workers, by index; the first one's reserved port is the coordinator's. Other types
/// get no process id.
void AddJaxVariables(const TaskContext& context, Environment& environment);

/// The task types of an MXNet job that take part in its training: one scheduler, by which servers
/// and workers find each other.
inline constexpr char kSchedulerType[] = "scheduler";
inline constexpr char kServerType[] = "server";
inline constexpr char kWorkerType[] = "worker";

/// Sets the variables of MXNet's parameter server, ps-lite, for these types; others get none.
void AddMxNetVariables(const TaskContext& context, Environment& environment);

/// Sets the variables of the context's framework; a standalone program has none.
void AddFrameworkVariables(const TaskContext& context, Environment& environment);

}  // namespace tony::core
