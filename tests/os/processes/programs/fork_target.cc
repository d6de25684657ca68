// A program for tests of the fork server: tells how its main() finds the process, then waits for
// the end of its standard input's stand-in, descriptor 3, and exits with its first argument.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "os/processes/fork_server.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  if (tony::os::IsForkServer(argc, argv)) arguments = tony::os::ServeForks(argc, argv);
  for (const std::string& argument : arguments) std::cout << "argument " << argument << "\n";
  for (char** variable = environ; *variable != nullptr; ++variable) {
    std::cout << "variable " << *variable << "\n";
  }
  std::cout << "folder " << std::filesystem::current_path().native() << "\n"
            << "parent " << getppid() << "\n"
            << "leads its session " << (getsid(0) == getpid()) << "\n"
            << "first thread " << (syscall(SYS_gettid) == getpid()) << "\n";
  std::thread([] { std::cout << "thread\n"; }).join();
  std::cout << "ready" << std::endl;
  std::cerr << "error" << std::endl;
  char byte;
  while (read(3, &byte, 1) > 0) {
  }
  return std::atoi(arguments.at(1).c_str());
}
