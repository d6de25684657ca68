// Archives of each kind, and some that no honest program writes.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "os/archives/archive_writer.h"
#include "tests/fuzz/seeds/seeds.h"
#include "tests/os/archives/archive_builder.h"

namespace tony::fuzz {
namespace {

namespace fs = std::filesystem;
using os::ArchiveBuilder;
using os::Format;

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Files, folders, both kinds of links, names beyond ASCII.
void Fill(ArchiveBuilder& builder, bool hard_links) {
  builder.Folder("a", 0755).File("a/one.txt", "one", 0644).File("a/ü/run", "#!/bin/sh\n", 04755);
  builder.Link("a/link", "one.txt").Link("up", "a/../a/ü");
  if (hard_links) builder.HardLink("hard", "a/one.txt");
}

void FillBadly(ArchiveBuilder& builder) {
  builder.File("good", "1").Link("l", "../../etc").File("l/x", "2").File("../out", "3");
}

}  // namespace

void AddArchiveSeeds(Seeds& seeds) {
  std::string folder = (fs::temp_directory_path() / "tony-seeds-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return;
  const fs::path path = fs::path(folder) / "archive";
  const std::pair<const char*, Format> kinds[] = {{"tar", Format::kTar},
                                                  {"tar-gz", Format::kTarGz},
                                                  {"tar-zst", Format::kTarZst},
                                                  {"zip", Format::kZip}};
  for (const auto& [name, format] : kinds) {
    {
      ArchiveBuilder builder(path, format);
      Fill(builder, /*hard_links=*/format != Format::kZip);
    }
    seeds.push_back({"archive", name, Contents(path)});
    {
      ArchiveBuilder builder(path, format);
      FillBadly(builder);
    }
    seeds.push_back({"archive", std::string(name) + "-bad", Contents(path)});
  }
  fs::create_directories(fs::path(folder) / "packed/b");
  std::ofstream(fs::path(folder) / "packed/b/file") << "text";
  const std::string own = (fs::path(folder) / "own").string();
  if (os::PackFolder((fs::path(folder) / "packed").string(), own).ok()) {
    seeds.push_back({"archive", "own", Contents(own)});
  }
  fs::remove_all(folder);
}

}  // namespace tony::fuzz
