// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// The stand-in CUDA runtime: registration of kernels, their PTX, launches and how long they take.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include "runtime.hpp"

namespace gpu_model::runtime {

/// One fat binary: the PTX of a translation unit, cut into its entries.
struct Binary {
  const void* image = nullptr;
  bool cut = false;
  std::string shared_text;                     // all outside of the entries
  std::map<std::string, std::string> entries;  // name -> text
  std::vector<std::string> variables;
  std::unique_ptr<Module> whole;  // where it has variables that kernels share
  std::mutex mutex;
};

struct Kernel {
  Binary* binary = nullptr;
  std::string name;
  const void* host = nullptr;
  std::mutex mutex;
  bool loaded = false;
  std::string failure;
  std::unique_ptr<Module> module;
  const Function* function = nullptr;
  // What a launch may ask of it; set by cudaFuncSetAttribute.
  std::size_t dynamic_limit = 48 * 1024;
  bool wide_clusters = false;
  // What the time model reads off the text.
  double tensor_flops_per_ns = 989e3;
  bool reads_timer = false, has_mma_sync = false;
  int min_blocks = 1;
  // What a planted flip would have met in the last launch that changed anything: a launch that repeats another changes nothing.
  std::uintptr_t changed = 0;
};

namespace {

struct FatWrapper {
  std::int32_t magic, version;
  const void* data;
  void* unused;
};
struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;
};
struct FatEntry {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t size;
  std::uint32_t compressed_size, options;
  std::uint16_t minor, major;
  std::uint32_t arch, name_offset, name_size;
  std::uint64_t flags;
  std::uint64_t zero, uncompressed_size;
};

/// The newest PTX of a fat binary that the device can run, or an explanation in `why`.
std::string ptx_of(const void* image, std::string& why) {
  const auto* wrapper = static_cast<const FatWrapper*>(image);
  if (wrapper->magic != 0x466243b1) return why = "no fat binary", "";
  const auto* header = static_cast<const FatHeader*>(wrapper->data);
  if (header->magic != 0xBA55ED50) return why = "no fat binary header", "";
  const char* at = reinterpret_cast<const char*>(header) + header->header_size;
  const char* end = at + header->size;
  std::string best;
  std::uint32_t best_arch = 0;
  why = "no PTX in it for compute capability " + std::to_string(settings().model->compute_capability);
  while (at + sizeof(FatEntry) <= end) {
    const auto* entry = reinterpret_cast<const FatEntry*>(at);
    if (entry->kind == 1 && entry->arch >= best_arch &&
        entry->arch <= static_cast<std::uint32_t>(settings().model->compute_capability)) {
      const char* text = at + entry->header_size;
      if (entry->compressed_size != 0 || std::strncmp(text, "//", 2) != 0) {
        if (std::string(text, std::min<std::size_t>(entry->size, 4096)).find(".version") == std::string::npos) {
          why = "its PTX is compressed: build with --no-compress";
          at += entry->header_size + entry->size;
          continue;
        }
      }
      best.assign(text, strnlen(text, entry->size));
      best_arch = entry->arch;
    }
    at += entry->header_size + entry->size;
  }
  return best;
}

/// Cuts a PTX text at its entries; drops debug sections.
void cut(Binary& binary) {
  std::string why;
  const std::string text = ptx_of(binary.image, why);
  binary.cut = true;
  if (text.empty()) {
    say("a module cannot be read: %s", why.c_str());
    return;
  }
  std::size_t at = 0, kept = 0;
  const auto word_at = [&](std::size_t i, const char* word) { return text.compare(i, std::strlen(word), word) == 0; };
  const auto block_end = [&](std::size_t open) {  // behind the brace that closes the one at `open`
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') {
        i = text.find('\n', i);
        if (i == std::string::npos) break;
      } else if (text[i] == '"') {
        i = text.find('"', i + 1);
        if (i == std::string::npos) break;
      } else if (text[i] == '{') {
        ++depth;
      } else if (text[i] == '}' && --depth == 0) {
        return i + 1;
      }
    }
    return text.size();
  };
  while (at < text.size()) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    std::size_t i = at;
    while (i < line_end && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    const std::size_t entry = text.find(".entry", i);
    const bool is_entry =
        (word_at(i, ".visible .entry") || word_at(i, ".weak .entry") || word_at(i, ".entry")) && entry < line_end;
    const bool is_section = word_at(i, ".section");
    const bool is_function = !is_entry && (word_at(i, ".visible .func") || word_at(i, ".weak .func") || word_at(i, ".func"));
    if (is_entry) {
      std::size_t name = entry + 6;
      while (std::isspace(static_cast<unsigned char>(text[name]))) ++name;
      std::size_t name_end = name;
      while (std::isalnum(static_cast<unsigned char>(text[name_end])) || text[name_end] == '_' || text[name_end] == '$')
        ++name_end;
      const std::size_t open = text.find('{', name_end), semicolon = text.find(';', name_end);
      // A declaration has no body; of parameters' arrays there is no brace either.
      const std::size_t parameters_end = text.find(')', name_end);
      if (semicolon != std::string::npos && semicolon < open && semicolon > parameters_end) {
        at = semicolon + 1;
        continue;
      }
      const std::size_t end = block_end(open);
      binary.shared_text.append(text, kept, at - kept);
      binary.entries[text.substr(name, name_end - name)] = text.substr(at, end - at);
      at = kept = end;
      continue;
    }
    if (is_section) {
      const std::size_t end = block_end(text.find('{', at));
      binary.shared_text.append(text, kept, at - kept);
      at = kept = end;
      continue;
    }
    if (is_function) {
      const std::size_t open = text.find('{', i), semicolon = text.find(';', i);
      at = semicolon < open ? semicolon + 1 : block_end(open);
      continue;
    }
    at = line_end + 1;
  }
  if (kept < text.size()) binary.shared_text.append(text, kept, std::string::npos);
}

