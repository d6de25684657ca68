// A job is elastic when its Horovod settings have elastic ones.
#include "core/job/make_ranks.h"

#include "core/job/elastic_ranks.h"
#include "core/job/horovod_ranks.h"

namespace tony::core {

std::unique_ptr<Ranks> MakeRanks(JobRun& run, const JobParts& parts) {
  if (run.job.framework != Framework::kHorovod) return std::make_unique<Ranks>(run, parts);
  if (!run.job.horovod.elastic) return std::make_unique<HorovodRanks>(run, parts);
  return std::make_unique<ElasticRanks>(run, parts, *run.job.horovod.elastic);
}

}  // namespace tony::core
