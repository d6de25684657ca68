// memfd_create(2) and fcntl(F_ADD_SEALS).
#include "feed/slot_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tony::feed {
namespace {

absl::Status NoMemory(const char* what, size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for the feed's ", bytes, " bytes of slots: ", what, ": ",
                   std::strerror(errno), " (a smaller tony.feed.buffer needs less)"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlotMemory>> SlotMemory::Create(uint32_t slots,
                                                               uint32_t slot_bytes) {
  const size_t bytes = size_t{slots} * slot_bytes;
  os::UniqueFd fd(::memfd_create("tony-feed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return NoMemory("memfd_create", bytes);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return NoMemory("ftruncate", bytes);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return NoMemory("sealing", bytes);
  }
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return NoMemory("mmap", bytes);
  return std::unique_ptr<SlotMemory>(
      new SlotMemory(std::move(fd), static_cast<char*>(data), slots, slot_bytes));
}

SlotMemory::~SlotMemory() { ::munmap(data_, size_t{slots_} * slot_bytes_); }

}  // namespace tony::feed
