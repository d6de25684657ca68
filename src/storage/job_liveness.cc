// Looks at am.lock and am.guard.
#include "storage/job_liveness.h"

#include "os/files/file_lock.h"

namespace tony::storage {

bool IsAlive(const JobFolder& folder) {
  return os::IsFileLocked(folder.am_lock()) || os::IsFileLocked(folder.am_guard());
}

}  // namespace tony::storage
