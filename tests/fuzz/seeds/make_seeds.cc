// Writes the seeds of the corpora: what honest programs send, by the encoders of tony and of its
// tests.
//
//     fuzz_make_seeds CORPORA      CORPORA/TARGET/seed-NAME for each
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/seeds/seeds.h"

namespace fs = std::filesystem;

namespace tony::fuzz {

std::vector<Seed> AllSeeds() {
  Seeds seeds;
  AddTextSeeds(seeds);
  AddHadoopSeeds(seeds);
  AddJobSeeds(seeds);
  AddArchiveSeeds(seeds);
  return seeds;
}

}  // namespace tony::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_make_seeds CORPORA\n", stderr);
    return 2;
  }
  const fs::path corpora(argv[1]);
  int count = 0;
  for (const tony::fuzz::Seed& seed : tony::fuzz::AllSeeds()) {
    const fs::path folder = corpora / seed.target;
    fs::create_directories(folder);
    std::ofstream(folder / ("seed-" + seed.name), std::ios::binary) << seed.bytes;
    ++count;
  }
  std::printf("%d seeds in %s\n", count, corpora.c_str());
  return 0;
}
