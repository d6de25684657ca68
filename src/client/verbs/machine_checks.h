// What a machine needs for jobs, each thing looked at by itself.
#pragma once

#include <string>
#include <vector>

#include "client/verbs/verbs.h"
#include "common/command_line.h"
#include "jobfile/configuration/configuration.h"

namespace tony::client {

/// What one look has found. A plain value.
struct Finding {
  enum class Kind {
    kFine,
    kLess,   ///< jobs run, but something that they could have is missing
    kWrong,  ///< jobs do not run
  };
  Kind kind = Kind::kFine;
  std::string what;      ///< what was looked at, a word or two: "containment"
  std::string sentence;  ///< what was found
  std::string remedy;    ///< what to type or to write; empty: nothing to do
};

/// Looks at the folder of jobs, the ledger, containment, GPUs, Python, limits, and at the Hadoop
/// cluster if one is configured. Takes seconds where nvidia-smi or the cluster is slow. Blocks.
std::vector<Finding> CheckMachine(const CommandLine& line, const VerbContext& context,
                                  const jobfile::Configuration& configuration);

}  // namespace tony::client
