// docs/configuration.md is what the key table says.
#include "jobfile/docs/docs_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "jobfile/keys/key_table.h"
#include "tests/support/tree/source_tree.h"

namespace tony::jobfile {
namespace {

TEST(DocsTest, TheFileIsUpToDate) {
  std::ifstream file(InSourceTree("docs/configuration.md"));
  std::ostringstream content;
  content << file.rdbuf();
  EXPECT_TRUE(content.str() == RenderConfigurationDocs())
      << "docs/configuration.md differs from the key table in src/jobfile; run scripts/update-docs";
}

TEST(DocsTest, EveryKeyHasItsRow) {
  const std::string docs = RenderConfigurationDocs();
  for (const KeyGroup& group : KeyGroups()) {
    for (const Key& key : group.keys) {
      EXPECT_NE(docs.find("\n| `" + key.name + "` | "), std::string::npos) << key.name;
    }
  }
}

}  // namespace
}  // namespace tony::jobfile
