// memfd_create(2), with seals.
#include "collective/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "collective/descriptor.h"

namespace tony::collective {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Status Failed(const std::string& what, int error) {
  const bool lack =
      error == ENOMEM || error == ENOSPC || error == EMFILE || error == ENFILE || error == EFBIG;
  return {lack ? Code::kResourceExhausted : Code::kInternal, what + ": " + std::strerror(error)};
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> SharedMemory::Create(size_t bytes, size_t lazy_bytes) {
  Descriptor memory(memfd_create("tony-collective", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) return Failed("cannot make shared memory", errno);
  const std::string what = "cannot get " + std::to_string(bytes) + " bytes of shared memory";
  if (const int error = posix_fallocate(memory.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return Failed(what, error);
  }
  const size_t all = bytes + lazy_bytes;
  if (lazy_bytes > 0 && ftruncate(memory.get(), static_cast<off_t>(all)) != 0) {
    return Failed("cannot make room for " + std::to_string(all) + " bytes", errno);
  }
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) return Failed(what, errno);
  return Map(memory.Release(), all);
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::Map(int descriptor, size_t bytes) {
  Descriptor memory(descriptor);
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return Status(Code::kInvalidArgument, "this is no shared memory of a fixed size");
  }
  struct stat status {};
  if (fstat(memory.get(), &status) != 0) return Failed("cannot ask for its size", errno);
  if (status.st_size < 0 || static_cast<size_t>(status.st_size) < bytes) {
    return Status(Code::kInvalidArgument, "shared memory has " + std::to_string(status.st_size) +
                                              " bytes instead of " + std::to_string(bytes));
  }
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory.get(), 0);
  if (data == MAP_FAILED) return Failed("cannot map shared memory", errno);
  return std::unique_ptr<SharedMemory>(
      new SharedMemory(memory.Release(), static_cast<std::byte*>(data), bytes));
}

SharedMemory::~SharedMemory() {
  munmap(data_, size_);
  close(descriptor_);
}

}  // namespace tony::collective
