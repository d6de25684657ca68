// A piece names a stream, an attempt and a segment, never a path, so a peer cannot make the
// receiver write to any other file.
#include "rpc/convert/log_piece.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/convert/utf8.h"

namespace tony::rpc {
namespace {

using Stream = logs::ContainerLogFile::Stream;

v1::LogPiece::Stream ToProto(Stream stream) {
  switch (stream) {
    case Stream::kStdout:
      return v1::LogPiece::STDOUT;
    case Stream::kStderr:
      return v1::LogPiece::STDERR;
    case Stream::kExecutor:
      return v1::LogPiece::EXECUTOR;
    case Stream::kMaster:
      return v1::LogPiece::MASTER;
    case Stream::kStacks:
      break;  // they do not come through tunnels
  }
  return v1::LogPiece::STREAM_UNSPECIFIED;
}

absl::StatusOr<Stream> FromProto(v1::LogPiece::Stream stream) {
  switch (stream) {
    case v1::LogPiece::STDOUT:
      return Stream::kStdout;
    case v1::LogPiece::STDERR:
      return Stream::kStderr;
    case v1::LogPiece::EXECUTOR:
      return Stream::kExecutor;
    case v1::LogPiece::MASTER:
      return Stream::kMaster;
    default:
      return absl::InvalidArgumentError("a piece of a log is of no known stream");
  }
}

}  // namespace

v1::LogPiece ToProto(logs::LogPiece piece) {
  v1::LogPiece proto;
  proto.set_stream(ToProto(piece.file.stream));
  proto.set_attempt(piece.file.attempt);
  proto.set_segment(piece.file.segment);
  proto.set_times(piece.file.times);
  proto.set_version(piece.version);
  proto.set_offset(piece.offset);
  proto.set_data(std::move(piece.bytes));
  proto.set_trouble(ToUtf8(piece.trouble));
  return proto;
}

absl::StatusOr<logs::LogPiece> FromProto(v1::LogPiece proto) {
  const absl::StatusOr<Stream> stream = FromProto(proto.stream());
  if (!stream.ok()) return stream.status();
  logs::LogPiece piece{{*stream, proto.attempt(), proto.segment(), proto.times()},
                       proto.version(),
                       proto.offset(),
                       "",
                       proto.trouble()};
  if (!logs::IsContainerLog(piece.file) || piece.offset < 0) {
    return absl::InvalidArgumentError("a piece of a log is of no file that there can be");
  }
  piece.bytes = std::move(*proto.mutable_data());
  return piece;
}

std::string MasterContainer(int incarnation) { return absl::StrCat("am.", incarnation); }

bool IsWanted(const v1::LogWish& wish, const logs::ContainerLogFile& file) {
  if (file.of_program() && wish.attempt() != 0 && wish.attempt() != file.attempt) return false;
  switch (file.stream) {
    case Stream::kStdout:
      return wish.standard_output();
    case Stream::kStderr:
      return wish.standard_error();
    case Stream::kExecutor:
      return wish.executor();
    case Stream::kMaster:
      return wish.master();
    case Stream::kStacks:
      return false;  // they do not come through tunnels
  }
  return false;
}

}  // namespace tony::rpc
