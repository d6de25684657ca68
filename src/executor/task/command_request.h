// What is executed for a task's command line.
#pragma once

#include <string>
#include <vector>

#include "os/containment/keeper.h"

namespace tony::executor {

/// What does the same as `bash -c LINE` in `working_folder` with `environment` ("NAME=value"): the
/// arguments, program and fallback of the request.
///
/// That is bash, unless it would do nothing but execute one program in its own place: a line of
/// plain words, the first of which is no builtin and stands for a binary or a script with "#!" in
/// PATH. Then it is that file with those words, since starting bash costs as much as the rest of a
/// task's start; should the file turn out not to be executable, bash is the fallback, with its
/// messages and exit codes.
os::SpawnRequest RequestFor(const std::string& line, const std::vector<std::string>& environment,
                            const std::string& working_folder);

}  // namespace tony::executor
