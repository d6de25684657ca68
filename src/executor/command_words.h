// What is executed for a task's command line.
#pragma once

#include <string>
#include <vector>

namespace tony::executor {

/// The program and arguments that run `line` as `bash -c` does, in `working_folder` with
/// `environment` ("NAME=value").
///
/// That is {"/bin/bash", "-c", line}, unless bash would do nothing but execute one program in its
/// own place: a line of plain words, the first of which is no builtin and stands for a binary or a
/// script with "#!" in PATH. Then it is those words, since starting bash costs as much as the rest
/// of a task's start. Whatever is unusual is left to bash, with its messages and exit codes.
std::vector<std::string> CommandWords(const std::string& line,
                                      const std::vector<std::string>& environment,
                                      const std::string& working_folder);

}  // namespace tony::executor
