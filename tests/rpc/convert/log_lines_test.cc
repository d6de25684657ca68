// Tests that blocks of lines and errors pass a message unchanged.
#include "rpc/convert/log_lines.h"

#include <gtest/gtest.h>

namespace tony::rpc {
namespace {

TEST(LogLines, ABlockComesBackUnchanged) {
  logs::LogBlock block{
      .offset = 10, .end = 30, .size = 40, .dropped_offset = 5, .dropped_bytes = 7};
  block.rows = {{10, "one", true}, {14, "\xff not UTF-8", false}};
  block.partial = true;
  block.next = 30;
  block.hits = 1;
  v1::LogLines read;
  ASSERT_TRUE(read.ParseFromString(ToProto(block).SerializeAsString()));
  const absl::StatusOr<logs::LogBlock> again = FromProto(read);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->offset, 10);
  EXPECT_EQ(again->end, 30);
  EXPECT_EQ(again->size, 40);
  EXPECT_EQ(again->dropped_offset, 5);
  EXPECT_EQ(again->dropped_bytes, 7);
  ASSERT_EQ(again->rows.size(), 2U);
  EXPECT_EQ(again->rows[0].offset, 10);
  EXPECT_EQ(again->rows[0].text, "one");
  EXPECT_TRUE(again->rows[0].hit);
  EXPECT_EQ(again->rows[1].text, "\xff not UTF-8");
  EXPECT_FALSE(again->rows[1].hit);
  EXPECT_TRUE(again->partial);
  EXPECT_EQ(again->next, 30);
  EXPECT_EQ(again->hits, 1U);
  block.next.reset();
  EXPECT_EQ(FromProto(ToProto(block))->next, std::nullopt);
}

TEST(LogLines, AnErrorComesBackWithItsCode) {
  v1::LogLines read;
  ASSERT_TRUE(
      read.ParseFromString(ToProto(absl::NotFoundError("no file \xfe")).SerializeAsString()));
  const absl::StatusOr<logs::LogBlock> again = FromProto(read);
  EXPECT_TRUE(absl::IsNotFound(again.status()));
  EXPECT_NE(again.status().message().find("no file"), absl::string_view::npos);
}

}  // namespace
}  // namespace tony::rpc
