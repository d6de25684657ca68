// Makes the address value of a worker of an elastic Horovod job, as Python's pickler writes it.
#pragma once

#include <cstddef>
#include <string>

#include "driver/elastic_messages.h"

namespace tony::driver {

/// The bytes 1 to 32.
inline std::string TestSecret() {
  std::string secret;
  for (char byte = 1; byte <= 32; ++byte) secret.push_back(byte);
  return secret;
}

/// A pickle's protocol, and the length of what follows.
inline constexpr size_t kPickleHeadBytes = 11;

/// A pickle of protocol 5.
inline std::string FramedPickle(const std::string& content) {
  std::string pickle = "\x80\x05\x95";
  for (int i = 0; i < 8; ++i) pickle.push_back(static_cast<char>(content.size() >> 8 * i));
  return pickle + content;
}

/// The pickle of ({interface: [(address, port), …]}, secret). Neighbours with the same interface
/// are in one list. Numbers wrap where they do not fit.
inline std::string PickleOf(const WorkerAddress& worker) {
  const auto text = [](const std::string& string) {
    return "\x8c" + std::string(1, static_cast<char>(string.size())) + string + "\x94";
  };
  // One is appended; several are a group, or groups of a thousand.
  const auto group = [](const std::vector<std::string>& items, char one, char many) {
    if (items.size() == 1) return items[0] + one;
    std::string bytes;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i % 1000 == 0) bytes += '(';
      bytes += items[i];
      if (i % 1000 == 999 || i + 1 == items.size()) bytes += many;
    }
    return bytes;
  };
  std::vector<std::string> interfaces;
  for (size_t i = 0; i < worker.endpoints.size();) {
    const std::string& interface = worker.endpoints[i].interface;
    std::vector<std::string> addresses;
    for (; i < worker.endpoints.size() && worker.endpoints[i].interface == interface; ++i) {
      const int port = worker.endpoints[i].port;
      addresses.push_back(text(worker.endpoints[i].address) + 'M' + static_cast<char>(port) +
                          static_cast<char>(port >> 8) + "\x86\x94");
    }
    interfaces.push_back(text(interface) + "]\x94" + group(addresses, 'a', 'e'));
  }
  const std::string secret =
      "C" + std::string(1, static_cast<char>(worker.secret.size())) + worker.secret + "\x94";
  return FramedPickle("}\x94" + group(interfaces, 's', 'u') + secret + "\x86\x94.");
}

}  // namespace tony::driver
