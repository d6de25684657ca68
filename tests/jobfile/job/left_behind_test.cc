// Files that a command names, and that no task will find: when there is a note, and when not.
#include "jobfile/job/left_behind.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

/// v.py and data/d.csv lie in the working folder.
class LeftBehindTest : public SpecTest {
 protected:
  void SetUp() override {
    SpecTest::SetUp();
    folder_.Write("v.py", "");
    folder_.Write("data/d.csv", "");
  }
  /// The notes of a job of one worker that runs `command`; `more` begins in line 4 of the job file.
  std::string Notes(const std::string& command, const Properties& more = {}) {
    Properties properties = {
        {"tony.worker.instances", "1"},
        {"tony.worker.command",
         absl::StrReplaceAll(command, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}})}};
    properties.insert(properties.end(), more.begin(), more.end());
    const LoadedJob loaded = Load(properties);
    EXPECT_EQ(RenderProblems(loaded.result.problems), "");
    return RenderProblems(loaded.result.notes, "note: ");
  }
};

constexpr char kNote[] =
    "note: v.py is in this folder, but tasks start in one of their own: --src_dir .\n";

TEST_F(LeftBehindTest, AWordOfTheCommandIsAFileHere) {
  for (const std::string command :
       {"python3 v.py", "python3 -u v.py --epochs 3", "bash -c \"python3 v.py\"", "python3 -m v",
        "true && (python3 v.py; python3 v.py)", "cat < v.py"}) {
    EXPECT_EQ(Notes(command), kNote) << command;
  }
  EXPECT_EQ(Notes("python3 v.py data/d.csv"),
            absl::StrCat(kNote,
                         "note: data/d.csv is in this folder, but tasks start in one of their own: "
                         "--src_dir .\n"));
}

TEST_F(LeftBehindTest, WhatIsNoFileHereOrNotReadGetsNoNote) {
  for (const std::string command :
       {"python3 w.py", "python3 data", "echo > v.py", "echo 2>v.py", "echo --v.py", "echo v.*"}) {
    EXPECT_EQ(Notes(command), "") << command;
  }
  EXPECT_EQ(Notes("python3 " + folder_.path() + "/v.py"), "") << "the path is absolute";
}

TEST_F(LeftBehindTest, TheProgramMayBringTheFile) {
  EXPECT_EQ(Notes("python3 v.py", {{"tony.application.src-dir", "."}}), "");
  folder_.Write("src/deep/v.py", "");
  EXPECT_EQ(Notes("cd deep; python3 v.py", {{"tony.application.src-dir", "src"}}), "");
  folder_.Write("program.zip", "");
  EXPECT_EQ(Notes("python3 v.py", {{"tony.application.src-dir", "program.zip"}}), "");
  EXPECT_EQ(Notes("cat data/d.csv", {{"tony.application.src-dir", "src"}}),
            absl::StrCat("note: data/d.csv is in this folder, but not in the program, which is all "
                         "that tasks find: put it into ",
                         folder_.path(), "/src\n"));
}

TEST_F(LeftBehindTest, TheFilesOfATypeMayBringIt) {
  EXPECT_EQ(Notes("python3 v.py", {{"tony.worker.resources", "v.py"}}), "");
  EXPECT_EQ(Notes("python3 v.py", {{"tony.containers.resources", "data::v.py"}}), "");
  EXPECT_EQ(Notes("cat data/d.csv", {{"tony.containers.resources", "data"}}), "");
  EXPECT_EQ(Notes("python3 v.py", {{"tony.containers.resources", "data"}}), kNote);
}

TEST_F(LeftBehindTest, AnInterpretersEnvironmentIsBroughtByAnOptionOfItsOwn) {
  folder_.Write("env/pyvenv.cfg", "");
  folder_.Write("env/bin/python", "");
  EXPECT_EQ(Notes("env/bin/python -c pass"),
            "note: env/bin/python is in this folder, but tasks start in one of their own: "
            "--python_venv env\n");
  folder_.Write("venv/bin/python", "");
  EXPECT_EQ(Notes("venv/bin/python -c pass", {{"tony.application.python-venv", "env"}}), "");
}

TEST_F(LeftBehindTest, TheFolderOfTheJobFileIsLookedAtToo) {
  const std::string file = folder_.Write(
      "elsewhere/job.xml",
      Xml({{"tony.worker.instances", "1"}, {"tony.worker.command", "python3 train.py"}}));
  folder_.Write("elsewhere/train.py", "");
  sources_.job_file = file;
  EXPECT_EQ(RenderProblems(LoadJob(sources_).result.notes),
            absl::StrCat("train.py is in ", folder_.path(),
                         "/elsewhere, but tasks start in one of their own: --src_dir ",
                         folder_.path(), "/elsewhere\n"));
  EXPECT_EQ(RenderProblems(LoadJob(sources_, FileChecks::kOff).result.notes), "")
      << "the ApplicationMaster is elsewhere";
}

}  // namespace
}  // namespace tony::jobfile
