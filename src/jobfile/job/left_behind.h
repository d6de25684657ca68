// Finds files that a command names as if its tasks started in the user's folder.
#pragma once

#include <string>
#include <vector>

#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Notes about words in the job's commands that name a file in `working_folder`, or else in the
/// folder of the job file, `job_folder`, which no task will find: neither the program nor the files
/// of the task's type bring a file of that name. At most one note for each word, with what brings
/// the file. Reads folders, but no archive: a job with an archive as its program gets no notes.
std::vector<Problem> NoteFilesLeftBehind(const BuildResult& built,
                                         const std::string& working_folder,
                                         const std::string& job_folder);

}  // namespace tony::jobfile
