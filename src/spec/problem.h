// One thing that is wrong with, or worth saying about, a job's configuration, and how it is shown
// to people.
#pragma once

#include <string>
#include <vector>

namespace tony::spec {

/// Where something is wrong, what is wrong, and what to do about it. Also used for notes, which
/// have no remedy.
struct Problem {
  std::string
      file;  ///< as the user wrote it, or an option such as `--conf`; empty: nowhere in particular
  int line = 0;         ///< counted from 1; 0: the whole file
  std::string key;      ///< empty when no single key is to blame
  std::string message;  ///< what is wrong
  std::string remedy;   ///< what to do; may be empty

  bool operator==(const Problem&) const = default;
};

/// `job.xml:12: tony.worker.gpus: -1 is negative; write 0 or more`, without the parts that are
/// empty.
std::string RenderProblem(const Problem& problem);

/// One line for each problem, each ended by a newline, in the order given.
std::string RenderProblems(const std::vector<Problem>& problems);

}  // namespace tony::spec
