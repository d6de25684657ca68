// The function of tony/collective.h that starts tuning: checks the numbers and passes them to the
// engine.
#include "collective/api/c_call.h"
#include "collective/api/process.h"
#include "tony/collective.h"

namespace tony::collective {
namespace {

Status StartAutotune(const tony_collective_autotune* options) {
  if (Status version = CheckVersion(options); !version.ok()) return version;
  if (options->warmup_samples < 0 || options->steps_per_sample < 1 || options->most_tries < 1) {
    return {Code::kInvalidArgument,
            "a number is none: give 1 step or more for a sample, and 1 try or more"};
  }
  return Process::Get().StartAutotune({.what = {.fusion = options->fusion != 0,
                                                .window = options->window != 0,
                                                .points = options->switch_points != 0},
                                       .options = {.warmup_samples = options->warmup_samples,
                                                   .steps_per_sample = options->steps_per_sample,
                                                   .most_tries = options->most_tries},
                                       .log = options->log == nullptr ? "" : options->log});
}

}  // namespace
}  // namespace tony::collective

using namespace tony::collective;  // NOLINT(google-build-using-namespace): what follows is C

extern "C" {

int tony_collective_start_autotune(const tony_collective_autotune* options) {
  return CallForCode([=] { return StartAutotune(options); });
}

}  // extern "C"
