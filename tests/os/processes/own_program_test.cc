// A program that finds itself and starts another, executed by the kernel and by a dynamic loader.
#include "os/processes/own_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/os/process_support.h"

// A sanitizer's run-time library executes /proc/self/exe again, or wants its addresses first.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_SANITIZER() GTEST_SKIP() << "a sanitizer's program needs the kernel's own start"
#else
#define SKIP_UNDER_SANITIZER()
#endif

namespace tony::os {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kTarget = OWN_PROGRAM_TARGET;

// The output lines of a command.
std::vector<std::string> LinesOf(std::vector<std::string> command) {
  LinePipe output;
  auto child = Subprocess::Start({.arguments = std::move(command), .stdout_fd = output.write_fd()});
  EXPECT_TRUE(child.ok()) << child.status();
  output.CloseWriteEnd();
  std::vector<std::string> lines;
  while (const auto line = output.ReadLine()) lines.push_back(*line);
  EXPECT_TRUE(!child.ok() || (WaitReadable(child->pidfd()) && child->TryWait()));
  return lines;
}

// This machine's dynamic loader, which lies beside the C library.
std::string Loader() {
  for (const char* const path : {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"}) {
    if (std::filesystem::exists(path)) return std::filesystem::canonical(path);
  }
  ADD_FAILURE() << "this test does not know this machine's loader";
  return "";
}

TEST(OwnProgramTest, IsTheFileThatRuns) {
  const std::string own = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(OwnProgram().value_or(""), own);
  EXPECT_EQ(ProgramBeside("tony-am").value_or(""),
            (std::filesystem::path(own).parent_path() / "tony-am").native());
}

TEST(OwnProgramDeathTest, WithoutDescriptorsItSaysSo) {
  EXPECT_EXIT(
      {
        const rlimit none{};
        ::setrlimit(RLIMIT_NOFILE, &none);
        std::cerr << OwnProgram().status();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "RESOURCE_EXHAUSTED.*/proc/self/maps.*Too many open files");
}

TEST(OwnProgramTest, StartsAnotherAsItWasStarted) {
  EXPECT_THAT(LinesOf({kTarget, kTarget.filename()}),
              ElementsAre("own " + kTarget.native(), "executed " + kTarget.native(),
                          "name own_program_tar", "arguments 2",  //
                          "own " + kTarget.native(), "executed " + kTarget.native(),
                          "name own_program_tar", "arguments 1", "sibling's code 0"));
}

TEST(OwnProgramTest, ALoaderStartsTheOtherToo) {
  SKIP_UNDER_SANITIZER();
  std::vector<std::string> command = LoaderCommand(Loader(), kTarget);
  command.push_back(kTarget.filename());
  EXPECT_THAT(LinesOf(command),
              ElementsAre("own " + kTarget.native(), "executed " + Loader(), "name own_program_tar",
                          "arguments 2",  //
                          "own " + kTarget.native(), "executed " + Loader(), "name own_program_tar",
                          "arguments 1", "sibling's code 0"));
}

TEST(OwnProgramTest, AProgramThatLacksIsToldByKernelAndLoader) {
  EXPECT_THAT(LinesOf({kTarget, "nothing"}), Contains(HasSubstr("/nothing': No such file")));
  SKIP_UNDER_SANITIZER();
  std::vector<std::string> command = LoaderCommand(Loader(), kTarget);
  command.push_back("nothing");
  EXPECT_THAT(LinesOf(command), Contains("sibling's code 127"));
}

TEST(OwnProgramTest, TheLoaderLooksIntoItsOwnFolderOnly) {
  EXPECT_THAT(LoaderCommand("/bundle/lib/ld.so", "/bundle/bin/tony-am"),
              ElementsAre("/bundle/lib/ld.so", "--inhibit-cache", "--library-path", "/bundle/lib",
                          "/bundle/bin/tony-am"));
}

}  // namespace
}  // namespace tony::os
