// Which processes belong to a container, as /proc tells.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tony::os {

/// The variable that marks every process of a container.
inline constexpr char kContainerIdVariable[] = "TONY_CONTAINER_ID";

/// All living descendants of `root`, without itself. Zombies are left out. One pass over /proc, so
/// a process that starts meanwhile may be missed.
std::vector<pid_t> Descendants(pid_t root);

/// The same with the zombies, and without `spared` and all below those.
std::vector<pid_t> DescendantsAndZombies(pid_t root, const std::set<pid_t>& spared);

/// The same by asking each process for its children, which costs as much as the tree is large and
/// not as much as the machine is busy. For measuring: a process whose neighbour ends meanwhile may
/// be missed.
std::vector<pid_t> LikelyDescendants(pid_t root);

/// This user's own processes that execute `program` (absolute; see Executes()) and have a command
/// line argument which begins with `prefix` ("--container-id="), by the rest of the argument; in
/// one that shows a title of its own (process_title.h) that ends at a space. Of those with the same
/// rest that descend from each other it is the topmost. Every user of the machine may start a
/// process with any argument, so what nobody but this user could have started is all that counts.
std::map<std::string, pid_t> ProcessesByArgument(const std::string& prefix,
                                                 const std::string& program);

/// A moment on the kernel's counters of processes, which lets later searches pass over the older
/// ones. A plain value.
class ForkMark {
 public:
  /// Everything passes.
  ForkMark() = default;
  /// The moment at which `pid`, which lives, was started.
  static ForkMark At(pid_t pid);
  /// The least number of a process that is younger than the mark; 0 when the numbers may have
  /// started again from the beginning since then.
  pid_t OldestYounger() const;

 private:
  pid_t pid_ = 0;
  int64_t forks_ = 0;
};

/// This user's own processes, younger than `mark`, whose initial environment has
/// TONY_CONTAINER_ID=`container_id`. Root may look into everybody's, but a stranger's process with
/// that variable is nothing to end, and nothing to wait for.
std::vector<pid_t> ProcessesOfContainer(const std::string& container_id, const ForkMark& mark = {});

/// Processes that carry the container's id although they are in nobody's tree, e.g. started by a
/// daemon outside on the program's request. Left out are `keeper` and `owner` (the executor), what
/// descends from them, and their ancestors.
std::vector<pid_t> TreeStrays(pid_t keeper, pid_t owner, const std::string& container_id,
                              const ForkMark& mark = {});

/// The whole container without those that run it: Descendants(keeper) and TreeStrays().
std::vector<pid_t> TreeMembers(pid_t keeper, pid_t owner, const std::string& container_id);

}  // namespace tony::os
