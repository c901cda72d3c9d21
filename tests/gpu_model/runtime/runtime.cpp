// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in CUDA runtime: state, memory, streams, events, capture and graphs.
#include "runtime.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpu_model::runtime {

// ---- settings -------------------------------------------------------------------------------------------------------
namespace {

double number(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtod(text, nullptr) : otherwise;
}
std::size_t bytes_of(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  double value = std::strtod(text, &end);
  if (*end == 'k' || *end == 'K') value *= 1024;
  if (*end == 'm' || *end == 'M') value *= 1 << 20;
  if (*end == 'g' || *end == 'G') value *= 1 << 30;
  return static_cast<std::size_t>(value);
}
constexpr DeviceModel kModels[] = {
    // A100-SXM4-80GB.
    {80, "roofmark model GPU (sm_80)", 108, 163 << 10, 164 << 10, std::size_t{40} << 20, std::size_t{81251} << 20, 1410, 1380,
     1593, 5120, 1780, 3900, false},
    // H200.
    {90, "roofmark model GPU (sm_90)", 132, 227 << 10, 228 << 10, std::size_t{60} << 20, std::size_t{143771} << 20, 1980, 1755,
     3201, 6144, 4200, 6500, true},
};
const DeviceModel& model_of(const char* arch) {
  const std::string wanted = arch && *arch ? arch : "90";
  for (const DeviceModel& model : kModels) {
    if (std::to_string(model.compute_capability) == wanted) return model;
  }
  say("GPUMODEL_ARCH=%s: 80 and 90 can be modelled", wanted.c_str());
  std::_Exit(2);
}
/// GPUMODEL_BOOST_MHZ: the clock of a slower GPU, with all that follows it. A launch that is to last a time has fewer
/// instructions.
const DeviceModel* clocked_at(const DeviceModel* model, double boost_mhz) {
  if (boost_mhz <= 0) return model;
  static DeviceModel slower = *model;
  slower.loaded_clock_mhz *= boost_mhz / slower.clock_mhz;
  slower.clock_mhz = boost_mhz;
  return &slower;
}
/// "part:n" or "part:n:value", "@device" behind it; several with commas. The part may itself have ':' (it is read from the
/// end).
std::vector<Planted> planted_by(const char* name, int numbers) {
  std::vector<Planted> all;
  const char* text = std::getenv(name);
  if (!text) return all;
  std::string rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string one = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    Planted p;
    if (const std::size_t at = one.rfind('@'); at != std::string::npos) {
      char* end = nullptr;
      p.device = static_cast<int>(std::strtol(one.c_str() + at + 1, &end, 10));
      if (end == one.c_str() + at + 1 || *end || p.device < 0) {
        say("%s=%s: a number of a device is expected behind '@'", name, text);
        std::_Exit(2);
      }
      one.resize(at);
    }
    std::vector<double> values;
    for (int i = 0; i < numbers; ++i) {
      const std::size_t colon = one.rfind(':');
      if (colon == std::string::npos) break;
      values.insert(values.begin(), std::strtod(one.c_str() + colon + 1, nullptr));
      one.resize(colon);
    }
    p.part = one;
    if (numbers == 1 && !values.empty()) p.n = static_cast<long>(values[0]), p.value = values[0];
    if (numbers == 2 && values.size() == 2) p.n = static_cast<long>(values[0]), p.value = values[1];
    all.push_back(p);
  }
  return all;
}

Settings read_settings() {
  Settings s;
  s.model = clocked_at(&model_of(std::getenv("GPUMODEL_ARCH")), number("GPUMODEL_BOOST_MHZ", 0));
  s.devices = static_cast<int>(number("GPUMODEL_DEVICES", 1));
  s.multiprocessors =
      std::clamp(static_cast<int>(number("GPUMODEL_SMS", s.model->multiprocessors)), 1, s.model->multiprocessors);
  s.memory = bytes_of("GPUMODEL_MEMORY", s.memory);
  s.total = bytes_of("GPUMODEL_TOTAL", s.model->memory_bytes);
  s.oom_after = bytes_of("GPUMODEL_OOM_AFTER", 0);
  s.l2_bytes = bytes_of("GPUMODEL_L2", s.model->l2_bytes);
  s.clock_mhz = number("GPUMODEL_CLOCK_MHZ", 0);
  s.noise = number("GPUMODEL_NOISE", s.noise);
  s.seed = static_cast<std::uint64_t>(number("GPUMODEL_SEED", 1));
  s.ecc = number("GPUMODEL_ECC", 1) != 0;
  s.trace = number("GPUMODEL_TRACE", 0) != 0;
  s.noop = number("GPUMODEL_NOOP", 0) != 0;
  s.deadlock_hangs = number("GPUMODEL_DEADLOCK_HANGS", 0) != 0;
  s.skip_over = number("GPUMODEL_SKIP_OVER", 0);
  if (const char* text = std::getenv("GPUMODEL_THROTTLE")) {
    char* end = nullptr;
    s.throttle_after_s = std::strtod(text, &end);
    if (*end == ':') s.throttle_mhz = std::strtod(end + 1, nullptr);
  }
  s.slow = planted_by("GPUMODEL_SLOW", 1);
  s.flip = planted_by("GPUMODEL_FLIP", 2);
  s.sticky = planted_by("GPUMODEL_STICKY", 1);
  s.hang = planted_by("GPUMODEL_HANG", 1);
  s.skip = planted_by("GPUMODEL_SKIP", 0);
  s.blas_limit = number("GPUMODEL_BLAS_LIMIT", 0);
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  s.blocking = blocking && *blocking && std::strcmp(blocking, "0") != 0;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    // Each number up to the first that is not a device, as the driver does.
    int count = 0;
    const char* at = visible;
    while (*at) {
      char* end = nullptr;
      const long value = std::strtol(at, &end, 10);
      if (end == at || value < 0 || value >= s.devices) break;
      ++count;
      at = *end == ',' ? end + 1 : end;
      if (*end && *end != ',') break;
    }
    s.devices = count;
  }
  return s;
}

