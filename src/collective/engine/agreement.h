// Whether the requests of all ranks for one tensor fit together.
#pragma once

#include <string>
#include <vector>

#include "collective/request/request.h"

namespace tony::collective {

/// `requests` is of each rank; null: it has joined. `ranks`: which ranks of the job these are;
/// none: they count from 0. Empty: they fit. Otherwise a sentence with the tensor, two ranks and
/// what each of them says: "tensor 'w': rank 0 submits float32[3, 4], rank 2 float32[4, 3]".
std::string Disagreement(const std::vector<const Request*>& requests,
                         const std::vector<int>& ranks = {});

}  // namespace tony::collective
