// One table of fields gives each switch point its name and its range. Encode(), Decode() and
// Check() all use it, so they cannot disagree.
#include "collective/group/switch_points.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

namespace tony::collective {
namespace {

struct Field {
  const char* name;
  size_t SwitchPoints::*value;
  size_t least;
  size_t most;
};

constexpr size_t kMostBytes = size_t{1} << 40;  // no vector reaches it, so it means "never"
constexpr std::array<Field, 7> kFields = {
    Field{"whole_bytes", &SwitchPoints::whole_bytes, 0, size_t{1} << 30},
    Field{"direct_ranks", &SwitchPoints::direct_ranks, 1, 1024},
    Field{"scatter_bytes", &SwitchPoints::scatter_bytes, 0, kMostBytes},
    Field{"piece_bytes", &SwitchPoints::piece_bytes, 4096, SwitchPoints::kMostPieceBytes},
    Field{"window_bytes", &SwitchPoints::window_bytes, size_t{64} << 10, size_t{1} << 30},
    Field{"rails_bytes", &SwitchPoints::rails_bytes, 0, kMostBytes},
    Field{"streams", &SwitchPoints::streams, 1, SwitchPoints::kMostStreams}};

std::string RangeOf(const Field& field) {
  return "a number from " + std::to_string(field.least) + " to " + std::to_string(field.most);
}

std::string Names() {
  std::string names;
  for (const Field& field : kFields) names += (names.empty() ? "" : ", ") + std::string(field.name);
  return names;
}

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

/// Parses one line. The error does not say where the line stands.
Status TakeLine(const std::string& line, SwitchPoints& points) {
  std::istringstream words(line.substr(0, line.find('#')));
  const std::vector<std::string> said{std::istream_iterator<std::string>(words), {}};
  if (said.empty()) return {};
  for (const Field& field : kFields) {
    if (said[0] != field.name) continue;
    const std::string number = said.size() == 2 ? said[1] : "";
    const char* const end = number.data() + number.size();
    size_t value = 0;
    const auto [at, error] = std::from_chars(number.data(), end, value);
    if (error != std::errc() || at != end || value < field.least || value > field.most) {
      return Bad("'" + line + "' is none: write " + said[0] + " and " + RangeOf(field));
    }
    points.*field.value = value;
    return {};
  }
  return Bad("'" + said[0] + "' is no switch point: write one of " + Names());
}

}  // namespace

Status SwitchPoints::Check() const {
  for (const Field& field : kFields) {
    const size_t value = this->*field.value;
    if (value >= field.least && value <= field.most) continue;
    return Bad(std::to_string(value) + " " + field.name + ": give " + RangeOf(field));
  }
  return {};
}

std::string SwitchPoints::Encode() const {
  std::string table;
  for (const Field& field : kFields) {
    table += std::string(field.name) + " " + std::to_string(this->*field.value) + "\n";
  }
  return table;
}

Result<SwitchPoints> SwitchPoints::Decode(const std::string& table, const std::string& where) {
  SwitchPoints points;
  std::istringstream lines(table);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (Status taken = TakeLine(line, points); !taken.ok()) {
      return Bad(where + ", line " + std::to_string(number) + ": " + taken.message());
    }
  }
  return points;
}

Result<SwitchPoints> SwitchPoints::Read(const std::string& file) {
  const std::unique_ptr<FILE, int (*)(FILE*)> from(std::fopen(file.c_str(), "re"), std::fclose);
  std::string table;
  std::array<char, 4096> piece;
  for (size_t size = piece.size(); from != nullptr && size == piece.size();) {
    size = std::fread(piece.data(), 1, piece.size(), from.get());
    table.append(piece.data(), size);
  }
  if (from != nullptr && std::ferror(from.get()) == 0) return Decode(table, file);
  return Bad("the table of switch points " + file + " cannot be read (" + std::strerror(errno) +
             "): let python3 -m tony.collective.tune write it, or name none");
}

}  // namespace tony::collective
