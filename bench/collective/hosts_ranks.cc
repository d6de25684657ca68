// hosts_ranks RANK RANKS BATCHES SIZES FOLDER ADDRESS POINTS [mac]: one rank's allreduce, as in the
// engine, in place, among ranks that meet in FOLDER: through memory within a host, through TCP
// between hosts. POINTS: a file of switch points. `mac`: data carries a MAC.
#include <cstring>

#include "bench/collective/folder_store.h"
#include "bench/collective/ranks.h"
#include "collective/meeting/meeting.h"

using namespace tony::collective;

int main(int count, char** words) {
  if (count != 8 && count != 9) return 2;
  Meeting meeting;
  meeting.rank = std::atoi(words[1]);
  meeting.ranks = std::atoi(words[2]);
  meeting.secret = "of this bench";
  meeting.address = words[6];
  meeting.points_file = words[7];
  meeting.wire_mac = count == 9 && std::strcmp(words[8], "mac") == 0;
  bench::FolderStore store(words[5]);
  const auto patience = std::chrono::seconds(60);
  auto members = Meet(store, meeting, After(patience));
  bench::Ensure(members.status());
  Group& group = (*members)->group();
  std::fprintf(stderr, "%s\n", (*members)->transport().c_str());
  for (const size_t bytes : bench::Sizes(words[4])) {
    const size_t elements = bytes / sizeof(float);
    std::vector<float> vector(elements, 1.0F);
    const auto call = [&] {
      bench::Ensure(group.AllReduce(vector.data(), vector.data(), elements, DataType::kFloat32,
                                    ReduceOp::kSum, After(patience)));
    };
    call();
    bench::Check(vector.data(), elements, meeting.ranks);
    std::fill(vector.begin(), vector.end(), 0.0F);  // sums of sums would overflow
    bench::Measure(meeting.rank, meeting.ranks, bytes, std::atoi(words[3]), call);
    bench::Ensure(group.Barrier(After(patience)));
  }
  return 0;
}
