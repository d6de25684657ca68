// Containment that needs no privilege and no kernel option: a subreaper, and a sweep of /proc for
// the container's id.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "os/containment/containment.h"
#include "os/processes/process_tree.h"

namespace tony::os {

/// 1. The keeper is a subreaper: a process below it that loses its parent becomes the keeper's
///    child, also after a double fork and setsid(). So the tree is empty exactly when the kernel
///    says that the keeper has no child (ECHILD). This proof uses no list that could be out of
///    date.
/// 2. To find the processes to signal, the code follows the chains of parents in /proc.
/// 3. A process that another daemon started on the program's behalf is outside the tree. It is
///    found by TONY_CONTAINER_ID in its environment if it inherited that. This is a best effort: in
///    the middle of an exec a process shows no environment, and another user's process shows it to
///    nobody.
/// Not thread safe: the keeper has one thread.
class ProcessTreeContainment : public Containment {
 public:
  explicit ProcessTreeContainment(std::string container_id)
      : container_id_(std::move(container_id)) {}

  const std::string& name() const override { return name_; }
  absl::Status Enter(pid_t owner) override;
  void Started(pid_t program) override { program_ = ForkMark::At(program); }
  std::vector<pid_t> Signal(int number) override;
  bool Empty() override;

 private:
  const std::string name_ = "process-tree";
  const std::string container_id_;
  pid_t owner_ = 0;
  ForkMark program_;  ///< fork mark of the program; nothing of the container is older
};

}  // namespace tony::os
