// Threads in which programs run, while the thread that asked waits for signals. They stay for the next
// run: starting one takes longer than a short program.
#include <time.h>

#include <cstdlib>

#include "forks.h"
#include "pool.h"

namespace {

struct Runner {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  TtlProgram* program;  // null where it is idle
  TtlReport* report;
  Runner* next;  // that is idle
};

Runner* idle = nullptr;
pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

// A child of fork() has none of them.
void forget_runners() {
  idle = nullptr;
  idle_lock = PTHREAD_MUTEX_INITIALIZER;
}

const ttl_host::AtFork at_fork{forget_runners};

void become_idle(Runner& runner) {
  pthread_mutex_lock(&idle_lock);
  runner.next = idle;
  idle = &runner;
  pthread_mutex_unlock(&idle_lock);
}

void* run_programs(void* raw_runner) {
  Runner& runner = *static_cast<Runner*>(raw_runner);
  for (;;) {
    pthread_mutex_lock(&runner.lock);
    while (!runner.program) pthread_cond_wait(&runner.changed, &runner.lock);
    pthread_mutex_unlock(&runner.lock);
    ttl_run(runner.program, runner.report);
    pthread_mutex_lock(&runner.lock);
    runner.program->has_ended = 1;
    runner.program = nullptr;
    become_idle(runner);  // before the end is told: the next program would else get a new thread
    pthread_mutex_unlock(&runner.lock);
    pthread_cond_broadcast(&runner.changed);
  }
  return nullptr;
}

Runner* new_runner() {
  auto* runner = static_cast<Runner*>(calloc(1, sizeof(Runner)));
  if (!runner) return nullptr;
  pthread_mutex_init(&runner->lock, nullptr);
  pthread_cond_init(&runner->changed, nullptr);
  pthread_t thread;
  if (ttl_host::start_thread(thread, run_programs, runner)) return runner;
  free(runner);
  return nullptr;
}

Runner* take_runner() {
  pthread_mutex_lock(&idle_lock);
  Runner* runner = idle;
  if (runner) idle = runner->next;
  else runner = new_runner();
  pthread_mutex_unlock(&idle_lock);
  return runner;
}

timespec time_after(uint32_t milliseconds) {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += milliseconds % 1000 * 1000000l;
  if (time.tv_nsec >= 1000000000l) {
    time.tv_sec += 1;
    time.tv_nsec -= 1000000000l;
  }
  return time;
}

}  // namespace

uint32_t ttl_begin(TtlProgram* program, TtlReport* report, uint32_t milliseconds) {
  Runner* runner = take_runner();
  if (!runner) {
    ttl_run(program, report);
    return 1;
  }
  program->runner = runner;
  pthread_mutex_lock(&runner->lock);
  runner->program = program;
  runner->report = report;
  pthread_mutex_unlock(&runner->lock);
  pthread_cond_broadcast(&runner->changed);
  return ttl_wait(program, milliseconds);
}

// The runner may have another program by now.
uint32_t ttl_wait(const TtlProgram* program, uint32_t milliseconds) {
  auto* runner = static_cast<Runner*>(program->runner);
  if (!runner) return 1;
  const timespec end = time_after(milliseconds);
  pthread_mutex_lock(&runner->lock);
  while (!program->has_ended)
    if (pthread_cond_timedwait(&runner->changed, &runner->lock, &end)) break;
  const uint32_t has_ended = program->has_ended;
  pthread_mutex_unlock(&runner->lock);
  return has_ended;
}