/// Under the kernel's mutex.
void load(Kernel& kernel) {
  if (kernel.loaded) return;
  kernel.loaded = true;
  std::string text;
  bool shares = false;
  {
    const std::lock_guard lock(kernel.binary->mutex);
    if (!kernel.binary->cut) cut(*kernel.binary);
    const auto found = kernel.binary->entries.find(kernel.name);
    if (found == kernel.binary->entries.end()) {
      kernel.failure = "no PTX of it";
      say("kernel %s: no PTX of it in its module", kernel.name.c_str());
      return;
    }
    text = found->second;
    shares = !kernel.binary->variables.empty();
  }
  // A rate of tensor work by the types that appear.
  const auto has = [&](const char* what) { return text.find(what) != std::string::npos; };
  kernel.reads_timer = has("%globaltimer");
  kernel.has_mma_sync = has("mma.sync");
  const bool tensor = kernel.has_mma_sync || has("wgmma.mma_async");
  if (tensor) {
    if (has(".f64")) kernel.tensor_flops_per_ns = has("mma.sync.aligned.m8n8k4") || has("m16n8k") ? 67e3 : 989e3;
    if (has(".f16") || has(".bf16")) kernel.tensor_flops_per_ns = 989e3;
    if (has(".tf32")) kernel.tensor_flops_per_ns = 494e3;
    if (has(".e4m3") || has(".s8")) kernel.tensor_flops_per_ns = 1979e3;
  }
  if (const std::size_t at = text.find(".minnctapersm"); at != std::string::npos)
    kernel.min_blocks = std::atoi(text.c_str() + at + 13);
  if (settings().noop) {
    kernel.failure = "noop";
    return;
  }
  try {
    if (shares) {
      const std::lock_guard lock(kernel.binary->mutex);
      if (!kernel.binary->whole) {
        std::string all = kernel.binary->shared_text;
        for (const auto& [name, entry] : kernel.binary->entries) all += entry + "\n";
        kernel.binary->whole = std::make_unique<Module>(all);
      }
      kernel.function = kernel.binary->whole->find(kernel.name);
    } else {
      if (const char* folder = std::getenv("GPUMODEL_DUMP")) {
        std::ofstream(std::string(folder) + "/" + kernel.name.substr(0, 200) + ".ptx") << kernel.binary->shared_text << "\n"
                                                                                       << text << "\n";
      }
      kernel.module = std::make_unique<Module>(kernel.binary->shared_text + "\n" + text + "\n");
      kernel.function = kernel.module->find(kernel.name);
    }
    if (!kernel.function) kernel.failure = "not in its module";
  } catch (const std::exception& error) {
    kernel.failure = error.what();
    kernel.module.reset();
  }
  if (!kernel.function)
    say("kernel %s cannot be loaded (the model's limit, not the program's): %s", kernel.name.c_str(), kernel.failure.c_str());
}

