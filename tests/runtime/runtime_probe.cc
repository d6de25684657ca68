// What the C library of a runtime bundle does when a program asks it:
//   runtime_probe resolve NAME    prints the name's IPv4 addresses, one a line
//   runtime_probe open LIBRARY    opens a library with all that it needs
// Exits with 1 and a sentence when it cannot.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstdio>
#include <string>

namespace {

int Resolve(const char* name) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name, nullptr, &wanted, &found);
  if (error != 0) {
    std::fprintf(stderr, "%s: %s\n", name, gai_strerror(error));
    return 1;
  }
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
    std::puts(inet_ntop(AF_INET, &address->sin_addr, text, sizeof text));
  }
  freeaddrinfo(found);
  return 0;
}

int Open(const char* library) {
  if (dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr) return 0;
  std::fprintf(stderr, "%s\n", dlerror());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what == "resolve") return Resolve(argv[2]);
  if (what == "open") return Open(argv[2]);
  std::fprintf(stderr, "runtime_probe resolve NAME | open LIBRARY\n");
  return 2;
}