const auto g_start = std::chrono::steady_clock::now();
const std::uint64_t g_epoch_ns = static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());

thread_local int t_device = 0;
thread_local cudaError_t t_last = cudaSuccess;
thread_local CUstream_st* t_per_thread[16] = {};

}  // namespace

Settings& settings() {
  static Settings* all = new Settings(read_settings());
  return *all;
}

void say(const char* format, ...) {
  char line[4096];
  va_list arguments;
  va_start(arguments, format);
  const int n = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  std::string text = "gpumodel: " + std::string(line, static_cast<std::size_t>(std::clamp<int>(n, 0, sizeof line - 2))) + "\n";
  [[maybe_unused]] auto ignored = ::write(2, text.data(), text.size());
}

double host_now_ns() { return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - g_start).count(); }
std::uint64_t timer_ns(double model_ns) { return g_epoch_ns + static_cast<std::uint64_t>(model_ns < 0 ? 0 : model_ns); }

bool planted(std::vector<Planted>& all, const std::string& name, int device, double* value, bool count) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (Planted& p : all) {
    if (name.find(p.part) == std::string::npos || (p.device >= 0 && p.device != device)) continue;
    if (value) *value = p.value;
    if (!count) return true;
    ++p.seen;
    if (p.n == 0 || p.seen == p.n) return true;
  }
  return false;
}

State& state() {
  static State* all = [] {
    auto* made = new State;
    made->pid = getpid();
    for (int i = 0; i < settings().devices; ++i) {
      auto device = std::make_unique<Device>();
      device->ordinal = i;
      device->random.seed(settings().seed * 1000003 + static_cast<std::uint64_t>(i));
      auto* legacy = new CUstream_st;
      legacy->device = i;
      legacy->legacy = true;
      device->legacy = legacy;
      device->streams.insert(legacy);
      made->devices.push_back(std::move(device));
    }
    return made;
  }();
  return *all;
}

Device& current_device() { return *state().devices[static_cast<std::size_t>(t_device)]; }

cudaError_t fail(cudaError_t status) {
  if (status != cudaSuccess) t_last = status;
  return status;
}
cudaError_t failed(cudaError_t status, const char* why) {
  say("%s (%d) returned: %s", cudaGetErrorName(status), static_cast<int>(status), why);
  return fail(status);
}

cudaError_t enter(bool needs_device) {
  State& s = state();
  if (s.pid != getpid()) return failed(cudaErrorInitializationError, "the process was forked after CUDA was initialised");
  if (!needs_device) return cudaSuccess;
  if (s.devices.empty()) return fail(cudaErrorNoDevice);
  const std::lock_guard lock(s.mutex);
  return fail(current_device().sticky);
}

void set_sticky(Device& device, cudaError_t status) {
  const std::lock_guard lock(state().mutex);
  if (device.sticky == cudaSuccess) device.sticky = status;
}

// ---- operations -----------------------------------------------------------------------------------------------------
void Done::finish(double at) {
  const std::lock_guard lock(mutex);
  done = true;
  end_ns = at;
  ended.notify_all();
}
double Done::wait() {
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return done; });
  return end_ns;
}
bool Done::ready() {
  const std::lock_guard lock(mutex);
  return done;
}

double Device::noise() {
  const std::lock_guard lock(time_mutex);
  const double n = std::normal_distribution<double>(0, settings().noise)(random);
  const bool late = std::uniform_real_distribution<double>(0, 1)(random) < 0.01;
  return std::max(1 + n, 1 - 2 * settings().noise) + (late ? 10 * settings().noise : 0);
}

double Device::clock_mhz(double at_ns, double load) {
  const Settings& s = settings();
  if (s.throttle_after_s >= 0 && at_ns * 1e-9 >= s.throttle_after_s) return s.throttle_mhz;
  if (s.clock_mhz > 0) return s.clock_mhz;
  return s.model->clock_mhz - (s.model->clock_mhz - s.model->loaded_clock_mhz) * std::clamp(load, 0.0, 1.0);
}

