// The values are few, and each is several times the one before, so that their speeds differ by more
// than the noise if they differ at all.
#include "collective/tune/settings.h"

#include <algorithm>

namespace tony::collective {
namespace {

constexpr size_t kKibibyte = size_t{1} << 10;
constexpr size_t kMebibyte = size_t{1} << 20;

/// The values of a switch point; its default is among them.
std::vector<size_t> ValuesOf(size_t SwitchPoints::*point) {
  if (point == &SwitchPoints::whole_bytes) {
    return {16 * kKibibyte, 64 * kKibibyte, 256 * kKibibyte, kMebibyte};
  }
  if (point == &SwitchPoints::rails_bytes) return {32 * kKibibyte, 128 * kKibibyte, kMebibyte};
  return {256 * kKibibyte, kMebibyte, 4 * kMebibyte};
}

}  // namespace

std::vector<Parameter> ParametersOf(const Tunable& tunable,
                                    const std::optional<Group::Ways>& ways) {
  std::vector<Parameter> parameters;
  if (tunable.fusion) {
    parameters.push_back(
        {.values = {kMebibyte, 4 * kMebibyte, 16 * kMebibyte, 64 * kMebibyte, 128 * kMebibyte},
         .of = [](Settings& settings) -> size_t& { return settings.fusion_bytes; }});
  }
  if (tunable.window) {
    parameters.push_back({.values = {0, 250, 1000, 4000},
                          .of = [](Settings& settings) -> size_t& { return settings.window_us; }});
  }
  if (!tunable.points || !ways) return parameters;
  for (size_t SwitchPoints::*const point : ways->tunable) {
    parameters.push_back({.values = ValuesOf(point), .of = [point](Settings& settings) -> size_t& {
                            return (*settings.points).*point;
                          }});
  }
  return parameters;
}

}  // namespace tony::collective
