// Rendering of effects, one function per kind.
#include "tests/core/job/job_rendering.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::core {
namespace {

std::string Quoted(const std::string& text) { return absl::StrCat("\"", text, "\""); }

std::string Optional(const std::string& name, const std::string& value) {
  return value.empty() ? "" : absl::StrCat(" ", name, value);
}

struct RecordRenderer {
  std::string operator()(const JobSubmitted& event) {
    return absl::StrCat("submitted ", event.job_id);
  }
  std::string operator()(const JobStateChanged& event) {
    return absl::StrCat("job ", JobStateName(event.state), " epoch=", event.epoch,
                        event.sentence.empty() ? "" : " " + Quoted(event.sentence));
  }
  std::string operator()(const JobWaiting& event) {
    return absl::StrCat("waiting ", Quoted(event.what), " missing=[",
                        absl::StrJoin(event.missing, " "), "] unblock=", Quoted(event.unblock));
  }
  std::string operator()(const TaskChanged& event) {
    std::string line = absl::StrCat(event.task.ToString(), " ", TaskStateName(event.state),
                                    " epoch=", event.epoch, " attempt=", event.attempt);
    if (!event.container.empty()) absl::StrAppend(&line, " in ", event.container, "@", event.host);
    if (event.port != 0) absl::StrAppend(&line, " port=", event.port);
    if (event.pid != 0) absl::StrAppend(&line, " pid=", event.pid);
    if (event.exit) absl::StrAppend(&line, " exit=", Quoted(event.exit->Describe()));
    if (!event.sentence.empty()) absl::StrAppend(&line, " ", Quoted(event.sentence));
    return line;
  }
  std::string operator()(const EpochOpened& event) {
    return absl::StrCat("epoch ", event.epoch, " retries-left=", event.retries_left, "+",
                        event.infrastructure_retries_left,
                        Optional("guilty=", event.guilty ? event.guilty->ToString() : ""),
                        event.lost ? " lost" : "", Optional("error=", event.error), " ",
                        Quoted(event.cause));
  }
  std::string operator()(const VisualizationReady& event) {
    return absl::StrCat("page of ", event.task.ToString(),
                        event.url.empty() ? " is gone" : absl::StrCat(" at ", event.url));
  }
  std::string operator()(const TaskMeasured& event) {
    return absl::StrCat("usage of ", event.task.ToString(), " processes=", event.usage.processes);
  }
  std::string operator()(const MasterRestarted& event) {
    return absl::StrCat("ApplicationMaster ", event.incarnation);
  }
  std::string operator()(const JobNote& event) {
    return absl::StrCat("note ", Quoted(event.sentence));
  }
  std::string operator()(const JobEnded& event) {
    const Verdict& verdict = event.verdict;
    return absl::StrCat("ended ", OutcomeName(verdict.outcome), " ", ReasonName(verdict.reason),
                        Optional("guilty=", verdict.guilty ? verdict.guilty->ToString() : ""),
                        " exit-code=", ExitCode(verdict), " ", Quoted(verdict.sentence));
  }
};

struct DecisionRenderer {
  std::string operator()(const decision::ContainerBound& decision) {
    return absl::StrCat(decision.container.id, " is of ", decision.task.ToString());
  }
  std::string operator()(const decision::GangReleased& decision) {
    return absl::StrCat("the gang of epoch ", decision.epoch, " is complete");
  }
  std::string operator()(const decision::PlanAccepted& decision) {
    return absl::StrCat("the plan of epoch ", decision.epoch, " has ", decision.plan.slots.size(),
                        " ranks");
  }
  std::string operator()(const decision::TaskConcluded& decision) {
    return absl::StrCat(decision.task.ToString(), " ", decision.exit.Describe());
  }
  std::string operator()(const decision::TasksRestarted& decision) {
    std::string text =
        decision.tasks.empty() ? absl::StrCat("epoch ", decision.epoch, " begins") : "again";
    for (const TaskId& task : decision.tasks) absl::StrAppend(&text, " ", task.ToString());
    const RestartState& spent = decision.budgets;
    absl::StrAppend(&text, " spent=", spent.user, "+", spent.infrastructure, "+", spent.lost_port);
    if (decision.delay > Duration(0)) {
      absl::StrAppend(&text, " delay=", decision.delay / std::chrono::milliseconds(1), "ms");
    }
    return text;
  }
  std::string operator()(const decision::TrackingStopped& decision) {
    return absl::StrCat(decision.type, " is tracked no longer");
  }
  std::string operator()(const decision::VerdictReached& decision) {
    return OutcomeName(decision.verdict.outcome);
  }
  std::string operator()(const decision::ExecutorStarted& decision) {
    return absl::StrCat("the executor of ", decision.container_id, " is process ",
                        decision.process.pid, " of ", decision.process.start_ticks);
  }
};

struct EffectRenderer {
  std::string operator()(const effect::Journal& effect) {
    std::string line = "journal";
    for (const Decision& decision : effect.decisions) {
      absl::StrAppend(&line, line == "journal" ? " " : "; ",
                      std::visit(DecisionRenderer{}, decision));
    }
    return line;
  }
  std::string operator()(const effect::ReclaimContainers& effect) {
    std::string line = "reclaim";
    for (const Container& container : effect.containers) {
      absl::StrAppend(&line, " ", container.id);
      const ExecutorProcess& executor = container.executor;
      if (executor.pid == 0) continue;
      absl::StrAppend(&line, "(process ", executor.pid, " of ", executor.start_ticks, ")");
    }
    return line;
  }
  std::string operator()(const effect::SendReattached& effect) {
    return absl::StrCat("send ", effect.container_id, " reattached");
  }
  std::string operator()(const effect::AnswerHeartbeat& effect) {
    return absl::StrCat("send ", effect.container_id, " answer ", effect.sent);
  }
  std::string operator()(const effect::RequestContainers& effect) {
    std::string line = "request";
    for (const ContainerRequest& request : effect.requests) {
      absl::StrAppend(&line, " ", request.type, "=", request.count);
    }
    return line;
  }
  std::string operator()(const effect::GiveBackSpare&) { return "give back what is spare"; }
  std::string operator()(const effect::CancelRequests&) { return "cancel requests"; }
  std::string operator()(const effect::LaunchExecutor& effect) {
    return absl::StrCat("launch ", effect.container_id, " for ", effect.task.ToString());
  }
  std::string operator()(const effect::SendAssignment& effect) {
    return absl::StrCat("send ", effect.container_id, " assignment ", effect.task.ToString());
  }
  std::string operator()(const effect::SendPrepare& effect) {
    return absl::StrCat("send ", effect.container_id, " prepare epoch=", effect.epoch,
                        " attempt=", effect.attempt, effect.keep_ports ? " with its ports" : "");
  }
  std::string operator()(const effect::SendStart& effect) {
    return absl::StrCat(
        "send ", absl::StrJoin(effect.container_ids, " "), " start epoch=", effect.epoch,
        effect.plan ? absl::StrCat(" port=", effect.plan->port) : "",
        effect.plan && !effect.plan->members.empty() ? absl::StrCat(" round=", effect.plan->round)
                                                     : "",
        "\n  with ", effect.spec->ToJson());
  }
  std::string operator()(const effect::SendMembers& effect) {
    return absl::StrCat("send ", effect.container_id, " members ",
                        absl::StrJoin(effect.members, " ",
                                      [](std::string* out, const ElasticMember& member) {
                                        absl::StrAppend(out, member.name, "@", member.host);
                                      }),
                        effect.finished ? ", one has finished" : "");
  }
  std::string operator()(const effect::SendShutdown& effect) {
    return absl::StrCat("send ", effect.container_id, " shutdown ",
                        effect.keep_stacks ? "keep-stacks " : "", Quoted(effect.reason));
  }
  std::string operator()(const effect::KeepStacks& effect) {
    return absl::StrCat("keep stacks ", effect.again ? "again " : "", Quoted(effect.why));
  }
  std::string operator()(const effect::KillContainer& effect) {
    return absl::StrCat("kill ", effect.container_id);
  }
  std::string operator()(const effect::Record& effect) {
    return absl::StrCat("record ", std::visit(RecordRenderer{}, effect.body));
  }
  std::string operator()(const effect::ShowMeasurement& effect) {
    return absl::StrCat("show ", RecordRenderer{}(effect.measured));
  }
  std::string operator()(const effect::ReportFault& effect) {
    return absl::StrCat("fault ", Quoted(effect.sentence));
  }
  std::string operator()(const effect::Finish& effect) {
    return absl::StrCat("finish ", OutcomeName(effect.verdict.outcome));
  }
};

struct InputRenderer {
  std::string operator()(const input::Start&) { return "start"; }
  std::string operator()(const input::ContainerGranted& event) {
    return "granted " + event.container.id;
  }
  std::string operator()(const input::AllocationWaiting&) { return "waiting"; }
  std::string operator()(const input::AllocationRefused&) { return "refused"; }
  std::string operator()(const input::ContainerEnded& event) {
    return "ended " + event.container_id;
  }
  std::string operator()(const input::ExecutorStarted& event) {
    return absl::StrCat("executor of ", event.container_id, " is process ", event.process.pid);
  }
  std::string operator()(const input::ExecutorAttached& event) {
    return absl::StrCat("attached ", event.container_id,
                        event.held ? absl::StrCat(" holding epoch=", event.held->epoch,
                                                  " phase=", static_cast<int>(event.held->phase))
                                   : "");
  }
  std::string operator()(const input::ExecutorDetached& event) {
    return "detached " + event.container_id;
  }
  std::string operator()(const input::ExecutorRegistered& event) {
    return absl::StrCat("registered ", event.container_id, " epoch=", event.epoch);
  }
  std::string operator()(const input::TaskStarted& event) {
    return absl::StrCat("started ", event.container_id, " epoch=", event.epoch);
  }
  std::string operator()(const input::TaskEnded& event) {
    return absl::StrCat("task of ", event.container_id, " ", event.exit.Describe(),
                        " epoch=", event.epoch);
  }
  std::string operator()(const input::Heartbeat& event) {
    return "heartbeat " + event.container_id;
  }
  std::string operator()(const input::PortTaken& event) {
    return "port taken " + event.container_id;
  }
  std::string operator()(const input::TaskNote& event) { return "note " + event.container_id; }
  std::string operator()(const input::TaskSilent& event) { return "silent " + event.container_id; }
  std::string operator()(const input::VisualizationListener& event) {
    return "visualization of " + event.container_id;
  }
  std::string operator()(const input::StacksKept&) { return "stacks kept"; }
  std::string operator()(const input::RanksPlanned& event) {
    return absl::StrCat("plan of ", event.container_id, " epoch=", event.epoch);
  }
  std::string operator()(const input::RendezvousWait& event) {
    return absl::StrCat("wait of ", event.container_id, " epoch=", event.epoch);
  }
  std::string operator()(const input::StopRequested&) { return "stop"; }
  std::string operator()(const input::Tick&) { return "tick"; }
};

}  // namespace

std::string RenderEffect(const JobEffect& effect) { return std::visit(EffectRenderer{}, effect); }

std::string RenderEffects(const JobEffects& effects) {
  std::string text;
  for (const JobEffect& effect : effects) absl::StrAppend(&text, RenderEffect(effect), "\n");
  return text;
}

std::string RenderInput(const JobInput& input) { return std::visit(InputRenderer{}, input); }

}  // namespace tony::core
