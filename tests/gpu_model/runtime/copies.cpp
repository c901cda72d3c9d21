// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include <cstring>

#include "fat_binary.hpp"
#include "operations.hpp"
#include "state.hpp"

namespace gpu_model::runtime {
namespace {

constexpr double pageable_bytes_per_ns = 12, pinned_bytes_per_ns = 55;
// From a GPU to another, with access by NVLink and by PCIe, and without access.
constexpr double nvlink_bytes_per_ns = 390, pcie_bytes_per_ns = 25, staged_bytes_per_ns = 20;
constexpr double beyond_l2_bytes = 40e6;         // traffic that goes to DRAM
constexpr std::size_t staged_bytes = 64 * 1024;  // the largest pageable copy that does not wait for its stream

double memory_bytes_per_ns(double traffic_bytes) {
  const DeviceModel& model = *settings().model;
  return traffic_bytes > beyond_l2_bytes ? model.dram_bytes_per_ns : model.l2_bytes_per_ns;
}

/// Of the memory of two devices.
double peer_copy_ns(int to, int from, double bytes) {
  const std::lock_guard lock(state().mutex);
  const auto& access = state().peer_access;
  const double linked = settings().model->nvlinks > 0 ? nvlink_bytes_per_ns : pcie_bytes_per_ns;
  return bytes / (access.contains({to, from}) || access.contains({from, to}) ? linked : staged_bytes_per_ns);
}

double copy_ns(Place to, Place from, double bytes) {
  if (to == Place::device && from == Place::device) return 2 * bytes / memory_bytes_per_ns(2 * bytes);
  return bytes / (to == Place::pageable || from == Place::pageable ? pageable_bytes_per_ns : pinned_bytes_per_ns);
}

cudaError_t check_direction(cudaMemcpyKind kind, bool to_device, bool from_device) {
  const auto expect = [&](bool to, bool from, const char* name) {
    return to_device == to && from_device == from
               ? cudaSuccess
               : fail(cudaErrorInvalidValue, std::string("the pointers do not fit the direction ") + name);
  };
  switch (kind) {
    case cudaMemcpyHostToHost:
      return expect(false, false, "host to host");
    case cudaMemcpyHostToDevice:
      return expect(true, false, "host to device");
    case cudaMemcpyDeviceToHost:
      return expect(false, true, "device to host");
    case cudaMemcpyDeviceToDevice:
      return expect(true, true, "device to device");
    case cudaMemcpyDefault:
      return cudaSuccess;
    default:
      return fail(cudaErrorInvalidMemcpyDirection);
  }
}

bool is_captured(const CUstream_st& stream) {
  const std::lock_guard lock(state().mutex);
  return stream.capture != nullptr;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t given, CompletionRef* done) {
  if (!to || !from) return fail(cudaErrorInvalidValue, "a copy from or to null");
  CUstream_st* stream = nullptr;
  GPUMODEL_CHECK(find_stream(given, &stream));
  int to_ordinal = -1, from_ordinal = -1;
  const Place target = place_of(to, bytes, &to_ordinal), source = place_of(from, bytes, &from_ordinal);
  if (target == Place::broken || source == Place::broken)
    return fail(cudaErrorInvalidValue, "a copy extends beyond its allocation");
  // Managed memory is on the side that the other end is not on.
  const bool to_device = target == Place::device || (target == Place::managed && source != Place::device);
  const bool from_device = source == Place::device || (source == Place::managed && target != Place::device);
  const bool managed = target == Place::managed || source == Place::managed;
  GPUMODEL_CHECK(check_direction(managed ? cudaMemcpyDefault : kind, to_device, from_device));
  if (static_cast<const char*>(from) < static_cast<char*>(to) + bytes &&
      static_cast<char*>(to) < static_cast<const char*>(from) + bytes) {
    say("a copy of %zu bytes overlaps itself: undefined", bytes);
  }
  std::shared_ptr<std::vector<char>> staged;
  if (source == Place::pageable && to_device && !is_captured(*stream)) {
    // The caller may change the source as soon as the call returns.
    if (bytes > staged_bytes) synchronize(*stream);
    staged = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  }
  const bool between = target == Place::device && source == Place::device && to_ordinal != from_ordinal;
  const double ns = between ? peer_copy_ns(to_ordinal, from_ordinal, static_cast<double>(bytes))
                            : copy_ns(target, source, static_cast<double>(bytes));
  GPUMODEL_CHECK(submit(
      given, between ? "copy between devices" : "copy",
      [=](Device& device, double start, double overhead) {
        std::memmove(to, staged ? staged->data() : from, bytes);
        const double end = start + (overhead + ns) * device.noise();
        device.was_busy(start, end, 0);
        return end;
      },
      done));
  if (*done && target == Place::pageable && from_device) {
    (*done)->wait();
    return enter();
  }
  return cudaSuccess;
}

/// A variable of the device, as its host variable names it.
struct DeviceVariable {
  char* address = nullptr;
  std::size_t bytes = 0;
};

DeviceVariable find_variable(const void* symbol) {
  std::pair<FatBinary*, std::string> found;
  {
    const std::lock_guard lock(state().mutex);
    const auto at = state().variables.find(symbol);
    if (at == state().variables.end()) return {};
    found = at->second;
  }
  DeviceVariable variable;
  variable.address = static_cast<char*>(found.first->variable(found.second, &variable.bytes));
  return variable;
}

#if CUDART_VERSION >= 13000
/// The attributes of a batch of copies, as documented.
bool are_valid(std::size_t copies, const cudaMemcpyAttributes* attributes, const std::size_t* firsts, std::size_t count) {
  if (!attributes || !firsts || count == 0 || count > copies || firsts[0] != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto order = attributes[i].srcAccessOrder;
    if (order < cudaMemcpySrcAccessOrderStream || order > cudaMemcpySrcAccessOrderAny) return false;
    if (firsts[i] >= copies || (i > 0 && firsts[i] <= firsts[i - 1])) return false;
  }
  return true;
}
#endif

cudaError_t fill(void* to, int value, std::size_t bytes, cudaStream_t stream, CompletionRef* done) {
  const Place place = place_of(to, bytes);
  if (place == Place::broken) return fail(cudaErrorInvalidValue, "a memset extends beyond its allocation");
  if (place == Place::pageable) return fail(cudaErrorInvalidValue, "a memset of pageable memory");
  const double ns = static_cast<double>(bytes) / memory_bytes_per_ns(static_cast<double>(bytes));
  return submit(
      stream, "memset",
      [=](Device& device, double start, double overhead) {
        std::memset(to, value, bytes);
        const double end = start + (overhead + ns) * device.noise();
        device.was_busy(start, end, 0.1);
        return end;
      },
      done);
}

}  // namespace
}  // namespace gpu_model::runtime

