// The seeds of the corpora, made anew: what honest programs send.
#pragma once

#include <string>
#include <vector>

namespace tony::fuzz {

struct Seed {
  std::string target;
  std::string name;
  std::string bytes;
};

using Seeds = std::vector<Seed>;

std::vector<Seed> AllSeeds();

// By what it takes to make them.
void AddTextSeeds(Seeds& seeds);     ///< HTTP, job files and their values, plans, output
void AddHadoopSeeds(Seeds& seeds);   ///< tokens, challenges, frames, collected logs
void AddJobSeeds(Seeds& seeds);      ///< events, decisions, replicas, elastic jobs, ranks
void AddArchiveSeeds(Seeds& seeds);  ///< archives

}  // namespace tony::fuzz