Kernel* find_kernel(const void* function) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.kernels.find(function);
  return found == s.kernels.end() ? nullptr : found->second;
}

int registers_of(const Kernel& kernel, const FunctionInfo& info) {
  if (info.registers_hint > 0) return info.registers_hint;
  // What the compiler could take at most.
  const int room = 65536 / std::max(1, info.max_threads * std::max(1, kernel.min_blocks)) / 8 * 8;
  return std::clamp(room, 32, 255);
}

struct Launch {
  Kernel* kernel = nullptr;
  Dim3 grid, block, cluster;
  std::size_t dynamic = 0;
  std::vector<char> bytes;           // of all parameters
  std::vector<std::size_t> offsets;  // of each in `bytes`
  double footprint = 0;              // of the allocations that parameters point into
  bool wall = false;
};

cudaError_t status_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::illegal_address:
      return cudaErrorIllegalAddress;
    case Fault::Kind::misaligned:
      return cudaErrorMisalignedAddress;
    case Fault::Kind::illegal_instruction:
      return cudaErrorIllegalInstruction;
    default:
      return cudaErrorLaunchFailure;
  }
}
const char* name_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::illegal_address:
      return "illegal address";
    case Fault::Kind::misaligned:
      return "misaligned address";
    case Fault::Kind::illegal_instruction:
      return "illegal instruction";
    case Fault::Kind::deadlock:
      return "deadlock";
    case Fault::Kind::trap:
      return "trap";
    case Fault::Kind::race:
      return "race";
    default:
      return "not supported by the model";
  }
}

double kernel_ns(Device& device, const Launch& launch, const Counters& c, double start) {
  const Kernel& kernel = *launch.kernel;
  const double blocks = double(launch.grid.x) * launch.grid.y * launch.grid.z;
  const double warps = std::ceil(double(launch.block.x) * launch.block.y * launch.block.z / 32);
  const double all = settings().multiprocessors, sms = std::min(all, blocks), share = sms / 132;
  const double mma = static_cast<double>(c.mma_flops);
  const double load = mma > 0 ? 1 : 0.2;
  const double scale = device.clock_mhz(start, load) / 1755;  // the tables' rates are at 1755 MHz
  const double bytes = static_cast<double>(c.global_load_bytes + c.global_store_bytes + c.tma_bytes);
  const double l2 = static_cast<double>(settings().l2_bytes);
  double time = bytes / (settings().model->l2_bytes_per_ns * std::max(share, 0.02));
  if (launch.footprint > 0.7 * l2)
    time = std::max(time,
                    std::min(bytes, 2 * launch.footprint) / (settings().model->dram_bytes_per_ns * std::min(1.0, 2 * share)));
  double compute = mma / (kernel.tensor_flops_per_ns * (kernel.has_mma_sync ? 0.64 : 0.9));
  compute = std::max(compute, double(c.fma_flops[0]) / 118e3);
  compute = std::max(compute, double(c.fma_flops[1]) / 58e3);
  compute = std::max(compute, double(c.fma_flops[2]) / 29e3);
  compute = std::max(compute, double(c.special) / 3.6e3);
  compute = std::max(compute, double(c.shared_bytes) / 28e3);
  // Issue: four a clock of an SM at most, one in about five clocks for a warp by itself.
  const double resident = std::min(64.0, warps * std::max(1.0, blocks / all));
  const double rate = sms * std::min(3.6, resident * 0.2) * 1.755;
  compute = std::max(compute / share, double(c.warp_instructions) / rate);
  time = std::max(time, compute / scale);
  if (blocks * warps == 1) time = std::max(time, double(c.global_load_bytes) / 8 * 300 / 32);  // a chain of loads
  return time + 600;
}

