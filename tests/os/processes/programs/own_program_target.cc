// A program for tests of own_program.h: tells which file it is, which one was executed and its
// process's name; with an argument "NAME" it then starts the program NAME beside it and waits.
#include <poll.h>

#include <filesystem>
#include <iostream>

#include "common/process_setup.h"
#include "os/files/proc_file.h"
#include "os/processes/own_program.h"

int main(int argc, char** argv) {
  tony::SetUpProcess();
  std::cout << "own " << tony::os::OwnProgram().value_or("?") << "\n"
            << "executed " << std::filesystem::read_symlink("/proc/self/exe").native() << "\n"
            << "name " << tony::os::ReadProcFile("/proc/self/comm")  // ends its line
            << "arguments " << argc << std::endl;
  if (argc < 2) return 0;
  tony::os::SubprocessRequest request;
  request.arguments = {tony::os::ProgramBeside(argv[1]).value_or("?")};
  request.stdout_fd = 1;
  auto sibling = tony::os::StartOwnProgram(request);
  if (!sibling.ok()) {
    std::cout << "error " << sibling.status().message() << std::endl;
    return 1;
  }
  pollfd end{sibling->pidfd(), POLLIN, 0};
  poll(&end, 1, -1);
  std::cout << "sibling's code " << sibling->TryWait()->code << std::endl;
  return 0;
}
