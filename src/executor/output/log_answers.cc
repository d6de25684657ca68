// Numbers of the request are brought into their bounds, and what is read into a message.
#include "executor/output/log_answers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "logs/container_logs.h"
#include "logs/log_block.h"
#include "rpc/convert/log_lines.h"

namespace tony::executor {
namespace {

/// Nothing for a log that cannot exist.
std::optional<logs::ContainerLogFile> FileOf(const v1::ReadLog& wish) {
  using Stream = logs::ContainerLogFile::Stream;
  logs::ContainerLogFile file;
  file.attempt = wish.attempt();
  switch (wish.stream()) {
    case v1::ReadLog::STDOUT:
      file.stream = Stream::kStdout;
      break;
    case v1::ReadLog::STDERR:
      file.stream = Stream::kStderr;
      break;
    case v1::ReadLog::EXECUTOR:
      file.stream = Stream::kExecutor;
      break;
    default:
      return std::nullopt;
  }
  return logs::IsContainerLog(file) ? std::optional(file) : std::nullopt;
}

size_t Within(int64_t value, int64_t least, int64_t most) {
  return static_cast<size_t>(std::clamp(value, least, most));
}

logs::LogSearch SearchOf(const v1::ReadLog& wish) {
  logs::LogSearch search;
  search.offset = wish.offset();
  search.pattern = wish.search().pattern();
  search.context = Within(wish.search().context(), 0, 100);
  search.hits = Within(wish.search().hits(), 1, 1000);
  search.limit = Within(wish.limit_bytes(), 1, LogAnswers::kMostBytes);
  return search;
}

}  // namespace

void LogAnswers::Answer(const v1::ReadLog& wish) {
  const auto take = [this, request = wish.request()](absl::StatusOr<logs::LogBlock> block) {
    v1::LogLines lines = rpc::ToProto(std::move(block));
    lines.set_request(request);
    send_(std::move(lines));
  };
  const std::optional<logs::ContainerLogFile> file = FileOf(wish);
  if (!file) return take(absl::NotFoundError("the container cannot have such a log"));
  const std::string path = absl::StrCat(folder_, "/", logs::ContainerLogName(*file));
  const logs::LogSearch search = SearchOf(wish);
  if (wish.has_search()) return lookup_.Search(path, search, nullptr, take);
  lookup_.ReadBlock(path, search.offset, search.limit, nullptr, take);
}

}  // namespace tony::executor
