// Containment in a process namespace.
#pragma once

#include <string>
#include <vector>

#include "os/containment/containment.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// 1. The keeper gets a process namespace for its children, in a new user namespace (own user and
///    group mapped to themselves) where it lacks the privilege otherwise. It stays outside itself.
/// 2. The first process of the namespace, namespace_init.h, dies with the keeper, and with it, by
///    the kernel's hand, every process of the namespace.
/// 3. The program is the keeper's own child in the namespace, so its end is told as without one.
///    What it leaves behind becomes the first process's child: the container is empty when that
///    one has none.
/// 4. Signals are sent by the first process to all others in one step of the kernel, which no fork
///    can evade. The program cannot reach any process outside, by `kill -9 -1` say.
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
  UniqueFd mounts_;  // the first process's view of the file system
  pid_t init_ = 0;
  int64_t questions_ = 0;
};

}  // namespace tony::os