// Without kernels (GPUMODEL_NOOP=1) roofmark's gate still holds its stream, so that the runtime can be tried by itself.
bool is_gate(const Kernel& kernel) { return kernel.name.find("wait_at_gate_kernel") != std::string::npos; }
void hold(const Launch& launch) {
  volatile std::uint32_t *opened, *expired;
  std::uint32_t ticket;
  std::uint64_t limit;
  std::memcpy(&opened, &launch.bytes[launch.offsets[0]], 8);
  std::memcpy(&expired, &launch.bytes[launch.offsets[1]], 8);
  std::memcpy(&ticket, &launch.bytes[launch.offsets[2]], 4);
  std::memcpy(&limit, &launch.bytes[launch.offsets[3]], 8);
  const double start = host_now_ns();
  while (*opened < ticket) {
    if (host_now_ns() - start > static_cast<double>(limit)) {
      *expired = ticket;
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

std::string short_name(const std::string& mangled) { return mangled.size() > 160 ? mangled.substr(0, 160) : mangled; }

double run_launch(const std::shared_ptr<Launch>& launch, Device& device, double start, double overhead) {
  Kernel& kernel = *launch->kernel;
  Settings& s = settings();
  if (planted(s.hang, kernel.name, device.ordinal)) {
    say("planted: %s never ends", kernel.name.c_str());
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (planted(s.sticky, kernel.name, device.ordinal)) {
    say("planted: %s ends with an illegal address", kernel.name.c_str());
    set_sticky(device, cudaErrorIllegalAddress);
    return start + overhead;
  }
  Counters counters;
  Time time;
  const double from = start + overhead;
  const double load = kernel.has_mma_sync || kernel.tensor_flops_per_ns != 989e3 ? 1 : 0.2;
  time.clock_mhz = device.clock_mhz(start, load);
  time.clock64 = static_cast<std::uint64_t>(from * time.clock_mhz * 1e-3);
  time.globaltimer_ns = timer_ns(from);
  time.wall = launch->wall;
  std::vector<void*> parameters;
  for (std::size_t offset : launch->offsets) parameters.push_back(launch->bytes.data() + offset);

  double byte = 0;
  const bool watched = planted(s.flip, kernel.name, device.ordinal, &byte, false);
  const bool flips = planted(s.flip, kernel.name, device.ordinal);
  std::vector<std::pair<Allocation, std::vector<char>>> before;
  if (watched) {
    for (std::size_t i = 0; i + 8 <= launch->bytes.size(); i += 8) {
      void* pointer;
      std::memcpy(&pointer, launch->bytes.data() + i, 8);
      const auto found = find_allocation(pointer);
      if (!found || found->device < 0) continue;
      if (std::any_of(before.begin(), before.end(), [&](const auto& b) { return b.first.base == found->base; })) continue;
      const auto* data = reinterpret_cast<const char*>(found->base);
      before.emplace_back(*found, std::vector<char>(data, data + found->bytes));
    }
  }
  const double wall_before = host_now_ns();
  const double threads =
      double(launch->grid.x) * launch->grid.y * launch->grid.z * launch->block.x * launch->block.y * launch->block.z;
  const bool skipped = planted(s.skip, kernel.name, device.ordinal, nullptr, false);
  if (skipped) {
    GPUMODEL_TRACE("skipped: %s (GPUMODEL_SKIP)", short_name(kernel.name).c_str());
    counters.global_load_bytes = 1 << 28;
  } else if (s.skip_over > 0 && threads > s.skip_over) {
    say("skipped: %s of %.0f threads (GPUMODEL_SKIP_OVER)", short_name(kernel.name).c_str(), threads);
  } else if (kernel.function) {
    try {
      run(kernel.function, launch->grid, launch->block, launch->cluster, launch->dynamic, parameters.data(), time, counters,
          s.multiprocessors);
    } catch (const Fault& fault) {
      say("FAULT (%s) <<<(%u,%u,%u), (%u,%u,%u), %zu>>>: %s", name_of(fault.kind), launch->grid.x, launch->grid.y,
          launch->grid.z, launch->block.x, launch->block.y, launch->block.z, launch->dynamic, fault.what());
      if (fault.kind == Fault::Kind::deadlock && s.deadlock_hangs) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
      }
      set_sticky(device, status_of(fault.kind));
      return from;
    } catch (const std::exception& error) {
      say("the model failed in %s: %s", short_name(kernel.name).c_str(), error.what());
      set_sticky(device, cudaErrorLaunchFailure);
      return from;
    }
  }
  if (!kernel.function && is_gate(kernel)) hold(*launch);
  const double wall_after = host_now_ns();
  double end = from;
  if (launch->wall) {
    end = std::max(from, wall_after);
  } else {
    double slow = 1;
    if (!planted(s.slow, kernel.name, device.ordinal, &slow, false)) slow = 1;
    double took = kernel_ns(device, *launch, counters, start);
    // A kernel that reads the timer itself took as long as it saw.
    if (kernel.reads_timer) took = std::max(took, double(time.globaltimer_ns) - double(timer_ns(from)));
    end = start + (overhead + took * slow) * device.noise();
  }
  if (watched) {
    auto left = static_cast<std::size_t>(byte) + 1;
    bool there = false;
    for (const auto& [allocation, old] : before) {
      const auto* data = reinterpret_cast<const char*>(allocation.base);
      for (std::size_t i = 0; i < old.size() && left; ++i) {
        if (data[i] == old[i]) continue;
        kernel.changed = allocation.base + i;
        --left;
      }
      there = there || (kernel.changed >= allocation.base && kernel.changed < allocation.base + allocation.bytes);
    }
    if (flips && there) *reinterpret_cast<char*>(kernel.changed) ^= 0x10;
    if (flips)
      say("planted: a bit of what %s stored %s", short_name(kernel.name).c_str(),
          there ? "was flipped" : "could not be flipped: nothing changed");
  }
  device.was_busy(start, end, counters.mma_flops ? 1 : 0.2);
  if (counters.uninitialised_shared_reads)
    say("%s read %llu words of shared memory that nothing had written", short_name(kernel.name).c_str(),
        static_cast<unsigned long long>(counters.uninitialised_shared_reads));
  GPUMODEL_TRACE("%s <<<(%u,%u,%u), (%u,%u,%u), %zu>>> model %.2f us, wall %.1f ms, warp instructions %llu, bytes %llu/%llu",
                 short_name(kernel.name).c_str(), launch->grid.x, launch->grid.y, launch->grid.z, launch->block.x,
                 launch->block.y, launch->block.z, launch->dynamic, (end - start) * 1e-3, (wall_after - wall_before) * 1e-6,
                 static_cast<unsigned long long>(counters.warp_instructions),
                 static_cast<unsigned long long>(counters.global_load_bytes + counters.tma_bytes),
                 static_cast<unsigned long long>(counters.global_store_bytes));
  return end;
}

cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, dim3 cluster, void** arguments, std::size_t dynamic,
                   cudaStream_t given) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  if (!kernel) return failed(cudaErrorInvalidDeviceFunction, "a launch of what is no kernel");
  CUstream_st* stream = nullptr;
  if (const cudaError_t status = check_stream(given, &stream); status != cudaSuccess) return status;
  if (stream->device != current_device().ordinal)
    return failed(cudaErrorInvalidResourceHandle, "a launch into a stream of another device than the current one");
  FunctionInfo plain;
  const FunctionInfo* about = &plain;
  {
    const std::lock_guard lock(kernel->mutex);
    load(*kernel);
    if (kernel->function) about = &info(kernel->function);
    if (!kernel->function && !settings().noop) return fail(cudaErrorNoKernelImageForDevice);
    if (!kernel->function && is_gate(*kernel)) plain.param_sizes = {8, 8, 4, 8};
  }
  const std::string where = " (kernel " + short_name(kernel->name) + ")";
  const auto refuse = [&](cudaError_t status, const std::string& why) { return failed(status, (why + where).c_str()); };
  const auto threads = std::uint64_t{block.x} * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || !threads) return refuse(cudaErrorInvalidConfiguration, "an empty grid or block");
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    return refuse(cudaErrorInvalidConfiguration, "a grid too large");
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
    return refuse(cudaErrorInvalidConfiguration, "a block of more than 1024 threads, or more than 64 deep");
  if (threads > static_cast<std::uint64_t>(about->max_threads))
    return refuse(cudaErrorInvalidValue, "a block of " + std::to_string(threads) + " threads, more than __launch_bounds__ " +
                                             std::to_string(about->max_threads));
  if (about->registers_hint > 0 && static_cast<std::uint64_t>(about->registers_hint) * ((threads + 31) / 32 * 32) > 65536)
    return refuse(cudaErrorLaunchOutOfResources, "more registers than an SM has");
  if (dynamic > kernel->dynamic_limit && dynamic + about->static_shared > 48 * 1024)
    return refuse(cudaErrorInvalidValue, std::to_string(dynamic) + " bytes of dynamic shared memory, " +
                                             std::to_string(kernel->dynamic_limit) +
                                             " were asked for with cudaFuncSetAttribute");
  if (dynamic + about->static_shared > settings().model->shared_optin)
    return refuse(cudaErrorInvalidValue, "more shared memory than a block can have");
  const int* required = about->required_cluster;
  if (required[0]) {
    const dim3 fixed(required[0], std::max(1, required[1]), std::max(1, required[2]));
    if (cluster.x && (cluster.x != fixed.x || cluster.y != fixed.y || cluster.z != fixed.z))
      return refuse(cudaErrorInvalidClusterSize, "another cluster than __cluster_dims__ has");
    cluster = fixed;
  }
  if (cluster.x) {
    if (!settings().model->clusters) return refuse(cudaErrorNotSupported, "clusters need compute capability 9.0");
    const auto size = std::uint64_t{cluster.x} * cluster.y * cluster.z;
    if (!size || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
      return refuse(cudaErrorInvalidClusterSize, "a grid that is no multiple of its cluster");
    if (size > (kernel->wide_clusters ? 16u : 8u))
      return refuse(cudaErrorInvalidClusterSize, "a cluster of more than 8 blocks");
  } else {
    cluster = dim3(1, 1, 1);
  }

  auto made = std::make_shared<Launch>();
  made->kernel = kernel;
  made->grid = {grid.x, grid.y, grid.z};
  made->block = {block.x, block.y, block.z};
  made->cluster = {cluster.x, cluster.y, cluster.z};
  made->dynamic = dynamic;
  std::size_t total = 0;
  for (std::size_t size : about->param_sizes) {
    made->offsets.push_back(total);
    total += (size + 127) / 128 * 128;  // aligned as a tensor map must be
  }
  made->bytes.resize(total);
  std::set<std::uintptr_t> seen;
  for (std::size_t i = 0; i < about->param_sizes.size(); ++i) {
    if (!arguments || !arguments[i]) return refuse(cudaErrorInvalidValue, "a parameter is missing");
    std::memcpy(made->bytes.data() + made->offsets[i], arguments[i], about->param_sizes[i]);
    for (std::size_t at = 0; at + 8 <= about->param_sizes[i]; at += 8) {
      void* pointer;
      std::memcpy(&pointer, made->bytes.data() + made->offsets[i] + at, 8);
      const auto found = find_allocation(pointer);
      if (!found) continue;
      if (found->device < 0) {
        made->wall = made->wall || kernel->reads_timer;
      } else if (seen.insert(found->base).second) {
        made->footprint += static_cast<double>(found->bytes);
      }
    }
  }
  // The copied bytes must start 128-byte aligned for a tensor map among them.
  DoneRef done;
  const cudaError_t status = submit(
      given, "kernel",
      [made](Device& device, double start, double overhead) { return run_launch(made, device, start, overhead); }, &done);
  if (status == cudaSuccess && done && settings().blocking) {
    done->wait();
    return enter();
  }
  return status;
}

struct Configuration {
  dim3 grid, block;
  std::size_t dynamic;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> t_configurations;

}  // namespace

}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

