// The keys are read leniently, since CheckKeys() and CheckJob() report their mistakes.
#include "jobfile/job/framework.h"

#include "absl/strings/ascii.h"
#include "core/runtime/runtime.h"

namespace tony::jobfile {

core::Framework FrameworkOf(const Configuration& configuration) {
  return core::ParseFramework(
             absl::AsciiStrToLower(configuration.GetText("tony.application.framework")))
      .value_or(core::Framework::kTensorFlow);
}

HorovodDriver HorovodDriverOf(const Configuration& configuration) {
  if (FrameworkOf(configuration) != core::Framework::kHorovod) return HorovodDriver::kNone;
  return configuration.GetBoolean("tony.horovod.driver.mode.debug") ? HorovodDriver::kUsers
                                                                    : HorovodDriver::kTony;
}

bool IsHorovodDriver(const Configuration& configuration, const std::string& task_type) {
  return task_type == core::kDriverType && HorovodDriverOf(configuration) != HorovodDriver::kNone;
}

}  // namespace tony::jobfile