void Device::was_busy(double from, double to, double load) {
  const std::lock_guard lock(time_mutex);
  busy_until_ns = std::max(busy_until_ns, to);
  busy_total_ns += to - from;
  last_load = load;
}

Telemetry Device::telemetry() {
  const double now = host_now_ns();
  double load = 0, total = 0;
  bool busy = false;
  {
    const std::lock_guard lock(time_mutex);
    busy = now - busy_until_ns < 50e6;
    load = last_load;
    total = busy_total_ns * 1e-9;
  }
  Telemetry t;
  const bool throttled = settings().throttle_after_s >= 0 && now * 1e-9 >= settings().throttle_after_s;
  t.sm_mhz = busy || throttled ? clock_mhz(now, load) : settings().model->clock_mhz;
  t.memory_mhz = settings().model->memory_clock_mhz;
  t.power_watts = busy ? 250 + 400 * load : 115;
  t.celsius = std::min(31 + 20 * total, busy ? 65.0 : 45.0);
  t.reasons = throttled ? 0x20 : busy ? 0 : 1;
  return t;
}

namespace {

void work_off(CUstream_st* stream) {
  Device& device = *state().devices[static_cast<std::size_t>(stream->device)];
  for (;;) {
    Operation operation;
    {
      std::unique_lock lock(stream->mutex);
      stream->changed.wait(lock, [&] { return !stream->queue.empty() || stream->closing; });
      if (stream->queue.empty()) {
        lock.unlock();
        {
          const std::lock_guard all(state().mutex);
          device.streams.erase(stream);
        }
        delete stream;
        return;
      }
      operation = std::move(stream->queue.front());
      stream->queue.pop_front();
    }
    double start = std::max(stream->end_ns, operation.enqueued_ns);
    for (const DoneRef& before : operation.after) start = std::max(start, before->wait());
    bool dead = false;
    {
      const std::lock_guard lock(state().mutex);
      dead = device.sticky != cudaSuccess;
    }
    double end = start;
    if (!dead && operation.work) end = operation.work(device, start, kStreamOverheadNs);
    operation.work = nullptr;  // frees what it holds before others see it done
    {
      const std::lock_guard lock(stream->mutex);
      stream->end_ns = end;
      --stream->unfinished;
      stream->changed.notify_all();
    }
    operation.done->finish(end);
  }
}

bool unsafe_during_capture() {  // under state().mutex: an API that may not be called while something is captured
  State& s = state();
  bool found = false;
  for (const auto& capture : s.captures) {
    if (capture->over || capture->mode == cudaStreamCaptureModeRelaxed) continue;
    if (capture->mode == cudaStreamCaptureModeThreadLocal && capture->thread != std::this_thread::get_id()) continue;
    capture->invalid = true;
    found = true;
  }
  return found;
}

}  // namespace

cudaError_t check_stream(cudaStream_t given, CUstream_st** found) {
  State& s = state();
  if (given == nullptr || given == cudaStreamLegacy) {
    *found = current_device().legacy;
    return cudaSuccess;
  }
  if (given == cudaStreamPerThread) {
    CUstream_st*& mine = t_per_thread[t_device];
    if (!mine) {
      mine = new CUstream_st;
      mine->device = t_device;
      const std::lock_guard lock(s.mutex);
      s.streams.insert(mine);
      current_device().streams.insert(mine);
    }
    *found = mine;
    return cudaSuccess;
  }
  const std::lock_guard lock(s.mutex);
  if (!s.streams.count(given)) {
    say("an unknown or destroyed stream %p", static_cast<void*>(given));
    return fail(cudaErrorInvalidResourceHandle);
  }
  *found = given;
  return cudaSuccess;
}

