// Calls of device functions, recorded: what units tell that are compiled with TTL_RECORDS_CALLS. Where
// the program wants none of it, nothing is kept.
#define TTL_RECORDS_CALLS

#include <cstdlib>
#include <cstring>

#include "addresses.h"

namespace ttl_host {

// The sites by kernel and line: where those of a remainder begin, and what follows each.
struct CallSites {
  static constexpr uint32_t remainders = 1024;
  uint32_t first[remainders];  // one more than its number; 0: none
  List<uint32_t> next;
  uint32_t site_capacity, call_capacity;
};

bool record_calls(Run& run) {
  if (run.program->records == TTL_NO_CALLS) return true;
  run.call_sites = static_cast<CallSites*>(calloc(1, sizeof(CallSites)));
  return run.call_sites != nullptr;
}

void forget_calls(Run& run) {
  if (run.call_sites) free(run.call_sites->next.items);
  free(run.call_sites);
}

namespace {

using ttl_calls::Buffers;

template <typename Item>
Item& add(Item*& items, uint32_t& count, uint32_t& capacity) {
  if (count == capacity &&
      !grow(reinterpret_cast<void**>(&items), &capacity, sizeof(Item)))
    fault(0, "the host has no memory left for the calls");
  return items[count++];
}

bool is_site(const TtlCallSite& site, uint32_t kernel, uint32_t line, Buffers buffers,
             const char* name) {
  return site.line == line && site.kernel == kernel && site.buffers[0] == buffers.first &&
         site.buffers[1] == buffers.second && !strncmp(site.name, name, sizeof(site.name) - 1);
}

uint32_t site_of(Fiber& fiber, const char* name, int line, Buffers buffers) {
  CallSites& sites = *fiber.run->call_sites;
  TtlReport& report = *fiber.run->report;
  const uint32_t kernel = kernel_position(*fiber.run, fiber.kernel);
  const auto number = static_cast<uint32_t>(line);
  uint32_t& first = sites.first[(number + 64 * kernel) % CallSites::remainders];
  for (uint32_t site = first; site; site = sites.next.items[site - 1])
    if (is_site(report.call_sites[site - 1], kernel, number, buffers, name)) return site - 1;
  if (report.call_site_count >> call_site_bits) fault(line, "the kernels have too many calls");
  TtlCallSite& site = add(report.call_sites, report.call_site_count, sites.site_capacity);
  site = {0, kernel, number, {buffers.first, buffers.second}, {}};
  strncpy(site.name, name, sizeof(site.name) - 1);
  append(sites.next, first);
  first = report.call_site_count;
  return first - 1;
}

void keep(Fiber& fiber, const char* name, int line, Buffers buffers, ttl_calls::Amounts amounts) {
  TtlReport& report = *fiber.run->report;
  const uint32_t site = site_of(fiber, name, line, buffers);
  report.call_sites[site].count += 1;
  if (fiber.run->program->records != TTL_CALLS || report.call_count == most_calls) return;
  TtlCall& call = add(report.calls, report.call_count, fiber.run->call_sites->call_capacity);
  call = {fiber.node->position << call_site_bits | site, amounts.first, amounts.second,
          amounts.third};
}

}  // namespace

}  // namespace ttl_host

namespace ttl_calls {

using namespace ttl_host;

bool begin(const char* name, int line, Buffers buffers, Amounts amounts, bool computes) {
  Fiber& fiber = running_fiber();
  if (fiber.call_depth++ || !fiber.run->call_sites) return false;
  keep(fiber, name, line, buffers, amounts);
  return computes && fiber.run->program->records == TTL_CALLS;
}

void end() { running_fiber().call_depth -= 1; }

// Whether there is room depends on times, which are not those of the chip: the estimate decides, and
// here the answer is yes wherever it can be.
bool answers(const char* name, int line, uint32_t buffer, uint32_t pages, bool& has_room) {
  Fiber& fiber = running_fiber();
  if (fiber.run->program->records != TTL_CALLS || !fiber.kernel->reads_ahead) return false;
  has_room = pages <= buffer_at(fiber, buffer, line).plan->pages;
  keep(fiber, name, line, {buffer}, {pages, 0, 0});
  return true;
}

// As the recording has it (ttl.trace.calls).
uint32_t target_of(uint64_t address) {
  const uint32_t kind = static_cast<uint32_t>(address >> 56), rest = address >> 32 & 0xffffff;
  if (kind == 1) return kind << 30 | (rest & 0xffff);
  if (kind == 3) return kind << 30 | rest;
  const TtlProgram& program = *running_fiber().run->program;
  const uint32_t tensor = address >> 40 & 0x3f;
  if (tensor >= program.tensor_count) return 0;
  const uint64_t page = (address & 0xffffffffff) / program.tensors[tensor].aligned_page_bytes;
  return 2u << 30 | tensor << 24 | (static_cast<uint32_t>(page) & 0xffffff);
}

// As the distance from the first semaphore of the node that uses it.
uint32_t semaphore_at(uint64_t address) {
  return static_cast<uint32_t>(address) - running_fiber().node->l1_address;
}

uint32_t word_at(uint32_t address, int line) {
  return *ttl_host::word_at(running_fiber(), reinterpret_cast<void*>(uintptr_t{address}), line);
}

}  // namespace ttl_calls
