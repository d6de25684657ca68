// gloo_ranks RANKS BATCHES SIZES FOLDER [RANK ADDRESS]: measures Gloo's fastest allreduce over TCP,
// in place, among processes that meet in FOLDER. Without RANK it starts all of them, on loopback.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/collective/ranks.h"

int main(int count, char** words) {
  if (count != 5 && count != 7) return 2;
  const bool is_alone = count == 7;
  const int ranks = std::atoi(words[1]);
  int rank = is_alone ? std::atoi(words[5]) : 0;
  while (!is_alone && rank + 1 < ranks && fork() == 0) ++rank;
  gloo::transport::tcp::attr address;
  address.hostname = is_alone ? words[6] : "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(address);
  gloo::rendezvous::FileStore store(words[4]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  for (const size_t bytes : bench::Sizes(words[3])) {
    std::vector<float> vector(bytes / sizeof(float), 1.0F);
    gloo::AllreduceHalvingDoubling<float> reduce(context, {vector.data()},
                                                 static_cast<int>(vector.size()));
    reduce.run();
    bench::Check(vector.data(), vector.size(), ranks);
    std::fill(vector.begin(), vector.end(), 0.0F);
    bench::Measure(rank, ranks, bytes, std::atoi(words[2]), [&] { reduce.run(); });
    gloo::BarrierOptions all(context);
    gloo::barrier(all);
  }
  wait(nullptr);
  return 0;
}