cudaError_t submit(cudaStream_t given, const char* what, Work work, DoneRef* done, std::vector<DoneRef> after) {
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  State& s = state();
  {
    // The launch queue holds so many; then the host waits.
    std::unique_lock lock(stream->mutex);
    stream->changed.wait(lock, [&] { return stream->unfinished < 1024; });
  }
  const std::lock_guard all(s.mutex);
  if (stream->capture) {
    Capture& capture = *stream->capture;
    if (capture.invalid) return fail(cudaErrorStreamCaptureInvalidated);
    capture.nodes.push_back({what, std::move(work), stream->tail, stream->device});
    stream->tail = {static_cast<int>(capture.nodes.size()) - 1};
    if (done) done->reset();
    return cudaSuccess;
  }
  Device& device = *s.devices[static_cast<std::size_t>(stream->device)];
  const bool blocks = !stream->legacy && !(stream->flags & cudaStreamNonBlocking);
  if (stream->legacy) {
    for (const auto& capture : s.captures) {
      if (capture->over || capture->mode == cudaStreamCaptureModeRelaxed) continue;
      for (CUstream_st* captured : capture->streams) {
        if (captured->device == stream->device && !(captured->flags & cudaStreamNonBlocking)) {
          capture->invalid = true;
          return failed(cudaErrorStreamCaptureImplicit,
                        "the legacy stream was used while a stream that waits for it is captured");
        }
      }
    }
    for (CUstream_st* other : device.streams) {
      if (other != stream && !(other->flags & cudaStreamNonBlocking) && other->last) after.push_back(other->last);
    }
  } else if (blocks && device.legacy->last) {
    after.push_back(device.legacy->last);
  }
  Operation operation;
  operation.what = what;
  operation.work = std::move(work);
  operation.after = std::move(after);
  operation.done = std::make_shared<Done>();
  operation.enqueued_ns = host_now_ns();
  if (done) *done = operation.done;
  stream->last = operation.done;
  const std::lock_guard lock(stream->mutex);
  ++stream->unfinished;
  stream->queue.push_back(std::move(operation));
  if (!stream->started) {
    stream->started = true;
    std::thread(work_off, stream).detach();
  }
  stream->changed.notify_all();
  return cudaSuccess;
}

// ---- memory ---------------------------------------------------------------------------------------------------------
std::unique_ptr<Allocation> find_allocation(const void* address) {
  State& s = state();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(s.mutex);
  auto next = s.allocations.upper_bound(at);
  if (next == s.allocations.begin()) return nullptr;
  --next;
  if (at >= next->second.base + next->second.bytes) return nullptr;
  return std::make_unique<Allocation>(next->second);
}

Place place_of(const void* address, std::size_t bytes, int* device) {
  const auto found = find_allocation(address);
  if (!found) return Place::pageable;
  if (reinterpret_cast<std::uintptr_t>(address) + bytes > found->base + found->bytes) return Place::broken;
  if (device) *device = found->device;
  return found->device >= 0 ? Place::device : Place::pinned;
}

