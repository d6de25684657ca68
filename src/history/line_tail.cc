// Reads with pread() from the remembered offset. The inode tells a replaced file from a grown one.
#include "history/line_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "os/files/unique_fd.h"

namespace tony::history {
namespace {

constexpr size_t kChunk = 64 * 1024;

/// The offset at which the last `lines` lines of a file of `size` bytes begin; a last line without
/// '\n' counts. The file is read backwards in chunks, so the cost does not grow with its size.
int64_t StartOfLastLines(int fd, int64_t size, int64_t lines) {
  if (lines <= 0) return size;
  char chunk[kChunk];
  int64_t seen = 0;
  for (int64_t end = size; end > 0;) {
    const int64_t start = std::max<int64_t>(0, end - static_cast<int64_t>(kChunk));
    const ssize_t count = pread(fd, chunk, end - start, start);
    if (count <= 0) return 0;
    for (int64_t position = count - 1; position >= 0; --position) {
      const bool ends_the_file = start + position == size - 1;
      if (chunk[position] == '\n' && !ends_the_file && ++seen == lines) return start + position + 1;
    }
    end = start;
  }
  return 0;
}

}  // namespace

void LineTail::SkipToLast(int64_t lines) {
  const os::UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return;
  inode_ = status.st_ino;
  offset_ = StartOfLastLines(fd.get(), status.st_size, lines);
}

void LineTail::Read(const Use& use) {
  const os::UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  // A replaced or cut file is read from its start; the incomplete line before it is given out
  // first.
  const bool other_file = inode_ != 0 && status.st_ino != inode_;
  if (other_file || status.st_size < offset_) {
    if (!partial_.empty()) use(partial_);
    partial_.clear();
    offset_ = 0;
  }
  inode_ = status.st_ino;
  char chunk[kChunk];
  ssize_t count = 0;
  while ((count = pread(fd.get(), chunk, sizeof chunk, offset_)) > 0) {
    offset_ += count;
    const char* position = chunk;
    const char* const end = chunk + count;
    while (const void* found = std::memchr(position, '\n', end - position)) {
      const char* const line_end = static_cast<const char*>(found);
      partial_.append(position, line_end);
      use(partial_);
      partial_.clear();
      position = line_end + 1;
    }
    partial_.append(position, end);
    if (partial_.size() >= kChunk) {
      use(partial_);
      partial_.clear();
    }
  }
}

void LineTail::Finish(const Use& use) {
  Read(use);
  if (!partial_.empty()) use(partial_);
  partial_.clear();
}

}  // namespace tony::history
