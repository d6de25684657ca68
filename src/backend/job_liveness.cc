// Looks at am.lock and am.guard.
#include "backend/job_liveness.h"

#include "os/file_lock.h"

namespace tony::backend {

bool IsAlive(const JobFolder& folder) {
  return os::IsFileLocked(folder.am_lock()) || os::IsFileLocked(folder.am_guard());
}

}  // namespace tony::backend