namespace {

std::size_t charged(std::size_t bytes) {
  const std::size_t grain = bytes >= (std::size_t{1} << 20) ? std::size_t{2} << 20 : 512;
  return (bytes + grain - 1) / grain * grain;
}

cudaError_t allocate(void** to, std::size_t bytes, int device) {
  State& s = state();
  const std::size_t shift = device >= 0 ? 256 : 0;  // no better aligned than documented
  const std::size_t map_bytes = (bytes + shift + 4095) / 4096 * 4096 + 4096;
  {
    const std::lock_guard lock(s.mutex);
    if (unsafe_during_capture()) return fail(cudaErrorStreamCaptureUnsupported);
    if (device >= 0) {
      Device& d = *s.devices[static_cast<std::size_t>(device)];
      const std::size_t limit = settings().memory;
      if (bytes > limit || d.used + charged(bytes) > limit ||
          (settings().oom_after && d.used + charged(bytes) > settings().oom_after)) {
        GPUMODEL_TRACE("cudaMalloc of %zu bytes: out of memory (%zu of %zu used)", bytes, d.used, limit);
        return fail(cudaErrorMemoryAllocation);
      }
      d.used += charged(bytes);
    }
  }
  void* map = mmap(nullptr, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return fail(cudaErrorMemoryAllocation);
  mprotect(static_cast<char*>(map) + map_bytes - 4096, 4096, PROT_NONE);
  auto* base = static_cast<char*>(map) + shift;
  if (device >= 0) std::memset(map, 0xA5, map_bytes - 4096);
  {
    const std::lock_guard lock(s.mutex);
    s.allocations[reinterpret_cast<std::uintptr_t>(base)] = {reinterpret_cast<std::uintptr_t>(base), bytes, device, map,
                                                             map_bytes};
  }
  allow_range(base, bytes, device >= 0);
  *to = base;
  return cudaSuccess;
}

void synchronize_device(Device& device) {
  std::vector<DoneRef> all;
  {
    const std::lock_guard lock(state().mutex);
    for (CUstream_st* stream : device.streams) {
      if (stream->last) all.push_back(stream->last);
    }
  }
  for (const DoneRef& one : all) one->wait();
}

cudaError_t release(void* pointer, bool host) {
  if (!pointer) return cudaSuccess;
  State& s = state();
  Allocation found;
  {
    const std::lock_guard lock(s.mutex);
    const auto at = s.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (at == s.allocations.end() || (at->second.device < 0) != host) {
      say("%s of %p, which was not allocated so", host ? "cudaFreeHost" : "cudaFree", pointer);
      return fail(cudaErrorInvalidValue);
    }
    if (unsafe_during_capture()) return fail(cudaErrorStreamCaptureUnsupported);
    found = at->second;
  }
  // Both wait for the device.
  if (found.device >= 0) {
    synchronize_device(*s.devices[static_cast<std::size_t>(found.device)]);
  } else {
    for (auto& device : s.devices) synchronize_device(*device);
  }
  forbid_range(pointer);
  {
    const std::lock_guard lock(s.mutex);
    if (found.device >= 0) s.devices[static_cast<std::size_t>(found.device)]->used -= charged(found.bytes);
    s.allocations.erase(found.base);
  }
  munmap(found.map, found.map_bytes);
  return cudaSuccess;
}

bool capturing(CUstream_st* stream) {
  const std::lock_guard lock(state().mutex);
  return stream->capture != nullptr;
}

double copy_rate(Place to, Place from, double bytes) {
  const bool pageable = to == Place::pageable || from == Place::pageable;
  if (to == Place::device && from == Place::device)
    return 2 * bytes > 40e6 ? settings().model->dram_bytes_per_ns / 2 : settings().model->l2_bytes_per_ns / 2;
  return pageable ? 12 : 55;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t given, bool waits) {
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return failed(cudaErrorInvalidValue, "a copy from or to null");
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  const Place target = place_of(to, bytes), source = place_of(from, bytes);
  if (target == Place::broken || source == Place::broken) return failed(cudaErrorInvalidValue, "a copy leaves its allocation");
  const bool to_device = target == Place::device, from_device = source == Place::device;
  switch (kind) {
    case cudaMemcpyHostToHost:
      if (to_device || from_device) return failed(cudaErrorInvalidValue, "HostToHost of device memory");
      break;
    case cudaMemcpyHostToDevice:
      if (!to_device || from_device) return failed(cudaErrorInvalidValue, "HostToDevice between other places");
      break;
    case cudaMemcpyDeviceToHost:
      if (to_device || !from_device) return failed(cudaErrorInvalidValue, "DeviceToHost between other places");
      break;
    case cudaMemcpyDeviceToDevice:
      if (!to_device || !from_device) return failed(cudaErrorInvalidValue, "DeviceToDevice between other places");
      break;
    case cudaMemcpyDefault:
      break;
    default:
      return fail(cudaErrorInvalidMemcpyDirection);
  }
  const double rate = copy_rate(target, source, static_cast<double>(bytes));
  const bool overlaps = static_cast<const char*>(from) < static_cast<char*>(to) + bytes &&
                        static_cast<char*>(to) < static_cast<const char*>(from) + bytes;
  if (overlaps) say("a copy of %zu bytes overlaps itself: undefined", bytes);
  std::shared_ptr<std::vector<char>> staged;
  const bool captured = capturing(stream);
  if (!captured && source == Place::pageable && to_device) {
    // The source may change as soon as the call returns; a large one waits for the stream first.
    if (bytes > 64 * 1024) {
      DoneRef last;
      {
        const std::lock_guard lock(state().mutex);
        last = stream->last;
      }
      if (last) last->wait();
    }
    staged = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  }
  DoneRef done;
  const cudaError_t status = submit(
      given, "memcpy",
      [=](Device& device, double start, double overhead) {
        std::memmove(to, staged ? staged->data() : from, bytes);
        const double end = start + (overhead + static_cast<double>(bytes) / rate) * device.noise();
        device.was_busy(start, end, 0);
        return end;
      },
      &done);
  if (status != cudaSuccess) return status;
  if (done && (waits || settings().blocking || (target == Place::pageable && from_device))) {
    done->wait();
    return enter();
  }
  return cudaSuccess;
}

cudaError_t set(void* to, int value, std::size_t bytes, cudaStream_t stream, DoneRef* done) {
  if (bytes == 0) return cudaSuccess;
  const Place place = place_of(to, bytes);
  if (place == Place::broken) return failed(cudaErrorInvalidValue, "a memset leaves its allocation");
  if (place == Place::pageable) return failed(cudaErrorInvalidValue, "a memset of memory that is not the device's");
  return submit(
      stream, "memset",
      [=](Device& device, double start, double overhead) {
        std::memset(to, value, bytes);
        const double rate =
            static_cast<double>(bytes) > 40e6 ? settings().model->dram_bytes_per_ns : settings().model->l2_bytes_per_ns;
        const double end = start + (overhead + static_cast<double>(bytes) / rate) * device.noise();
        device.was_busy(start, end, 0.1);
        return end;
      },
      done);
}

cudaError_t make_stream(cudaStream_t* to, unsigned flags, int priority) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!to || (flags & ~cudaStreamNonBlocking)) return fail(cudaErrorInvalidValue);
  auto* made = new CUstream_st;
  made->device = t_device;
  made->flags = flags;
  made->priority = priority;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.streams.insert(made);
  current_device().streams.insert(made);
  *to = made;
  return cudaSuccess;
}

cudaError_t find_event(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  if (!event || !state().events.count(event)) {
    say("an unknown or destroyed event %p", static_cast<void*>(event));
    return fail(cudaErrorInvalidResourceHandle);
  }
  return cudaSuccess;
}

