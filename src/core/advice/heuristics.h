// The heuristics, a file each. Each looks at one question and gives advice only where the facts
// answer it.
#pragma once

#include <vector>

#include "core/advice/advice.h"
#include "core/advice/job_facts.h"

namespace tony::core {

std::vector<Advice> AdviseMemoryUnused(const JobFacts& facts);
std::vector<Advice> AdviseMemoryTight(const JobFacts& facts);
std::vector<Advice> AdviseCoresUnused(const JobFacts& facts);
std::vector<Advice> AdviseCoresShort(const JobFacts& facts);
std::vector<Advice> AdviseGpusUnused(const JobFacts& facts);
std::vector<Advice> AdviseInputBound(const JobFacts& facts);
std::vector<Advice> AdviseExchangeBound(const JobFacts& facts);
std::vector<Advice> AdviseStraggler(const JobFacts& facts);
std::vector<Advice> AdviseParameterServers(const JobFacts& facts);
std::vector<Advice> AdviseStartUp(const JobFacts& facts);
std::vector<Advice> AdviseLostWork(const JobFacts& facts);
std::vector<Advice> AdviseSameFailure(const JobFacts& facts);
std::vector<Advice> AdviseCheckpointInterval(const JobFacts& facts);
std::vector<Advice> AdviseLogVolume(const JobFacts& facts);

}  // namespace tony::core
