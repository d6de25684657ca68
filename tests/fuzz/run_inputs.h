// Runs a target's inputs in a process of their own, so that no input ends the tests.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tests/fuzz/support/fuzz_target.h"

namespace tony::fuzz {

/// An input, and where it comes from.
struct NamedInput {
  std::string name;
  std::string bytes;
};

/// An input for which a property does not hold, or that ends the process.
struct Finding {
  NamedInput input;
  std::string what;  ///< "it is another one in pieces", "signal 11: Segmentation fault"
};

/// The limits of a run.
struct RunLimits {
  std::chrono::seconds input{20};    ///< of processor time, for one; then it counts as endless
  size_t memory_bytes = 1ull << 30;  ///< more than the process has; sanitizers need more, so there
                                     ///< none is set
  size_t findings = 5;               ///< then it stops
};

/// Tries the inputs in their order. Must be called while the process has one thread.
std::vector<Finding> RunInputs(RunTarget run, const std::vector<NamedInput>& inputs,
                               const RunLimits& limits = {});

}  // namespace tony::fuzz
