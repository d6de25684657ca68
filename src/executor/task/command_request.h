// Chooses between bash and a direct execution for a task's command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/containment/keeper.h"

namespace tony::executor {

/// The shell in the file system below `root` ("" for this process's own): "/bin/bash", otherwise
/// "/bin/sh", as in small images. Empty: there is neither.
std::string FindShell(const std::string& root);

/// Returns a request that does the same as `bash -c LINE` in `working_folder` with `environment`
/// ("NAME=value"). Only its arguments, program and fallback are filled in.
///
/// The request executes bash, unless bash would only replace itself by one program. That is so for
/// a line of plain words whose first word is neither a builtin nor a keyword of bash, and names a
/// binary or a script with "#!", by its path or in PATH. Such a file is executed directly with the
/// words of the line, since starting bash costs as much as the rest of a task's start. If the file
/// cannot be executed after all, bash is the fallback, with its messages and exit codes.
///
/// `shell`: takes bash's place; see FindShell(). InvalidArgument – it is empty, and the line needs
/// a shell, or its first word is no program.
absl::StatusOr<os::SpawnRequest> RequestFor(const std::string& line,
                                            const std::vector<std::string>& environment,
                                            const std::string& working_folder,
                                            const std::string& shell);

/// The file that bash would execute for `word`; nullopt: there is none, or bash would have to say.
std::optional<std::string> FindProgram(const std::string& word,
                                       const std::vector<std::string>& environment,
                                       const std::string& working_folder);

}  // namespace tony::executor
