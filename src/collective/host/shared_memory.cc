// memfd_create(2), filled by posix_fallocate(3) and sealed against changes of its size. Claims are
// POSIX record locks on single bytes of the file.
#include "collective/host/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "collective/base/descriptor.h"

namespace tony::collective {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Status Failed(const std::string& what, int error) {
  const bool lack =
      error == ENOMEM || error == ENOSPC || error == EMFILE || error == ENFILE || error == EFBIG;
  return {lack ? Code::kResourceExhausted : Code::kInternal, what + ": " + std::strerror(error)};
}

/// Whether RLIMIT_FSIZE allows files of `bytes` bytes. A process that makes a file larger gets
/// SIGXFSZ, which ends it, so the limit is checked before.
bool IsAllowed(size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

struct flock LockOf(size_t part) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(part);
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> SharedMemory::Create(size_t bytes, size_t lazy_bytes) {
  Descriptor memory(memfd_create("tony-collective", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) return Failed("cannot make shared memory", errno);
  const std::string what = "cannot get " + std::to_string(bytes) + " bytes of shared memory";
  if (!IsAllowed(bytes)) return Failed(what, EFBIG);
  if (const int error = posix_fallocate(memory.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return Failed(what, error);
  }
  // If the limit does not allow such a file, there are no lazy bytes.
  const bool lazy = lazy_bytes > 0 && IsAllowed(bytes + lazy_bytes) &&
                    ftruncate(memory.get(), static_cast<off_t>(bytes + lazy_bytes)) == 0;
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return Failed(what, errno);
  return Map(memory.Release(), bytes, lazy ? lazy_bytes : 0);
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::Map(int descriptor, size_t bytes,
                                                        size_t lazy_bytes) {
  Descriptor memory(descriptor);
  // Without the seals the other process could shrink the file, and an access behind its end would
  // be a SIGBUS here.
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return Status(Code::kInvalidArgument, "this is no shared memory of a fixed size");
  }
  struct stat status {};
  if (fstat(memory.get(), &status) != 0) return Failed("cannot ask for its size", errno);
  const auto size = static_cast<size_t>(std::max<off_t>(status.st_size, 0));
  if (size < bytes) {
    return Status(Code::kInvalidArgument, "shared memory has " + std::to_string(size) +
                                              " bytes instead of " + std::to_string(bytes));
  }
  const auto map = [&](size_t length) {
    return mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory.get(),
                0);
  };
  if (lazy_bytes > 0 && size >= bytes + lazy_bytes) {
    const size_t all = bytes + lazy_bytes;
    if (void* data = map(all); data != MAP_FAILED) {
      // A core dump must not become as large as the range of addresses.
      madvise(static_cast<std::byte*>(data) + bytes, lazy_bytes, MADV_DONTDUMP);
      return std::unique_ptr<SharedMemory>(
          new SharedMemory(memory.Release(), static_cast<std::byte*>(data), all));
    }
  }
  void* data = map(bytes);
  if (data == MAP_FAILED) return Failed("cannot map shared memory", errno);
  return std::unique_ptr<SharedMemory>(
      new SharedMemory(memory.Release(), static_cast<std::byte*>(data), bytes));
}

// A POSIX record lock belongs to the whole process, and the kernel releases it when the process
// ends, in whatever way.

Status SharedMemory::Claim(size_t part) {
  struct flock lock = LockOf(part);
  return fcntl(descriptor_, F_SETLK, &lock) == 0 ? Status()
                                                 : Failed("cannot mark shared memory", errno);
}

bool SharedMemory::IsClaimed(size_t part) const {
  struct flock lock = LockOf(part);
  return fcntl(descriptor_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void SharedMemory::Discard(size_t begin, size_t bytes) {
  // If the kernel refuses, the memory stays allocated.
  madvise(data_ + begin, bytes, MADV_REMOVE);
}

SharedMemory::~SharedMemory() {
  munmap(data_, size_);
  close(descriptor_);
}

}  // namespace tony::collective
