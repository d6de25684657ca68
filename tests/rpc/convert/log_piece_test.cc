// Pieces of logs on the wire: there and back, and what no file can be.
#include "rpc/convert/log_piece.h"

#include <gtest/gtest.h>

namespace tony::rpc {
namespace {

using Stream = logs::ContainerLogFile::Stream;

TEST(LogPiece, ThereAndBack) {
  for (const logs::ContainerLogFile& file : {logs::ContainerLogFile{Stream::kStdout, 2, 3, true},
                                             {Stream::kStderr, 1, 1, false},
                                             {Stream::kExecutor, 0, 2, false},
                                             {Stream::kMaster, 0, 1, false}}) {
    const absl::StatusOr<logs::LogPiece> back =
        FromProto(ToProto({file, 7, 8, "bytes\xff", "why"}));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->file, file);
    EXPECT_EQ(back->version, 7);
    EXPECT_EQ(back->offset, 8);
    EXPECT_EQ(back->bytes, "bytes\xff");
    EXPECT_EQ(back->trouble, "why");
  }
}

TEST(LogPiece, OfNoFileThatThereCanBe) {
  const v1::LogPiece good = ToProto({{Stream::kStdout, 1, 1, false}, 1, 0, "x"});
  EXPECT_TRUE(FromProto(good).ok());
  v1::LogPiece piece = good;
  piece.clear_stream();
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(piece).status()));
  piece = good;
  piece.set_attempt(0);
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(piece).status()));
  piece = good;
  piece.set_segment(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(piece).status()));
  piece = good;
  piece.set_offset(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(piece).status()));
  piece = good;
  piece.set_stream(v1::LogPiece::MASTER);
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(piece).status()));
}

TEST(LogPiece, AWishMeansNothingThatItDoesNotName) {
  v1::LogWish wish;
  wish.set_standard_output(true);
  wish.set_attempt(2);
  EXPECT_TRUE(IsWanted(wish, {Stream::kStdout, 2, 1, false}));
  EXPECT_TRUE(IsWanted(wish, {Stream::kStdout, 2, 1, true}));
  EXPECT_FALSE(IsWanted(wish, {Stream::kStdout, 1, 1, false}));
  EXPECT_FALSE(IsWanted(wish, {Stream::kStderr, 2, 1, false}));
  EXPECT_FALSE(IsWanted(wish, {Stream::kExecutor, 0, 1, false}));
  EXPECT_FALSE(IsWanted(wish, {Stream::kMaster, 0, 1, false}));
  wish.set_executor(true);
  EXPECT_TRUE(IsWanted(wish, {Stream::kExecutor, 0, 1, false}));
  wish.set_master(true);
  EXPECT_TRUE(IsWanted(wish, {Stream::kMaster, 0, 1, false}));
}

}  // namespace
}  // namespace tony::rpc
