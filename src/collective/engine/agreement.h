// Checks whether the requests of all ranks for one tensor fit together.
#pragma once

#include <string>
#include <vector>

#include "collective/request/request.h"

namespace tony::collective {

/// `requests`: by rank; null: the rank has joined. `ranks`: the ranks of the job that these are;
/// empty: 0, 1, 2, …. Returns empty if the requests fit. Otherwise a sentence with the tensor, two
/// ranks and what each of them says:
/// "tensor 'w': rank 0 submits float32[3, 4], rank 2 float32[4, 3]".
std::string Disagreement(const std::vector<const Request*>& requests,
                         const std::vector<int>& ranks = {});

}  // namespace tony::collective
