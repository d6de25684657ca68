// Pure functions: what is sent, apart from when and by whom.
#include "executor/master/executor_messages.h"

#include "rpc/convert/convert.h"
#include "rpc/convert/convert_stacks.h"
#include "rpc/convert/utf8.h"

namespace tony::executor {

v1::ExecutorMessage HelloMessage(const HelloContents& contents) {
  v1::ExecutorMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_container_id(contents.container_id);
  hello.set_containment(contents.containment);
  hello.set_boot_id(contents.boot_id);
  if (contents.held) *hello.mutable_held() = rpc::ToProto(*contents.held);
  return message;
}

v1::ExecutorMessage RegisteredMessage(TaskRun run, int task_port, int visualization_port) {
  v1::ExecutorMessage message;
  v1::Registered& registered = *message.mutable_registered();
  registered.set_epoch(run.epoch);
  registered.set_attempt(run.attempt);
  registered.set_port(task_port);
  registered.set_visualization_port(visualization_port);
  return message;
}

v1::ExecutorMessage StartedMessage(TaskRun run, int64_t pid) {
  v1::ExecutorMessage message;
  message.mutable_task_started()->set_epoch(run.epoch);
  message.mutable_task_started()->set_attempt(run.attempt);
  message.mutable_task_started()->set_pid(pid);
  return message;
}

v1::ExecutorMessage EndedMessage(TaskRun run, const core::TaskExit& exit) {
  v1::ExecutorMessage message;
  message.mutable_task_ended()->set_epoch(run.epoch);
  message.mutable_task_ended()->set_attempt(run.attempt);
  *message.mutable_task_ended()->mutable_exit() = rpc::ToProto(exit);
  return message;
}

v1::ExecutorMessage HeartbeatMessage(TimePoint sent) {
  v1::ExecutorMessage message;
  message.mutable_heartbeat()->set_sent(sent.time_since_epoch().count());
  return message;
}

v1::ExecutorMessage PortTakenMessage(int epoch, int port, const std::string& holder) {
  v1::ExecutorMessage message;
  v1::PortTaken& taken = *message.mutable_port_taken();
  taken.set_epoch(epoch);
  taken.set_port(port);
  taken.set_holder(rpc::ToUtf8(holder));
  return message;
}

v1::ExecutorMessage TaskNoteMessage(const std::string& sentence) {
  v1::ExecutorMessage message;
  message.mutable_task_note()->set_sentence(rpc::ToUtf8(sentence));
  return message;
}

v1::ExecutorMessage SilentMessage(TaskRun run, int64_t silent_millis, double cpu_share) {
  v1::ExecutorMessage message;
  v1::TaskSilent& silent = *message.mutable_task_silent();
  silent.set_epoch(run.epoch);
  silent.set_attempt(run.attempt);
  silent.set_silent_millis(silent_millis);
  silent.set_cpu_share(cpu_share);
  return message;
}

v1::ExecutorMessage VisualizationMessage(TaskRun run, bool listens) {
  v1::ExecutorMessage message;
  v1::VisualizationListener& listener = *message.mutable_visualization_listener();
  listener.set_epoch(run.epoch);
  listener.set_attempt(run.attempt);
  listener.set_listens(listens);
  return message;
}

v1::ExecutorMessage StallMessage(TaskRun run, const std::string& sentence) {
  v1::ExecutorMessage message;
  v1::RendezvousWait& wait = *message.mutable_rendezvous_wait();
  wait.set_epoch(run.epoch);
  wait.set_attempt(run.attempt);
  wait.set_sentence(rpc::ToUtf8(sentence));
  return message;
}

v1::ExecutorMessage StacksMessage(TaskRun run, int64_t request,
                                  const std::vector<core::ProcessDump>& dumps,
                                  const std::string& trouble) {
  v1::ExecutorMessage message;
  v1::TaskStacks& stacks = *message.mutable_stacks();
  stacks.set_request(request);
  stacks.set_epoch(run.epoch);
  stacks.set_attempt(run.attempt);
  stacks.set_trouble(rpc::ToUtf8(trouble));
  for (const core::ProcessDump& dump : dumps) *stacks.add_processes() = rpc::ToProto(dump);
  return message;
}

v1::ExecutorMessage LeavingMessage(bool lost, const std::string& sentence) {
  v1::ExecutorMessage message;
  message.mutable_leaving()->set_lost(lost);
  message.mutable_leaving()->set_sentence(rpc::ToUtf8(sentence));
  return message;
}

}  // namespace tony::executor
