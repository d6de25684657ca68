// tony-manual: writes the manual pages and the scripts of completion into the folder named by its
// only argument, which is laid out like /usr/share. The build runs it.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>

#include "client/manual/share_files.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tony-manual FOLDER\n";
    return 2;
  }
  for (const tony::client::ShareFile& shared : tony::client::ShareFiles()) {
    const std::filesystem::path path = std::filesystem::path(argv[1]) / shared.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path);
    file << shared.text;
    file.close();
    if (file) continue;
    std::cerr << "tony-manual: " << path.string() << " cannot be written; may its folder be?\n";
    return 1;
  }
  return 0;
}
