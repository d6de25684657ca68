// Explains to the author of a command why it failed, by its exit code and its last lines.
#pragma once

#include <string>
#include <vector>

namespace tony::executor {

/// What an explanation depends on. Plain data.
struct ProgramFacts {
  std::string shell_command;             ///< as for bash -c
  std::vector<std::string> environment;  ///< "NAME=value", complete
  std::string working_folder;
  std::string framework;            ///< the job's, as in tony.application.framework
  std::vector<int> reserved_ports;  ///< the ports that tony reserved for the task
};

/// Why a program failed with `code`, and what to do; empty if its last lines, `tail`, show no error
/// that tony knows. Looks up the command's interpreter in the file system.
std::string ExplainExit(int code, const std::vector<std::string>& tail, const ProgramFacts& facts);

}  // namespace tony::executor
