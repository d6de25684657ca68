// Finds the processes that belong to a container, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tony::os {

/// The environment variable that marks every process of a container.
inline constexpr char kContainerIdVariable[] = "TONY_CONTAINER_ID";

/// All living descendants of `root`, without `root` itself and without zombies. Makes one pass over
/// /proc, so a process that starts meanwhile may be missed.
std::vector<pid_t> Descendants(pid_t root);

/// All descendants including zombies, but without `spared` and everything below them.
std::vector<pid_t> DescendantsAndZombies(pid_t root, const std::set<pid_t>& spared);

/// The living descendants, found by asking each process for its children. The cost depends on the
/// size of the tree, not on the number of processes on the machine. For measuring only: a process
/// whose neighbour ends meanwhile may be missed.
std::vector<pid_t> LikelyDescendants(pid_t root);

/// Whether `pid` is `ancestor`, or descends from it now. Reads one file for each level between
/// them.
bool Descends(pid_t pid, pid_t ancestor);

/// This user's own processes that execute `program` (absolute; see Executes()) and have a command
/// line argument that begins with `prefix` ("--container-id="). The key is the rest of the
/// argument; it ends at a space in a process that shows a title of its own (process_title.h). Of
/// processes with the same rest that descend from each other, the topmost counts. Every user of the
/// machine may start a process with any argument, so only processes count that nobody but this user
/// could have started.
std::map<std::string, pid_t> ProcessesByArgument(const std::string& prefix,
                                                 const std::string& program);

/// A moment on the kernel's counters of processes, which lets later searches skip older processes.
/// A plain value.
class ForkMark {
 public:
  /// A mark that no process is older than: searches skip nothing.
  ForkMark() = default;
  /// The moment at which `pid`, which must be alive, was started.
  static ForkMark At(pid_t pid);
  /// The lowest number of a process that is younger than the mark; 0 if the kernel may have started
  /// again from the lowest number since then.
  pid_t OldestYounger() const;

 private:
  pid_t pid_ = 0;
  int64_t forks_ = 0;
};

/// This user's own processes, younger than `mark`, whose initial environment has
/// TONY_CONTAINER_ID=`container_id`. Root may read everybody's environment, but a stranger's
/// process with that variable must be neither ended nor waited for.
std::vector<pid_t> ProcessesOfContainer(const std::string& container_id, const ForkMark& mark = {});

/// Processes that carry the container's id although they are in nobody's tree, for example started
/// by a daemon outside at the program's request. Excluded are `keeper` and `owner` (the executor),
/// their descendants and their ancestors.
std::vector<pid_t> TreeStrays(pid_t keeper, pid_t owner, const std::string& container_id,
                              const ForkMark& mark = {});

/// All processes of the container without those that run it: Descendants(keeper) and TreeStrays().
std::vector<pid_t> TreeMembers(pid_t keeper, pid_t owner, const std::string& container_id);

}  // namespace tony::os