/// Nodes run one after another where each waits for the one before it, else each on a thread of its own: branches may wait for
/// each other (collectives of several devices).
Work work_of_graph(std::shared_ptr<const std::vector<GraphNode>> nodes) {
  bool chain = true;
  for (std::size_t i = 1; i < nodes->size(); ++i) {
    const auto& after = (*nodes)[i].after;
    chain = chain && std::find(after.begin(), after.end(), static_cast<int>(i) - 1) != after.end();
  }
  const auto run_node = [](const GraphNode& node, double from) {
    Device& device = *state().devices[static_cast<std::size_t>(node.device)];
    {
      const std::lock_guard lock(state().mutex);
      if (device.sticky != cudaSuccess) return from;
    }
    return node.work ? node.work(device, from, kGraphOverheadNs) : from;
  };
  return [nodes, chain, run_node](Device&, double start, double) {
    if (chain) {
      for (const GraphNode& node : *nodes) start = run_node(node, start);
      return start;
    }
    std::vector<DoneRef> done;
    for (std::size_t i = 0; i < nodes->size(); ++i) done.push_back(std::make_shared<Done>());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      threads.emplace_back([&, i] {
        double from = start;
        for (int before : (*nodes)[i].after) from = std::max(from, done[static_cast<std::size_t>(before)]->wait());
        done[i]->finish(run_node((*nodes)[i], from));
      });
    }
    double last = start;
    for (std::size_t i = 0; i < nodes->size(); ++i) {
      threads[i].join();
      last = std::max(last, done[i]->end_ns);
    }
    return last;
  };
}

cudaError_t invalidate_if_capturing(CUstream_st* stream) {
  const std::lock_guard lock(state().mutex);
  if (!stream->capture) return cudaSuccess;
  const bool was = stream->capture->invalid;
  stream->capture->invalid = true;
  return fail(was ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnsupported);
}

}  // namespace

}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

// ---- errors ---------------------------------------------------------------------------------------------------------
cudaError_t cudaGetLastError() {
  const cudaError_t last = t_last;
  t_last = cudaSuccess;
  return last;
}
cudaError_t cudaPeekAtLastError() { return t_last; }

// ---- devices --------------------------------------------------------------------------------------------------------
cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t status = enter(false); status != cudaSuccess) return status;
  if (!count) return fail(cudaErrorInvalidValue);
  *count = static_cast<int>(state().devices.size());
  return *count ? cudaSuccess : fail(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t status = enter(false); status != cudaSuccess) return status;
  if (state().devices.empty()) return fail(cudaErrorNoDevice);
  if (device < 0 || device >= static_cast<int>(state().devices.size())) return fail(cudaErrorInvalidDevice);
  t_device = device;
  return enter();
}
cudaError_t cudaGetDevice(int* device) {
  if (const cudaError_t status = enter(false); status != cudaSuccess) return status;
  if (state().devices.empty()) return fail(cudaErrorNoDevice);
  if (!device) return fail(cudaErrorInvalidValue);
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  {
    const std::lock_guard lock(state().mutex);
    if (unsafe_during_capture()) return fail(cudaErrorStreamCaptureUnsupported);
  }
  synchronize_device(current_device());
  return enter();
}

// ---- memory ---------------------------------------------------------------------------------------------------------
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!pointer) return fail(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  return allocate(pointer, bytes, t_device);
}
cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (const cudaError_t status = release(pointer, false); status != cudaSuccess) return status;
  return enter();
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!pointer || (flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)))
    return fail(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  return allocate(pointer, bytes, -1);
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }
cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  return release(pointer, true);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!device || flags != 0) return fail(cudaErrorInvalidValue);
  if (place_of(host, 1) != Place::pinned)
    return failed(cudaErrorInvalidValue, "cudaHostGetDevicePointer of memory that is not pinned");
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!free || !total) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(state().mutex);
  *total = settings().memory;
  *free = settings().memory - current_device().used;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  return copy(to, from, bytes, kind, stream, false);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  return copy(to, from, bytes, kind, nullptr, true);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  return set(to, value, bytes, stream, nullptr);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  return set(to, value, bytes, nullptr, nullptr);
}

