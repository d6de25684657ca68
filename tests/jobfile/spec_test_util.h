// The common parts of the tests of src/jobfile: a temporary folder, job files in it, and matchers
// for problems.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "jobfile/configuration/xml_writer.h"
#include "jobfile/job/job_builder.h"

namespace tony::jobfile {

/// A folder that is gone, with its content, when the object is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tony-spec-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Writes a file, with the folders above it, and returns its absolute path.
  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }

 private:
  std::string path_;
};

using Properties = std::vector<std::pair<std::string, std::string>>;

/// A configuration file whose n-th property stands in line n + 1.
inline std::string Xml(const Properties& properties) {
  std::string xml = "<configuration>\n";
  for (const auto& [name, value] : properties) {
    xml += "<property><name>" + name + "</name><value>" + value + "</value></property>\n";
  }
  return xml + "</configuration>\n";
}

/// Runs LoadJob() on files in a temporary folder, which is also the working folder; home is its
/// folder `home`.
class SpecTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(folder_.path().empty());
    sources_.working_folder = folder_.path();
    sources_.home_folder = folder_.path() + "/home";
  }

  LoadedJob LoadText(const std::string& xml) {
    folder_.Write("job.xml", xml);
    sources_.job_file = "job.xml";
    return LoadJob(sources_);
  }
  LoadedJob Load(const Properties& properties) { return LoadText(Xml(properties)); }

  /// The problems of a job file with these properties.
  std::string ProblemsOf(const Properties& properties) {
    return RenderProblems(Load(properties).result.problems);
  }
  std::string NotesOf(const Properties& properties) {
    return RenderProblems(Load(properties).result.notes);
  }

  /// The job that is built of the file which a submission writes of a configuration.
  LoadedJob LoadWritten(const Configuration& configuration) {
    folder_.Write("staging/tony-final.xml", WriteXml(configuration));
    return LoadJob({.job_file = "staging/tony-final.xml",
                    .working_folder = folder_.path(),
                    .home_folder = sources_.home_folder});
  }

  TemporaryFolder folder_;
  Sources sources_;
};

/// Problems of a job that is good but for `more`, whose first property stands in line 4 of job.xml.
class SmallJobTest : public SpecTest {
 protected:
  std::string ProblemsWith(const Properties& more) {
    Properties properties = {{"tony.worker.instances", "2"}, {"tony.worker.command", "true"}};
    properties.insert(properties.end(), more.begin(), more.end());
    return ProblemsOf(properties);
  }
};

}  // namespace tony::jobfile
