// Reads with pread() from the remembered offset. The inode tells a replaced file from a grown one.
#include "history/line_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "history/record_file.h"

namespace tony::history {
namespace {

constexpr size_t kChunk = size_t{64} * 1024;

}  // namespace

// An incomplete line is read again each time. An ApplicationMaster that comes back cuts off what
// its predecessor had half written and appends other bytes there, so nothing of such a line may be
// kept.
void LineTail::Read(const Use& use) {
  const absl::StatusOr<os::UniqueFd> file = OpenRecordFile(path_);
  struct stat status {};
  if (!file.ok() || ::fstat(file->get(), &status) != 0) return;
  const bool other_file = inode_ != 0 && status.st_ino != inode_;
  if (other_file || status.st_size < offset_) offset_ = 0;
  inode_ = status.st_ino;
  char chunk[kChunk];
  std::string line;
  int64_t read_to = offset_;
  ssize_t count = 0;
  while ((count = ::pread(file->get(), chunk, sizeof chunk, read_to)) > 0) {
    read_to += count;
    const char* position = chunk;
    const char* const end = chunk + count;
    while (const void* found = std::memchr(position, '\n', end - position)) {
      const char* const line_end = static_cast<const char*>(found);
      line.append(position, line_end);
      position = line_end + 1;
      offset_ = read_to - (end - position);
      use(line);
      line.clear();
    }
    line.append(position, end);
    if (line.size() >= kMostLine) {
      offset_ = read_to;
      use(line);
      line.clear();
    }
  }
}

}  // namespace tony::history
