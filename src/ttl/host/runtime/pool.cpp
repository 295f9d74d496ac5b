#include "pool.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

#include "forks.h"

namespace ttl_host {

namespace {

constexpr uint32_t most_helpers = 255;
constexpr uint32_t spins = 300;  // some microseconds, the length of a short round
constexpr uint32_t yields = 500;  // some hundred microseconds, where nobody else wants the processor
constexpr uint64_t short_nanoseconds = 15000;  // of work: no longer than it takes to wake a thread

// `gate` is the number of the work, whether helpers may still begin with it, and how many are at it.
constexpr uint64_t is_open = 1 << 16, one_work = 1 << 17, at_work = is_open - 1;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The items that a thread begins with: the same ones in every round, so that they are in its cache. Who
// has no more of them takes those of others.
struct alignas(64) Share {
  uint32_t next, end;
};

}  // namespace

// Helpers that wait longer sleep; while a run goes on they first let others have the processor: waking
// them for every round would take as long as a short round. Sleepers say so before they look for the
// last time, and others look for sleepers after they have changed the gate: one of both sees the other.
struct Pool {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t opened = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
  pthread_t helpers[most_helpers];
  uint32_t helper_count = 0;
  uint32_t sleepers = 0, owner_sleeps = 0;
  bool is_taken = false;
  bool has_called = false;  // those who sleep
  alignas(64) uint64_t gate = 0;
  // Of the work:
  alignas(64) Run* run = nullptr;
  Work work = nullptr;
  uint32_t wanted = 0;
  Share shares[most_helpers + 1] = {};
};

namespace {

Pool pool;

// Who is called often begins on the processor of the caller, and waits there until the system looks at
// both again, some milliseconds later. So the caller's own is closed to those who sleep until they run.
// All of this with the lock.
#if defined(__linux__) && defined(__GLIBC__)
struct Sleeper {
  bool is_asleep, is_sent_away;
  cpu_set_t usual, others;  // where it runs otherwise, and where it was sent
};
Sleeper asleep[most_helpers] = {};

void send_away(uint32_t helper) {
  Sleeper& sleeper = asleep[helper];
  const int own = sched_getcpu();
  if (!sleeper.is_asleep || own < 0 || own >= CPU_SETSIZE) return;
  const pthread_t thread = pool.helpers[helper];
  if (!sleeper.is_sent_away && pthread_getaffinity_np(thread, sizeof(cpu_set_t), &sleeper.usual))
    return;
  sleeper.others = sleeper.usual;
  CPU_CLR(own, &sleeper.others);
  const bool is_elsewhere = CPU_COUNT(&sleeper.others) != 0;
  if (is_elsewhere || sleeper.is_sent_away)
    pthread_setaffinity_np(thread, sizeof(cpu_set_t),
                           is_elsewhere ? &sleeper.others : &sleeper.usual);
  sleeper.is_sent_away = is_elsewhere;
}

void fall_asleep(uint32_t helper) { asleep[helper].is_asleep = true; }

// Unless somebody else has sent it elsewhere meanwhile.
void wake_up(uint32_t helper) {
  Sleeper& sleeper = asleep[helper];
  cpu_set_t now;
  if (sleeper.is_sent_away && !pthread_getaffinity_np(pthread_self(), sizeof(now), &now) &&
      CPU_EQUAL(&now, &sleeper.others))
    pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &sleeper.usual);
  sleeper.is_asleep = sleeper.is_sent_away = false;
}

void forget_sleepers() {
  for (Sleeper& sleeper : asleep) sleeper.is_asleep = sleeper.is_sent_away = false;
}
#else
void send_away(uint32_t) {}
void fall_asleep(uint32_t) {}
void wake_up(uint32_t) {}
void forget_sleepers() {}
#endif

constexpr uint32_t no_helper = ~uint32_t{0};

uint64_t gate_now() { return __atomic_load_n(&pool.gate, __ATOMIC_SEQ_CST); }

template <typename Condition>
bool comes_soon(Condition condition) {
  for (uint32_t i = 0; i < spins; ++i) {
    if (condition()) return true;
    pause_briefly();
  }
  for (uint32_t i = 0; i < yields && __atomic_load_n(&pool.is_taken, __ATOMIC_RELAXED); ++i) {
    if (condition()) return true;
    sched_yield();
  }
  return false;
}

template <typename Condition>
void sleep_until(Condition condition, uint32_t& sleepers, pthread_cond_t& changed, uint32_t helper) {
  if (comes_soon(condition)) return;
  pthread_mutex_lock(&pool.lock);
  __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
  while (!condition()) {
    if (helper != no_helper) fall_asleep(helper);
    pthread_cond_wait(&changed, &pool.lock);
    if (helper != no_helper) wake_up(helper);
  }
  __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&pool.lock);
}

void wake_sleepers(const uint32_t& sleepers, pthread_cond_t& changed) {
  if (!__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&pool.lock);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&pool.lock);
}

void share_out(uint32_t count) {
  const uint64_t threads = pool.wanted + 1;
  for (uint32_t i = 0; i < threads; ++i) {
    pool.shares[i].end = static_cast<uint32_t>((i + 1) * count / threads);
    __atomic_store_n(&pool.shares[i].next, static_cast<uint32_t>(i * count / threads),
                     __ATOMIC_RELAXED);
  }
}

