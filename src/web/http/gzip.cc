// zlib writes the gzip format if its window bits are raised by 16.
#include "web/http/gzip.h"

#include <zlib.h>

#include "absl/strings/match.h"

namespace tony::web {
namespace {

constexpr int kGzipWindow = 15 + 16;

}  // namespace

// TcpSocket has written an IPv4-mapped address in its IPv4 form.
bool IsWorthCompressing(const std::string& peer_address) {
  return !absl::StartsWith(peer_address, "127.") && peer_address != "::1";
}

std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  constexpr int kMemoryLevel = 8;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  // zlib does not change its input, but takes it as a pointer to changeable bytes.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return done ? packed : "";
}

std::string Gunzip(const std::string& packed) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return "";
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string bytes;
  int result = Z_OK;
  while (result == Z_OK) {
    char piece[16 * 1024];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    result = inflate(&stream, Z_NO_FLUSH);
    bytes.append(piece, sizeof piece - stream.avail_out);
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END ? bytes : "";
}

}  // namespace tony::web