using namespace gpu_model::runtime;

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  if (bytes == 0) return cudaSuccess;
  CompletionRef done;
  GPUMODEL_CHECK(copy(to, from, bytes, kind, stream, &done));
  return wait_if_blocking(done);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  const DeviceVariable to = find_variable(symbol);
  if (!to.address) return fail(cudaErrorInvalidSymbol, "cudaMemcpyToSymbolAsync to what is no variable of the device");
  if (offset > to.bytes || bytes > to.bytes - offset) {
    return fail(cudaErrorInvalidValue, "cudaMemcpyToSymbolAsync beyond the end of the variable");
  }
  const Place source = place_of(from, bytes);
  if (kind != cudaMemcpyDeviceToDevice || source != Place::device) {
    return fail(cudaErrorInvalidValue, "cudaMemcpyToSymbolAsync: only copies from device memory are modelled");
  }
  const double ns = copy_ns(Place::device, source, static_cast<double>(bytes));
  CompletionRef done;
  GPUMODEL_CHECK(submit(
      stream, "copy to a variable",
      [=](Device& device, double start, double overhead) {
        std::memmove(to.address + offset, from, bytes);
        const double end = start + (overhead + ns) * device.noise();
        device.was_busy(start, end, 0);
        return end;
      },
      &done));
  return wait_if_blocking(done);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  GPUMODEL_CHECK(enter());
  if (bytes == 0) return cudaSuccess;
  CompletionRef done;
  GPUMODEL_CHECK(copy(to, from, bytes, kind, nullptr, &done));
  done->wait();  // the legacy stream is never captured
  return enter();
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  if (!exists(to_device) || !exists(from_device)) return fail(cudaErrorInvalidDevice);
  if (bytes == 0) return cudaSuccess;
  int to_owner = -1, from_owner = -1;
  place_of(to, bytes, &to_owner);
  place_of(from, bytes, &from_owner);
  if (to_owner != to_device || from_owner != from_device) {
    return fail(cudaErrorInvalidValue, "cudaMemcpyPeerAsync of memory that is not the named device's");
  }
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  if (bytes == 0) return cudaSuccess;
  CompletionRef done;
  GPUMODEL_CHECK(fill(to, value, bytes, stream, &done));
  return wait_if_blocking(done);
}
#if CUDART_VERSION >= 13000  // older toolkits lack it, or have it with another list of arguments
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* bytes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* firsts, size_t attribute_count,
                                 cudaStream_t stream) {
  GPUMODEL_CHECK(enter());
  if (!to || !from || !bytes || count == 0) return fail(cudaErrorInvalidValue);
  if (!stream || stream == cudaStreamLegacy) return fail(cudaErrorInvalidValue, "a batch of copies in the legacy stream");
  if (!are_valid(count, attributes, firsts, attribute_count))
    return fail(cudaErrorInvalidValue, "attributes of a batch of copies");
  for (std::size_t i = 0; i < count; ++i) GPUMODEL_CHECK(cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDefault, stream));
  return cudaSuccess;
}
#endif
cudaError_t cudaMemset(void* to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }

}  // extern "C"