bool work_on_one(uint32_t thread) {
  const uint32_t threads = pool.wanted + 1;
  for (uint32_t i = 0; i < threads; ++i) {
    Share& share = pool.shares[(thread + i) % threads];
    if (__atomic_load_n(&share.next, __ATOMIC_RELAXED) >= share.end) continue;
    const uint32_t item = __atomic_fetch_add(&share.next, 1, __ATOMIC_RELAXED);
    if (item >= share.end) continue;
    pool.work(*pool.run, item, thread);
    return true;
  }
  return false;
}

uint64_t nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

// As the owner of the work, who calls those that sleep if it is not over soon: if what is left takes as
// long as what was done.
void work_and_call(uint32_t count) {
  const uint64_t start = nanoseconds();
  for (uint32_t done = 1; work_on_one(0); ++done) {
    const uint64_t spent = nanoseconds() - start;
    if (spent > short_nanoseconds && (count - done) * spent > done * short_nanoseconds)
      call_helpers(*pool.run);
  }
}

// False where the work was over before this helper came.
bool enter(uint64_t seen) {
  uint64_t gate = gate_now();
  while ((gate & is_open) && gate / one_work != seen)
    if (__atomic_compare_exchange_n(&pool.gate, &gate, gate + 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return true;
  return false;
}

void* help(void* number) {
  const auto thread = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(number));
  give_signal_stack();
  uint64_t seen = 0;
  for (;;) {
    const auto is_new = [seen] {
      const uint64_t gate = gate_now();
      return (gate & is_open) && gate / one_work != seen;
    };
    sleep_until(is_new, pool.sleepers, pool.opened, thread - 1);
    if (!enter(seen)) continue;
    seen = gate_now() / one_work;
    while (thread <= pool.wanted && work_on_one(thread)) continue;
    const uint64_t gate = __atomic_sub_fetch(&pool.gate, 1, __ATOMIC_SEQ_CST);
    if (!(gate & at_work)) wake_sleepers(pool.owner_sleeps, pool.emptied);
  }
  return nullptr;
}

// A child of fork() has none of the helpers.
void forget_helpers() {
  pool.helper_count = pool.sleepers = pool.owner_sleeps = 0;
  forget_sleepers();
  pool.is_taken = false;
  pool.gate = 0;
  pool.lock = PTHREAD_MUTEX_INITIALIZER;
  pool.opened = PTHREAD_COND_INITIALIZER;
  pool.emptied = PTHREAD_COND_INITIALIZER;
}

const AtFork at_fork{forget_helpers};

void add_helpers(uint32_t wanted) {
  while (at_fork.is_registered && pool.helper_count < wanted) {
    void* number = reinterpret_cast<void*>(uintptr_t{pool.helper_count + 1});
    if (!start_thread(pool.helpers[pool.helper_count], help, number)) break;
    pool.helper_count += 1;
  }
}

}  // namespace

// Signals of the process are for the threads that know of them; those of a kernel come to its own.
bool start_thread(pthread_t& thread, void* (*body)(void*), void* argument) {
  constexpr int of_kernels[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG};
  sigset_t others, before;
  sigfillset(&others);
  for (int signal_number : of_kernels) sigdelset(&others, signal_number);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  const bool is_started = pthread_create(&thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) pthread_detach(thread);
  return is_started;
}

void join_pool(Run& run) {
  const uint32_t asked = run.program->thread_count;
  const uint32_t wanted = asked > most_helpers ? most_helpers : asked - 1;
  if (asked < 2 || __atomic_exchange_n(&pool.is_taken, true, __ATOMIC_ACQUIRE)) return;
  if (pool.helper_count < wanted) add_helpers(wanted);
  pool.wanted = pool.helper_count < wanted ? pool.helper_count : wanted;
  pool.run = &run;
  run.pool = &pool;
  for (uint32_t i = 0; i < pool.wanted; ++i)
    __atomic_store_n(&run.program->threads[i + 1], static_cast<uint64_t>(pool.helpers[i]),
                     __ATOMIC_RELEASE);
}

void leave_pool(Run& run) {
  if (run.pool) __atomic_store_n(&pool.is_taken, false, __ATOMIC_RELEASE);
}

void call_helpers(Run& run) {
  if (!run.pool || __atomic_load_n(&pool.has_called, __ATOMIC_RELAXED)) return;
  if (__atomic_exchange_n(&pool.has_called, true, __ATOMIC_RELAXED)) return;
  if (!__atomic_load_n(&pool.sleepers, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&pool.lock);
  for (uint32_t i = 0; i < pool.wanted; ++i) send_away(i);
  pthread_cond_broadcast(&pool.opened);
  pthread_mutex_unlock(&pool.lock);
}

void for_all(Run& run, uint32_t count, Work work) {
  if (!run.pool || count < 2) {
    for (uint32_t item = 0; item < count; ++item) work(run, item, 0);
    return;
  }
  pool.work = work;
  share_out(count);
  __atomic_store_n(&pool.has_called, false, __ATOMIC_RELAXED);
  __atomic_store_n(&pool.gate, (gate_now() / one_work + 1) * one_work | is_open, __ATOMIC_SEQ_CST);
  work_and_call(count);
  __atomic_fetch_and(&pool.gate, ~is_open, __ATOMIC_SEQ_CST);
  sleep_until([] { return !(gate_now() & at_work); }, pool.owner_sleeps, pool.emptied, no_helper);
}

}  // namespace ttl_host