// ---- streams --------------------------------------------------------------------------------------------------------
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return make_stream(stream, 0, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { return make_stream(stream, flags, 0); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return make_stream(stream, flags, priority);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t before = enter();
  if (before == cudaErrorInitializationError || before == cudaErrorNoDevice) return before;
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (!s.streams.count(stream)) {
      say("cudaStreamDestroy of an unknown or destroyed stream %p", static_cast<void*>(stream));
      return fail(cudaErrorInvalidResourceHandle);
    }
    if (stream->capture) {
      stream->capture->invalid = true;
      stream->capture->streams.erase(stream);
      say("a stream is destroyed while it is captured");
    }
    s.streams.erase(stream);
    if (!stream->started) s.devices[static_cast<std::size_t>(stream->device)]->streams.erase(stream);
  }
  {
    std::unique_lock lock(stream->mutex);
    if (!stream->started) {
      lock.unlock();
      delete stream;
      return before;
    }
    stream->closing = true;
    stream->changed.notify_all();
  }
  return before;
}
cudaError_t cudaStreamSynchronize(cudaStream_t given) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  if (const cudaError_t status = invalidate_if_capturing(stream); status != cudaSuccess) return status;
  DoneRef last;
  {
    const std::lock_guard lock(state().mutex);
    last = stream->last;
  }
  if (last) last->wait();
  return enter();
}
cudaError_t cudaStreamQuery(cudaStream_t given) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  if (const cudaError_t status = invalidate_if_capturing(stream); status != cudaSuccess) return status;
  const std::lock_guard lock(state().mutex);
  return !stream->last || stream->last->ready() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t given, cudaEvent_t event, unsigned flags) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (flags & ~cudaEventWaitExternal) return fail(cudaErrorInvalidValue);
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  if (const cudaError_t status = find_event(event); status != cudaSuccess) return status;
  std::unique_lock all(state().mutex);
  if (event->capture && event->capture->over) event->capture.reset();
  if (event->capture) {
    if (stream->legacy) {
      event->capture->invalid = true;
      return failed(cudaErrorStreamCaptureImplicit, "the legacy stream waits for a captured event");
    }
    if (event->capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
    if (stream->capture && stream->capture != event->capture) {
      stream->capture->invalid = event->capture->invalid = true;
      return failed(cudaErrorStreamCaptureMerge, "a captured stream waits for an event of another capture");
    }
    if (!stream->capture) {
      stream->capture = event->capture;
      stream->capture->streams.insert(stream);
      stream->tail = event->tail;
    } else {
      for (int node : event->tail) {
        if (std::find(stream->tail.begin(), stream->tail.end(), node) == stream->tail.end()) stream->tail.push_back(node);
      }
    }
    return cudaSuccess;
  }
  if (stream->capture) {
    if (stream->capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
    stream->capture->invalid = true;
    return failed(cudaErrorStreamCaptureIsolation, "a captured stream waits for an event that was not captured");
  }
  all.unlock();
  DoneRef record;
  {
    const std::lock_guard lock(event->mutex);
    record = event->record;
  }
  if (!record) return cudaSuccess;
  return submit(given, "wait", [](Device&, double start, double) { return start; }, nullptr, {record});
}

// ---- events ---------------------------------------------------------------------------------------------------------
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!event || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)))
    return fail(cudaErrorInvalidValue);
  if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return fail(cudaErrorInvalidValue);
  auto* made = new CUevent_st;
  made->device = t_device;
  made->flags = flags;
  const std::lock_guard lock(state().mutex);
  state().events.insert(made);
  *event = made;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const cudaError_t before = enter();
  if (before == cudaErrorInitializationError || before == cudaErrorNoDevice) return before;
  if (const cudaError_t status = find_event(event); status != cudaSuccess) return status;
  {
    const std::lock_guard lock(state().mutex);
    state().events.erase(event);
  }
  delete event;  // operations hold what they need of it
  return before;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t given) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (const cudaError_t status = find_event(event); status != cudaSuccess) return status;
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  if (event->device != stream->device)
    return failed(cudaErrorInvalidResourceHandle, "an event is recorded in a stream of another device");
  {
    const std::lock_guard lock(state().mutex);
    if (stream->capture) {
      if (stream->capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
      event->capture = stream->capture;
      event->tail = stream->tail;
      event->record.reset();
      return cudaSuccess;
    }
    event->capture.reset();
  }
  DoneRef done;
  // The timer ticks every 32 ns.
  const cudaError_t status = submit(
      given, "event", [](Device&, double start, double) { return std::floor(start / 32) * 32; }, &done);
  if (status != cudaSuccess) return status;
  const std::lock_guard lock(event->mutex);
  event->record = done;
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if (flags != 0) return fail(cudaErrorNotSupported);
  return cudaEventRecord(event, stream);
}
static cudaError_t captured_event(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  if (!event->capture || event->capture->over) return cudaSuccess;
  event->capture->invalid = true;
  return fail(cudaErrorCapturedEvent);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (const cudaError_t status = find_event(event); status != cudaSuccess) return status;
  if (const cudaError_t status = captured_event(event); status != cudaSuccess) return status;
  DoneRef record;
  {
    const std::lock_guard lock(event->mutex);
    record = event->record;
  }
  if (record) record->wait();
  return enter();
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (const cudaError_t status = find_event(event); status != cudaSuccess) return status;
  if (const cudaError_t status = captured_event(event); status != cudaSuccess) return status;
  const std::lock_guard lock(event->mutex);
  return !event->record || event->record->ready() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!milliseconds) return fail(cudaErrorInvalidValue);
  for (cudaEvent_t event : {begin, end}) {
    if (const cudaError_t status = find_event(event); status != cudaSuccess) return status;
    if (const cudaError_t status = captured_event(event); status != cudaSuccess) return status;
    const std::lock_guard lock(event->mutex);
    if (!event->record) return failed(cudaErrorInvalidResourceHandle, "the time of an event that was never recorded");
    if (event->flags & cudaEventDisableTiming)
      return failed(cudaErrorInvalidResourceHandle, "the time of an event without timing");
  }
  if (begin->device != end->device) return failed(cudaErrorInvalidResourceHandle, "the time between events of two devices");
  const DoneRef first = begin->record, second = end->record;
  if (!first->ready() || !second->ready()) return fail(cudaErrorNotReady);
  *milliseconds = static_cast<float>((second->end_ns - first->end_ns) * 1e-6);
  return cudaSuccess;
}

