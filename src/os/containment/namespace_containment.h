// Containment in a process namespace of the kernel.
#pragma once

#include <string>
#include <vector>

#include "os/containment/containment.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// 1. The keeper creates a process namespace for its children, inside a new user namespace (own
///    user and group mapped to themselves) if it lacks the privilege otherwise. The keeper itself
///    stays outside.
/// 2. The first process of the namespace (namespace_init.h) dies with the keeper, and the kernel
///    then kills every other process of the namespace.
/// 3. The program is the keeper's own child in the namespace, so the keeper learns of its end as it
///    does without a namespace. The program's orphans become children of the first process: the
///    container is empty when the first process has no child.
/// 4. The first process sends a signal to all others in one step of the kernel, which no fork can
///    evade. The program cannot reach any process outside, for example by `kill -9 -1`.
/// Not thread safe.
class NamespaceContainment : public Containment {
 public:
  const std::string& name() const override { return name_; }
  absl::Status Enter(pid_t owner) override;
  int Join() override;
  std::vector<pid_t> Signal(int number) override;
  bool Empty() override;
  void Leave(bool owner_lives) override;
  pid_t helper() const override { return init_; }

 private:
  absl::Status StartInit();
  bool AskInit(int signal);

  const std::string name_ = "namespace";
  UniqueFd init_socket_;
  UniqueFd mounts_;  // mount namespace of the first process
  pid_t init_ = 0;
  // number of the last question to the first process
  int64_t questions_ = 0;
};

}  // namespace tony::os
