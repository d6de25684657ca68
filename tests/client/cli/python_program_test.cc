// Command lines that start Python programs: their scripts, frameworks and quotes.
#include "client/cli/python_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::ElementsAre;

class PythonProgramTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  FrameworkGuess Guess(std::vector<std::string> words) {
    return GuessFramework(FindPythonProgram(std::move(words), folder_.path()));
  }
  FrameworkGuess GuessOf(const std::string& text) {
    Write("train.py", text);
    return Guess({"python3", "train.py"});
  }

  os::TemporaryFolder folder_;
};

TEST_F(PythonProgramTest, TheScriptIsFound) {
  Write("tools/train.py", "");
  Write("tools/pack/__main__.py", "");
  const auto script = [&](std::vector<std::string> words) {
    return FindPythonProgram(std::move(words), folder_.path()).script;
  };
  EXPECT_EQ(script({"python", "-u", "a.py", "--data", "b.py"}), "a.py");
  EXPECT_EQ(script({"python", "-m", "tools.train"}), "tools/train.py");
  EXPECT_EQ(script({"python", "-m", "tools.pack"}), "tools/pack/__main__.py");
  EXPECT_EQ(script({"python", "-m", "pytest", "a.py"}), "");
  EXPECT_EQ(script({"./train", "--steps", "5"}), "");
  EXPECT_EQ(script({}), "");
  EXPECT_THAT(FindPythonProgram({"train.py", "--lr", "1"}, "/w").words,
              ElementsAre("python3", "train.py", "--lr", "1"));
  EXPECT_EQ(FindPythonProgram({"python3", "a.py"}, "/w").script_path, "/w/a.py");
  EXPECT_EQ(FindPythonProgram({"python3", "/x/a.py"}, "/w").script_path, "/x/a.py");
}

TEST_F(PythonProgramTest, TheFrameworkIsGuessedFromTheImports) {
  EXPECT_EQ(GuessOf("import os, torch\n").name, "pytorch");
  EXPECT_EQ(GuessOf("import os, torch\n").reason, "train.py imports torch");
  EXPECT_EQ(GuessOf("from torch.nn import Linear\n").name, "pytorch");
  EXPECT_EQ(GuessOf("def f():\n    import tensorflow as tf\n").name, "tensorflow");
  // Horovod's programs import another framework, too.
  EXPECT_EQ(GuessOf("import torch\nimport horovod.torch as hvd\n").name, "horovod");
  EXPECT_EQ(GuessOf("import tony.collective.torch as hvd\n").reason,
            "train.py imports tony.collective");
  EXPECT_EQ(GuessOf("from tony import collective as hvd\n").name, "horovod");
  EXPECT_EQ(GuessOf("import torchvision, jax.numpy as jnp\n").name, "jax");
  EXPECT_EQ(GuessOf("import tony.jax\n").reason, "train.py imports tony.jax");
}

TEST_F(PythonProgramTest, OtherImportsTellNothing) {
  const FrameworkGuess guess =
      GuessOf("# import tensorflow\nimport torchlike\nprint('import keras')\n");
  EXPECT_EQ(guess.name, "pytorch");
  EXPECT_EQ(guess.reason, "train.py imports no framework that tony knows");
  EXPECT_EQ(Guess({"./train"}).reason, "the command names no Python script");
  EXPECT_EQ(Guess({"python3", "missing.py"}).reason,
            "missing.py imports no framework that tony knows");
}

TEST_F(PythonProgramTest, ModulesBesideTheScriptAreReadToo) {
  Write("model.py", "from layers import deep\n");
  Write("layers/__init__.py", "import model\n");
  Write("layers/deep.py", "import tensorflow\n");
  const FrameworkGuess guess = GuessOf("from . import model\n");
  EXPECT_EQ(guess.name, "tensorflow");
  EXPECT_EQ(guess.reason, "deep.py imports tensorflow");
}

TEST_F(PythonProgramTest, WordsAreQuotedForTheShell) {
  EXPECT_EQ(ShellLine({"python3", "train.py", "--lr=0.1"}), "python3 train.py --lr=0.1");
  EXPECT_EQ(ShellLine({"echo", "it's $HOME", "", "*"}), "echo 'it'\\''s $HOME' '' '*'");
}

}  // namespace
}  // namespace tony::client
