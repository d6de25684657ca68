// tony-key-docs: writes the text of docs/configuration.md to the file named by its only argument.
// scripts/update-docs runs it.
#include <fstream>
#include <iostream>

#include "jobfile/docs/docs_writer.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tony-key-docs FILE\n";
    return 2;
  }
  std::ofstream file(argv[1]);
  file << tony::jobfile::RenderConfigurationDocs();
  file.close();
  if (file) return 0;
  std::cerr << "tony-key-docs: " << argv[1] << " cannot be written; is its folder there?\n";
  return 1;
}