void** __cudaRegisterFatBinary(void* image) {
  auto* binary = new Binary;
  binary->image = image;
  return reinterpret_cast<void**>(binary);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  auto* kernel = new Kernel;
  kernel->binary = reinterpret_cast<Binary*>(handle);
  kernel->name = name;
  kernel->host = host;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.kernels[host] = kernel;
  s.kernels[kernel] = kernel;
}
void __cudaRegisterVar(void** handle, char*, char*, const char* name, int, size_t, int, int) {
  reinterpret_cast<Binary*>(handle)->variables.emplace_back(name);
}
void __cudaRegisterManagedVar(void** handle, void**, char*, const char* name, int, size_t, int, int) {
  reinterpret_cast<Binary*>(handle)->variables.emplace_back(name);
}
cudaError_t __cudaGetKernel(cudaKernel_t* to, const void* host) {
  Kernel* kernel = find_kernel(host);
  *to = reinterpret_cast<cudaKernel_t>(kernel);
  return kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t cudaGetKernel(cudaKernel_t* to, const void* host) { return fail(__cudaGetKernel(to, host)); }
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic, CUstream_st* stream) {
  t_configurations.push_back({grid, block, dynamic, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic, void* stream) {
  if (t_configurations.empty()) return fail(cudaErrorMissingConfiguration);
  const Configuration& c = t_configurations.back();
  *grid = c.grid;
  *block = c.block;
  *dynamic = c.dynamic;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  t_configurations.pop_back();
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t dynamic,
                               cudaStream_t stream) {
  return launch(find_kernel(kernel), grid, block, dim3(0, 0, 0), arguments, dynamic, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t dynamic,
                                    cudaStream_t stream) {
  return launch(find_kernel(kernel), grid, block, dim3(0, 0, 0), arguments, dynamic, stream ? stream : cudaStreamPerThread);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic,
                             cudaStream_t stream) {
  return launch(find_kernel(function), grid, block, dim3(0, 0, 0), arguments, dynamic, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!config) return fail(cudaErrorInvalidValue);
  dim3 cluster(0, 0, 0);
  if (config->numAttrs && !config->attrs) return fail(cudaErrorInvalidValue);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeIgnore:
        break;
      case cudaLaunchAttributeClusterDimension:
        cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
        if (!cluster.x || !cluster.y || !cluster.z) return failed(cudaErrorInvalidClusterSize, "an empty cluster");
        break;
      default:
        say("launch attribute %d is not modelled", static_cast<int>(attribute.id));
        break;
    }
  }
  return launch(find_kernel(function), config->gridDim, config->blockDim, cluster, arguments, config->dynamicSmemBytes,
                config->stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, const void* function) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  Kernel* kernel = find_kernel(function);
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  if (!to) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(kernel->mutex);
  load(*kernel);
  gpu_model::FunctionInfo plain;
  if (!kernel->function && !settings().noop) return fail(cudaErrorNoKernelImageForDevice);
  const gpu_model::FunctionInfo& about = kernel->function ? gpu_model::info(kernel->function) : plain;
  std::memset(to, 0, sizeof *to);
  to->sharedSizeBytes = about.static_shared;
  to->localSizeBytes = about.local_bytes;
  to->maxThreadsPerBlock = about.max_threads;
  to->numRegs = registers_of(*kernel, about);
  to->ptxVersion = to->binaryVersion = settings().model->compute_capability;
  to->maxDynamicSharedSizeBytes =
      static_cast<int>(kernel->dynamic_limit > 48 * 1024 ? kernel->dynamic_limit : 48 * 1024 - about.static_shared);
  to->preferredShmemCarveout = -1;
  to->requiredClusterWidth = about.required_cluster[0];
  to->requiredClusterHeight = about.required_cluster[1];
  to->requiredClusterDepth = about.required_cluster[2];
  to->nonPortableClusterSizeAllowed = kernel->wide_clusters;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (const cudaError_t status = enter(); status != cudaSuccess) return status;
  Kernel* kernel = find_kernel(function);
  if (!kernel) return fail(cudaErrorInvalidDeviceFunction);
  const std::lock_guard lock(kernel->mutex);
  load(*kernel);
  if (!kernel->function && !settings().noop) return fail(cudaErrorNoKernelImageForDevice);
  const std::size_t fixed = kernel->function ? gpu_model::info(kernel->function).static_shared : 0;
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || static_cast<std::size_t>(value) + fixed > settings().model->shared_optin)
        return failed(cudaErrorInvalidValue,
                      ("cudaFuncSetAttribute: more shared memory than a block can have: " + std::to_string(value)).c_str());
      kernel->dynamic_limit = static_cast<std::size_t>(value);
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      return value < -1 || value > 100 ? fail(cudaErrorInvalidValue) : cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      kernel->wide_clusters = value != 0;
      return cudaSuccess;
    default:
      return fail(cudaErrorInvalidValue);
  }
}

}  // extern "C"
