// One thing that is wrong with, or worth saying about, a job's configuration, and how it is shown
// to people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tony::jobfile {

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

/// Where so many have been found in one file, or in the keys of a configuration, the rest is only
/// counted or not looked for: a file of another format would make as many as it has lines.
inline constexpr size_t kMostProblems = 1000;

/// `job.xml:12: tony.worker.gpus: -1 is negative; write 0 or more`, without the parts that are
/// empty: one line of SafeText, in which no part is longer than a kilobyte.
std::string RenderProblem(const Problem& problem);

/// One line for each problem behind `prefix`, each ended by a newline, in the order given: the
/// first 20, and then how many more there are.
std::string RenderProblems(const std::vector<Problem>& problems, const std::string& prefix = "");

}  // namespace tony::jobfile
