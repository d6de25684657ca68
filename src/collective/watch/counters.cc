// The counters as text, and the atomic replacement of a file: written beside it, then renamed.
#include "collective/watch/counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "collective/base/descriptor.h"

namespace tony::collective {
namespace {

/// Seconds with six decimals and a decimal point, whatever the program's locale is.
std::string Seconds(std::chrono::nanoseconds time) {
  const int64_t microseconds = time.count() / 1000;
  std::string fraction = std::to_string(microseconds % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::to_string(microseconds / 1'000'000) + "." + fraction;
}

}  // namespace

std::string Counters::Text() const {
  const auto sum = [](const auto& of) {
    return std::to_string(std::accumulate(of.begin(), of.end(), int64_t{0}));
  };
  return "tensors " + sum(tensors) + "\nbytes " + sum(bytes) + "\noperations " +
         std::to_string(operations) + "\nby_number " + std::to_string(by_number) + "\nby_request " +
         std::to_string(by_request) + "\nnegotiation_seconds " + Seconds(negotiation) +
         "\noperation_seconds " + Seconds(operation) + "\nwaited_for_seconds " +
         Seconds(waited_for) + "\n" + (stalled.empty() ? "" : "stalled " + stalled + "\n");
}

Status Replace(const std::string& path, const std::string& contents) {
  const std::string fresh = path + ".new";
  const auto failed = [&](int error) {
    // The unfinished file must not stay behind; where none was made there is nothing to remove.
    unlink(fresh.c_str());
    return Status(Code::kInternal, "cannot write " + path + ": " + std::strerror(error));
  };
  {
    const Descriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.get() < 0) return failed(errno);
    const ssize_t written = write(file.get(), contents.data(), contents.size());
    if (written < 0) return failed(errno);
    // A short write sets no errno; a full disk is its usual cause.
    if (written != static_cast<ssize_t>(contents.size())) return failed(ENOSPC);
  }
  return std::rename(fresh.c_str(), path.c_str()) == 0 ? Status() : failed(errno);
}

}  // namespace tony::collective
