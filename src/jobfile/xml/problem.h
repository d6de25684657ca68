// A problem or note about a job's configuration, and its text for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tony::jobfile {

/// A problem: its place, its description and its remedy. Notes have the same form, without a
/// remedy. A plain value.
struct Problem {
  std::string
      file;  ///< as the user wrote it, or an option such as `--conf`; empty: no particular place
  int line = 0;         ///< counted from 1; 0: the whole file
  std::string key;      ///< empty if no single key is the cause
  std::string message;  ///< what is wrong
  std::string remedy;   ///< what to do; may be empty

  bool operator==(const Problem&) const = default;
};

/// Limit on problems per file, and per configuration in the checks of keys. Beyond it problems are
/// only counted or not searched for: a file of another format would give one for each line.
inline constexpr size_t kMostProblems = 1000;

/// The text of a problem: `job.xml:12: tony.worker.gpus: -1 is negative; write 0 or more`, without
/// the parts that are empty. It is one line of SafeText, and no part exceeds a kilobyte.
std::string RenderProblem(const Problem& problem);

/// The text of the first 20 problems, each as a line that begins with `prefix` and ends with a
/// newline. If there are more, a last line gives their number.
std::string RenderProblems(const std::vector<Problem>& problems, const std::string& prefix = "");

}  // namespace tony::jobfile
