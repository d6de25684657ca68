// Packs strings, each ended by NUL, and lists with their length in front, into a memory file.
#include "os/processes/spawn_payload.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/proc_file.h"

namespace tony::os {
namespace {

void AppendStrings(const std::vector<std::string>& strings, std::string& packed) {
  packed += std::to_string(strings.size());
  packed.push_back('\0');
  for (const std::string& string : strings) {
    packed += string;
    packed.push_back('\0');
  }
}

// Removes the bytes before the next NUL from `rest` and returns them.
std::string_view TakeString(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::vector<std::string> TakeStrings(std::string_view& rest) {
  const unsigned long count = std::strtoul(std::string(TakeString(rest)).c_str(), nullptr, 10);
  std::vector<std::string> strings;
  while (strings.size() < count && !rest.empty()) strings.emplace_back(TakeString(rest));
  return strings;
}

}  // namespace

std::string PackSpawnPayload(const SpawnPayload& payload) {
  std::string packed = payload.working_folder;
  packed.push_back('\0');
  packed += payload.program;
  packed.push_back('\0');
  AppendStrings(payload.arguments, packed);
  AppendStrings(payload.fallback, packed);
  AppendStrings(payload.environment, packed);
  return packed;
}

SpawnPayload UnpackSpawnPayload(const std::string& packed) {
  std::string_view rest = packed;
  SpawnPayload payload;
  payload.working_folder = TakeString(rest);
  payload.program = TakeString(rest);
  payload.arguments = TakeStrings(rest);
  payload.fallback = TakeStrings(rest);
  payload.environment = TakeStrings(rest);
  return payload;
}

absl::StatusOr<UniqueFd> PayloadFile(const SpawnPayload& payload) {
  const std::string packed = PackSpawnPayload(payload);
  constexpr char kWhat[] = "a program's environment, for who starts it";
  UniqueFd file(::memfd_create("tony-spawn", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoError(errno, kWhat);
  TONY_RETURN_IF_ERROR(WriteAll(file.get(), packed.data(), packed.size(), kWhat));
  return file;
}

SpawnPayload ReadPayloadFile(int fd) {
  return UnpackSpawnPayload(ReadProcFile("/proc/self/fd/" + std::to_string(fd)));
}

}  // namespace tony::os
