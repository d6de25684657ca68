// Looks at a command line that starts a Python program: its script, and the framework it imports.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// A command line with the script that it runs. Plain data.
struct PythonProgram {
  std::vector<std::string> words;  ///< the command; "python3" is put before a lone script
  std::string
      script;  ///< the script as it was named, or found for `python -m`; empty: none is known
  std::string script_path;  ///< absolute; it may not exist. Empty: no script is known
};

/// Finds the script in `words`, the command given by the user, whose working folder is `folder`:
/// the first word that ends in ".py", or the module behind "-m".
PythonProgram FindPythonProgram(std::vector<std::string> words, const std::string& folder);

/// The framework whose variables a program needs, and why.
struct FrameworkGuess {
  std::string name;    ///< a value of tony.application.framework
  std::string reason;  ///< half a sentence: "train.py imports torch"
};

/// Guesses by the imports of the script and of the modules beside it that it imports, at most
/// kMostFiles files. A program that imports nothing known gets PyTorch's variables, which any
/// program can use. Reads files; what cannot be read imports nothing.
FrameworkGuess GuessFramework(const PythonProgram& program);

/// `words` as one line for bash, which takes each as it is.
std::string ShellLine(const std::vector<std::string>& words);

}  // namespace tony::client
