// am.lock is the ApplicationMaster's; am.guard belongs to the process that would start another one.
#include "storage/job_liveness.h"

#include "os/files/file_lock.h"

namespace tony::storage {

bool IsAlive(const JobFolder& folder) {
  return os::IsFileLocked(folder.am_lock()) || os::IsFileLocked(folder.am_guard());
}

}  // namespace tony::storage
