// Compressed answers, unpacked again.
#include "web/http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace tony::web {
namespace {

std::string Unpacked(const std::string& packed, size_t size) {
  std::string bytes(size + 1, '\0');
  z_stream stream = {};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return bytes;
}

TEST(Gzip, KeepsTheBytes) {
  std::string bytes;
  for (int number = 0; number < 100'000; ++number) bytes += std::to_string(number * 7919) + ",";
  const std::string packed = Gzip(bytes);
  EXPECT_LT(packed.size(), bytes.size() * 3 / 4);
  EXPECT_EQ(Unpacked(packed, bytes.size()), bytes);
  EXPECT_EQ(Unpacked(Gzip(""), 0), "");
  EXPECT_EQ(Gunzip(packed), bytes);
  EXPECT_EQ(Gunzip(packed.substr(0, packed.size() / 2)), "") << "a part is not taken for the whole";
  EXPECT_EQ(Gunzip("not compressed"), "");
}

TEST(Gzip, LoopbackIsFasterThanCompression) {
  for (const char* const own : {"127.0.0.1", "127.8.9.10", "::1"}) {
    EXPECT_FALSE(IsWorthCompressing(own)) << own;
  }
  for (const char* const other : {"10.0.0.7", "128.0.0.1", "12.7.0.1", "::2", "fd00::1", "::"}) {
    EXPECT_TRUE(IsWorthCompressing(other)) << other;
  }
}

}  // namespace
}  // namespace tony::web
