// The options that every verb takes are added to the verb's own table here, so a verb's file holds
// only what is special about it.
#include "client/verbs/verb_table.h"

#include <algorithm>

#include "jobfile/keys/key_table.h"

namespace tony::client {

const std::vector<Verb>& AllVerbs() {
  static const std::vector<Verb> verbs = {
      RunVerb(),    ListVerb(),     StatusVerb(), LogsVerb(),     OpenVerb(),   KillVerb(),
      WaitVerb(),   AttachVerb(),   EventsVerb(), RmVerb(),       RerunVerb(),  DiffVerb(),
      AdviseVerb(), ValidateVerb(), TopVerb(),    StepsVerb(),    DoctorVerb(), ExecVerb(),
      StacksVerb(), FeedVerb(),     ProxyVerb(),  NotebookVerb(), PortalVerb(), CompletionVerb()};
  return verbs;
}

const Verb* VerbCalled(const std::string& name) {
  const auto& verbs = AllVerbs();
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&name](const Verb& verb) {
    const auto& aliases = verb.aliases;
    return verb.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
  });
  return found == verbs.end() ? nullptr : &*found;
}

const OptionTable& CommonOptions() {
  static const OptionTable table = {
      {.name = "backend",
       .value = "NAME",
       .meaning = "where the job is: local or yarn",
       .choices = jobfile::ChoicesOf("tony.backend")},
      {"json", "", false, "print JSON"},
      {"conf", "KEY=VALUE", true, "a configuration key, e.g. tony.local.dir"},
      {"help", "", false, "print this text", "h"},
  };
  return table;
}

OptionTable AllOptions(const Verb& verb) {
  OptionTable table = verb.options;
  table.insert(table.end(), CommonOptions().begin(), CommonOptions().end());
  return table;
}

}  // namespace tony::client