// ---- capture and graphs ---------------------------------------------------------------------------------------------
cudaError_t cudaStreamBeginCapture(cudaStream_t given, cudaStreamCaptureMode mode) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  if (stream->legacy) return failed(cudaErrorStreamCaptureUnsupported, "the legacy stream cannot be captured");
  if (mode != cudaStreamCaptureModeGlobal && mode != cudaStreamCaptureModeThreadLocal && mode != cudaStreamCaptureModeRelaxed)
    return fail(cudaErrorInvalidValue);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (stream->capture) return failed(cudaErrorIllegalState, "a stream that is captured is captured again");
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++s.ids;
  capture->streams = {stream};
  stream->capture = capture;
  stream->tail.clear();
  s.captures.push_back(capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t given, cudaGraph_t* graph) {
  if (graph) *graph = nullptr;
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!stream->capture) return failed(cudaErrorIllegalState, "the end of a capture in a stream that is not captured");
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) {
    capture->invalid = true;
    return failed(cudaErrorStreamCaptureUnmatched, "a capture is ended in another stream than it began in");
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return failed(cudaErrorStreamCaptureWrongThread, "a capture is ended by another thread");
  bool joined = true;
  std::vector<char> reached(capture->nodes.size(), 0);
  std::vector<int> open = stream->tail;
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (reached[static_cast<std::size_t>(node)]++) continue;
    for (int before : capture->nodes[static_cast<std::size_t>(node)].after) open.push_back(before);
  }
  for (CUstream_st* other : capture->streams) {
    for (int node : other->tail) joined = joined && reached[static_cast<std::size_t>(node)];
    other->capture.reset();
    other->tail.clear();
  }
  capture->over = true;
  std::erase(s.captures, capture);
  if (capture->invalid) return fail(cudaErrorStreamCaptureInvalidated);
  if (!joined) return failed(cudaErrorStreamCaptureUnjoined, "a forked stream was not joined to the one the capture began in");
  if (!graph) return fail(cudaErrorInvalidValue);
  auto* made = new CUgraph_st;
  made->nodes = std::move(capture->nodes);
  s.graphs.insert(made);
  *graph = made;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t given, cudaStreamCaptureStatus* status) {
  if (const cudaError_t error = enter(); error != cudaSuccess) return error;
  if (!status) return fail(cudaErrorInvalidValue);
  CUstream_st* stream = nullptr;
  if (const cudaError_t error = check_stream(given, &stream); error != cudaSuccess) return error;
  const std::lock_guard lock(state().mutex);
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* to, cudaGraph_t graph, unsigned long long flags) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  const std::lock_guard lock(state().mutex);
  if (!to || !state().graphs.count(graph)) return fail(cudaErrorInvalidValue);
  if (flags & ~0xfULL) return fail(cudaErrorInvalidValue);
  auto* made = new CUgraphExec_st;
  made->nodes = std::make_shared<const std::vector<GraphNode>>(graph->nodes);
  made->device = t_device;
  state().execs.insert(made);
  *to = made;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().execs.count(exec)) return fail(cudaErrorInvalidValue);
  }
  CUstream_st* found = nullptr;
  if (const cudaError_t status = check_stream(stream, &found); status != cudaSuccess) return status;
  if (const cudaError_t status = invalidate_if_capturing(found); status != cudaSuccess) return status;
  return submit(stream, "upload", [](Device&, double start, double) { return start + 20'000; });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  std::shared_ptr<const std::vector<GraphNode>> nodes;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().execs.count(exec)) return fail(cudaErrorInvalidValue);
    nodes = exec->nodes;
  }
  DoneRef done;
  const cudaError_t status = submit(stream, "graph", work_of_graph(nodes), &done);
  if (status == cudaSuccess && done && settings().blocking) {
    done->wait();
    return enter();
  }
  return status;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(state().mutex);
  if (!state().graphs.erase(graph)) return fail(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const std::lock_guard lock(state().mutex);
  if (!state().execs.erase(exec)) return fail(cudaErrorInvalidValue);
  delete exec;  // a launch that runs holds the nodes
  return cudaSuccess;
}

}  // extern "C"

namespace gpu_model::runtime {
cudaError_t cublas_stream_device(cudaStream_t given, int* device) {
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  *device = stream->device;
  return cudaSuccess;
}
}  // namespace gpu_model::runtime
