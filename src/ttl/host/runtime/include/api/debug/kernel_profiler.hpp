// api/debug/kernel_profiler.hpp: zones are events of the trace.
#pragma once

namespace ttl_profile {

void zone(const char* name, bool is_end, int line);

struct Zone {
  const char* name;
  int line;
  Zone(const char* name, int line) : name(name), line(line) { zone(name, false, line); }
  ~Zone() { zone(name, true, line); }
};

}  // namespace ttl_profile

#define TTL_JOINED(a, b) a##b
#define TTL_ZONE(line) TTL_JOINED(ttl_zone_, line)
#define DeviceZoneScopedN(name) const ttl_profile::Zone TTL_ZONE(__LINE__)(name, __LINE__)
// Not in traces: without the profiler the device records neither.
#define DeviceTimestampedData(data_id, data) (void(sizeof(data_id) + sizeof(data)))
#define DeviceRecordEvent(event_id) (void(sizeof(event_id)))
