// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/transfer_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bench/families/transfer_links.hpp"
#include "bench/support/fabric.hpp"
#include "harness/model/units.hpp"

namespace roofmark::transfer {

std::string why_unreached(const Fabric* fabric) {
  return fabric ? "needs several GPUs in one process, but each process here has one" : kNeedsOtherGpus;
}

std::map<int, std::size_t> arrays_by_gpu(const Transfer& transfer) {
  std::map<int, std::size_t> arrays;
  for (const Flow& flow : transfer.flows) {
    for (const Endpoint& end : {flow.from, flow.to}) {
      if (end.kind == Endpoint::Kind::gpu) ++arrays[end.number];
    }
  }
  return arrays;
}

std::string why_unsupported(const DeviceInfo& device, const TransferKernels* kernels, const TransferPoint& point,
                            const Transfer& transfer, const Fabric* fabric) {
  const bool between = is_between_gpus(point.op);
  if ((between || point.gpu || point.all_gpus) && gpus_within_reach(fabric) < 2) return why_unreached(fabric);
  if (between && point.access) {
    for (const auto& [from, to] : transfer.flows) {
      if (std::string why = why_no_access(*fabric->local, from.number, to.number); !why.empty()) return why;
    }
  }
  if (between && !point.access && by_sm(point.by)) return "SMs reach another GPU's memory only with peer access";
  if (!kernels) return "this build has no transfers for the device";
  const bool migrates = point.op == TransferOp::managed_copy || point.memory == HostMemoryKind::managed;
  if (!between && !migrates && by_sm(point.by) && is_confidential(device.gpu)) return kNoSharedMemory;
  if (point.op == TransferOp::managed_copy && !device.managed_on_demand) {
    return "managed memory cannot exceed the device's: pages do not migrate while kernels run (concurrentManagedAccess is 0)";
  }
  if (point.huge_pages == true && !device.why_no_huge_pages.empty()) return device.why_no_huge_pages;
  if (point.memory == HostMemoryKind::write_combined && point.op != TransferOp::host_to_device) {
    return "the host reads write-combined memory too slowly to check every byte that arrives there";
  }
  if (point.by == TransferBy::batched && !kernels->batch)
    return "batched copies need CUDA toolkit 13 or newer; this build used an older one";
  return {};
}

Notes notes_of(const DeviceInfo& device, const TransferPoint& point, const Transfer& transfer, const Work& work,
               const RankInfo* unlike, const std::string& other_links, const Fabric* fabric) {
  const std::size_t flows = transfer.flows.size();
  if (point.op == TransferOp::managed_copy) {
    const auto bytes = static_cast<double>(transfer.bytes), memory = static_cast<double>(device.memory_bytes);
    return {
        {"bytes counted", fmt::format("the bytes copied ({}), once: the source's pages cross the link", format_bytes(bytes))},
        {"crosses the link too", "the destination's pages to the device, and the pages evicted from it"},
        {"managed memory", fmt::format("{}, {:.4g} times the device's {}; all of it is in host memory before a launch",
                                       format_bytes(2 * bytes), 2 * bytes / memory, format_bytes(memory))}};
  }
  Notes notes = {
      {"bytes counted",
       point.op == TransferOp::host_copy
           ? work.total(resource::host_dram) > 0
                 ? "each byte copied, once: it is read and written"
                 : "each byte copied, twice, as the ceiling of the cache counts: it is read and written"
       : point.op == TransferOp::both && flows == 2
           ? "each byte that crosses the link, once, per direction; `bytes` is one direction"
       : flows > 1
           ? fmt::format(
                 "each byte that crosses a link, once, per direction; `bytes` is one of {} copies; the busiest link counts",
                 flows)
       : transfer.staged ? "each byte copied, once per link: out of one GPU to host memory, and from there into the other"
                         : "each byte that crosses the link, once"}};
  if (point.by == TransferBy::batched) notes.emplace_back("copies per call", std::to_string(batch_count(point.bytes)));
  const bool host = point.op != TransferOp::host_copy && !is_between_gpus(point.op);
  if (host && !point.node && !device.near_node) {
    notes.emplace_back("near", "the kernel reports no NUMA node for this device: it places the memory");
  }
  const auto has_part = [](const Demand& demand) { return demand.part < 1; };
  const bool in_part = !work.phases.empty() && std::all_of(work.phases.front().begin(), work.phases.front().end(), has_part);
  const bool several_with_host = point.all_gpus || (transfer.staged && flows > 1);
  if (const std::string shared = several_with_host && fabric ? shared_links(*fabric) : ""; !shared.empty()) {
    notes.emplace_back("shared links", shared + ": together these GPUs get what one link to the host carries" +
                                           (in_part ? ", and the roof is that part of the ceilings" : ""));
  }
  if (const auto here = in_part ? fewest_nvlinks(transfer, *fabric) : std::nullopt) {
    notes.emplace_back("NVLinks", fmt::format("{} connect {}: the roof is that part of the ceilings, which are of all {} of {} "
                                              "that lead to GPUs",
                                              *here, transfer.path ? "these two" : "two of these GPUs",
                                              *nvlinks_to_others(*fabric, device), device.id));
  }
  const std::map<int, std::size_t> gpus = arrays_by_gpu(transfer);
  if (unlike) {
    notes.emplace_back(
        "roof", fmt::format("none: the ceilings belong to {} ({}), and {} ({}) is another model or has other links", device.id,
                            device.name, unlike->device_id, unlike->device_name));
  } else if (!other_links.empty()) {
    notes.emplace_back("roof", other_links);
  } else if (gpus.size() > 1 || (!gpus.empty() && gpus.begin()->first != cuda_ordinal(device))) {
    notes.emplace_back("roof", fmt::format("the ceilings of {}, for the links of every GPU of its model", device.id));
  }
  return notes;
}

}  // namespace roofmark::transfer
