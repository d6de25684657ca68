// Compares text with a file of tests/client/show/golden; TONY_REWRITE_GOLDEN=1 in the environment
// rewrites the files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_replace.h"
#include "tests/support/tree/source_tree.h"

namespace tony::client {

/// Escape characters are shown as "<ESC>", so that the files can be read and reviewed.
inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = InSourceTree("tests/client/show/golden/" + name + ".txt");
  const std::string visible = absl::StrReplaceAll(text, {{"\x1b", "<ESC>"}, {"\r", "<CR>"}});
  if (std::getenv("TONY_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << visible;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  EXPECT_EQ(visible, expected) << "differs from " << path << "; TONY_REWRITE_GOLDEN=1 rewrites it";
}

}  // namespace tony::client
