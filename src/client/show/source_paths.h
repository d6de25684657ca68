// Names the files of a job's program as its user knows them, in lines that the program has printed.
#pragma once

#include <string>
#include <vector>

#include "core/record/job_view.h"

namespace tony::client {

/// A task runs in a folder of its own, which is gone when the job has ended. So a line like
/// `File "/home/ada/.tony/jobs/ID/containers/ID-c0002/exc.py", line 10` leads nowhere, and becomes
/// `File "src/exc.py:10"`, which terminals and editors open. Thread safe (immutable).
class SourcePaths {
 public:
  /// `working_folder`: the user's, absolute; files below it are named from there.
  SourcePaths(const core::JobView& view, std::string working_folder);

  /// The line with each path into a task's folder replaced: by the file in the folder that the job
  /// was made from, if it exists there, or else by the path inside the program.
  std::string Rewrite(const std::string& line) const;
  std::vector<std::string> Rewrite(const std::vector<std::string>& lines) const;

 private:
  /// `inside`: a path below a task's folder.
  std::string NameOf(const std::string& inside) const;

  std::vector<std::string> containers_;  ///< folders that hold the tasks' folders, each with a '/'
  std::string source_folder_;            ///< absolute; empty: not known
  std::string working_folder_;
};

}  // namespace tony::client
