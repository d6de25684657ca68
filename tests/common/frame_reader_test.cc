// Where a stream is cut, and lengths that lie.
#include "common/frame_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/big_endian.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kLimit = 1000;

std::string Frame(const std::string& content) {
  return BigEndian(static_cast<uint32_t>(content.size())) + content;
}

TEST(FrameReader, CutsAStreamWhereverItsPiecesEnd) {
  const std::string longest(kLimit, 'x');
  const std::string stream = Frame("one") + Frame("") + Frame(longest) + Frame("last");
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader(kLimit, "frames");
    std::vector<std::string> frames;
    for (size_t at = 0; at < stream.size(); at += piece) {
      const std::string bytes = stream.substr(at, piece);
      reader.Append(bytes.data(), bytes.size());
      for (auto frame = reader.Next(); frame.ok() && frame->has_value(); frame = reader.Next()) {
        frames.push_back(**frame);
      }
    }
    EXPECT_THAT(frames, ElementsAre("one", "", longest, "last")) << piece;
  }
}

TEST(FrameReader, RefusesLengthsBeyondTheLimitBeforeTheyArrive) {
  for (const char* const length : {"\x7f\xff\xff\xff", "\xff\xff\xff\xff", "\x80\x00\x00\x00"}) {
    FrameReader reader(kLimit, "frames");
    reader.Append(length, 4);
    const auto frame = reader.Next();
    ASSERT_TRUE(absl::IsDataLoss(frame.status())) << frame.status();
    EXPECT_THAT(std::string(frame.status().message()), HasSubstr("does not speak frames"));
  }
}

}  // namespace
}  // namespace tony
