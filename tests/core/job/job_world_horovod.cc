// The behaviour of a Horovod job's driver in a JobWorld.
#include "tests/core/job/job_world.h"

namespace tony::core {

void JobWorld::Drive(const std::string& id, Executor& executor, const effect::SendStart& start) {
  const Task* task = machine_->tasks().FindByContainer(id);
  if (task == nullptr || task->id.type != kDriverType) return;
  if (job_.horovod.elastic) return;  // told of the members later
  std::vector<HostSlots> hosts;
  int processes = 0;
  for (const WorkerHost& host : WorkerHostsOf(*start.spec)) {
    hosts.push_back({host.name, static_cast<int>(host.tasks.size())});
    processes += hosts.back().slots;
  }
  executor.plan = RendezvousPlan{1000, true, PlanSlots(hosts, processes).value()};
  if (dice_.OneIn(2)) SayPlan(id, executor);
}

void JobWorld::CarryOutRounds(const std::string& id, Executor& executor,
                              const ElasticEffects& effects) {
  for (const ElasticEffect& effect : effects) {
    if (const auto* begin = std::get_if<elastic::Begin>(&effect)) {
      RendezvousPlan& plan = executor.plan.emplace();
      plan.port = 1000;
      plan.round = begin->round;
      for (const ElasticAssignment& place : begin->places) {
        plan.slots.push_back(place.slot);
        plan.members.push_back(place.member);
      }
      SayPlan(id, executor);
    } else if (std::holds_alternative<elastic::Fail>(effect)) {
      executor.running = false;
      executor.exit = TaskExit{.code = 1};
      executor.outbox.push_back(
          input::TaskEnded{id, executor.epoch, executor.attempt, *executor.exit});
    }
  }
}

void JobWorld::AskForPlaces(const std::string& id, Executor& executor) {
  if (!executor.rounds || !executor.running) return;
  const std::vector<ElasticAssignment> places = executor.rounds->places();
  for (const ElasticAssignment& place : places) {
    if (dice_.OneIn(3)) continue;
    CarryOutRounds(id, executor,
                   executor.rounds->OnAsked(place.slot.host, place.slot.local_rank, clock_.Now()));
    if (!executor.running) return;
  }
}

int JobWorld::FindWorkers() const { return job_.FindType("worker")->instances; }

void JobWorld::SayPlan(const std::string& id, Executor& executor) {
  if (!executor.running || !executor.plan) return;
  executor.outbox.push_back(
      input::RanksPlanned{id, executor.epoch, executor.attempt, *executor.plan});
}

}  // namespace tony::core
