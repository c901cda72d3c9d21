// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/cuda/nvml_types.hpp"
#include "harness/device/gpu_facts.hpp"
#include "harness/device/peer_path.hpp"
#include "harness/machine/patience.hpp"

namespace roofmark::cuda {

/// The library that comes with the driver, loaded at run time: the toolkit need not have its header, and an older driver
/// lacks some of its functions. Every query may fail.
class Nvml {
 public:
  /// The address of a function, or null.
  using Resolve = std::function<void*(const char* symbol)>;

  /// Initialises the library that `resolve` finds its functions in.
  explicit Nvml(Resolve resolve);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  /// The driver's, loaded once; knows no function where it cannot be loaded.
  static const Nvml& driver();

  /// Why it tells nothing of any GPU; empty where it does.
  const std::string& why_not() const { return why_not_; }
  /// Zeros if it is not known.
  DriverVersion driver_version() const;
  /// A call did not return in time: no more is asked.
  bool is_hung() const { return hung_; }
  void give_up() const { hung_ = true; }

  /// Calls a function of NVML, which returns 0 for success; false when it fails or is not there. The arguments' types
  /// are those of NVML's declaration; its enumerations are ints.
  template <class... Arguments>
  bool call(const char* symbol, Arguments... arguments) const {
    return status(symbol, arguments...) == 0;
  }
  /// The status, or nothing when the function is not there.
  template <class... Arguments>
  std::optional<int> status(const char* symbol, Arguments... arguments) const {
    auto* function = reinterpret_cast<int (*)(Arguments...)>(usable_ ? resolve_(symbol) : nullptr);
    if (!function) return std::nullopt;
    return function(arguments...);
  }

 private:
  std::string error_text(int status) const;

  Resolve resolve_;
  std::string why_not_;
  std::atomic<bool> usable_ = true;
  mutable std::atomic<bool> hung_ = false;
};

/// What `ask` finds out by NVML, in a thread of its own; nothing where the driver hangs, and from then on nothing at once.
/// `ask` must own what it uses.
template <class Answer>
std::optional<Answer> ask_patiently(const Nvml& nvml, std::function<Answer()> ask, double patience_seconds = kPatienceSeconds) {
  if (nvml.is_hung()) return std::nullopt;
  std::optional<Answer> answer = within_patience(std::move(ask), patience_seconds);
  if (!answer) nvml.give_up();
  return answer;
}

/// The health that the driver states for the NVLink fabric of a GPU, where that has one.
FabricHealth fabric_health(const FabricInfo& info);
/// Of NVLinks, those that are up.
unsigned count_up(const std::map<unsigned, bool>& links);
/// What NVML says of two GPUs, and whether they have access to each other's memory: if CUDA offers it both ways and the NVLink
/// fabric of both is ready, since copies over one that is not may never end.
PeerPath with_access(PeerPath by_nvml, bool fabric_is_ready, bool cuda_offers_it);

/// One GPU as NVML sees it, or one MIG instance of it.
class NvmlDevice {
 public:
  /// One that answers nothing.
  explicit NvmlDevice(const Nvml& nvml) : nvml_(&nvml) {}
  /// The device of a CUDA UUID ("GPU-...", which for a MIG instance is "MIG-..." in NVML), else of a PCI bus id: NVML's order
  /// of devices is not CUDA's. A device that is not found answers nothing.
  NvmlDevice(const Nvml& nvml, const std::string& uuid, const std::string& pci_bus_id);

  /// The highest SM clock that the card may boost to.
  std::optional<double> max_sm_clock_hz() const;
  /// Sets the facts that NVML reports, except processes (below).
  void describe(GpuFacts& facts) const;
  /// The other compute processes on the device, or on the MIG instance; the MPS server is none. Absent if NVML does not report
  /// them, or reports none to a process that cannot see those of other containers (`root`: "/", or a copy in tests). In a
  /// container this process may be listed under an unknown pid: call before using the device.
  std::optional<std::vector<ForeignProcess>> foreign_processes(const std::filesystem::path& root = "/") const;

  /// Calls a function whose first argument is the device; false as Nvml::call. A MIG instance is asked first, and its GPU where
  /// the instance has no answer of its own.
  template <class... Arguments>
  bool call(const char* symbol, Arguments... arguments) const {
    return (instance_ && nvml_->call(symbol, instance_, arguments...)) || (gpu_ && nvml_->call(symbol, gpu_, arguments...));
  }
  /// Fills the fields in one call; all are those of the GPU. A field that could not be read has a status other than 0.
  void read_fields(std::span<FieldValue> fields) const;
  /// The UUID of a MIG instance ("MIG-..."); empty if the device is a whole GPU.
  const std::string& mig_uuid() const { return mig_uuid_; }
  /// Absent if the driver does not know the function.
  std::optional<FabricInfo> fabric() const;
  std::optional<unsigned> number(const char* symbol) const;
  /// In MHz.
  std::optional<unsigned> clock(const char* symbol, int domain) const;
  /// What the driver asks for so that the GPU recovers from a fault, by its number; 0: nothing.
  std::optional<int> recovery_action() const;
  std::optional<std::string> confidential_computing() const;
  /// Whether the checksums of the InfoROM are wrong: the board's own memory, with its serial number, settings and the record of
  /// faulty rows. Absent where the GPU has none.
  std::optional<bool> inforom_is_corrupted() const;
  /// Of each NVLink that answers, whether it is up.
  std::map<unsigned, bool> nvlinks() const;
  /// False while the fabric of its NVLinks is being set up, or where that failed.
  bool fabric_is_ready() const;
  /// The connection to another GPU; `refusal` from nvmlDeviceGetP2PStatus.
  PeerPath path_to(const NvmlDevice& peer) const;
  /// The PCIe link's rate in one direction: present and maximum; absent if NVML does not report it. A virtual machine does not
  /// see how many lanes its host's slot has: its maximum is that of the lanes in use.
  std::optional<double> pcie_bytes_per_second_now() const;
  std::optional<double> pcie_bytes_per_second_at_most(bool in_virtual_machine) const;
  const Nvml& nvml() const { return *nvml_; }
  const std::string& pci_bus_id() const { return pci_bus_id_; }

 private:
  std::optional<std::string> text(const char* symbol) const;
  /// All compute processes but this one, the clients of MPS included.
  std::optional<std::vector<ForeignProcess>> other_processes() const;
  std::optional<int> p2p_status(const NvmlDevice& peer, int capability) const;
  /// As GpuFacts has them; `links`: nvlinks().
  std::vector<std::string> nvlink_peers(const std::map<unsigned, bool>& links) const;
  unsigned direct_nvlinks_to(const NvmlDevice& peer, const std::map<unsigned, bool>& links) const;
  std::optional<double> pcie_bytes_per_second(const char* generation, const char* width) const;
  std::optional<int> whole(const char* symbol) const;
  void describe_c2c(GpuFacts& facts) const;
  LinkRate nvlink_rate(int links) const;
  /// "CLUSTER_UUID/CLIQUE"; empty where it shares an NVLink domain with no other host.
  std::string nvlink_domain() const;

  const Nvml* nvml_;
  std::string pci_bus_id_, mig_uuid_;
  void* gpu_ = nullptr;
  void* instance_ = nullptr;  ///< the MIG instance, if the device is one
};

/// The names of the reasons in NVML's mask that lower the clock; being idle does not count.
std::vector<std::string> throttle_reasons(std::uint64_t mask);

}  // namespace roofmark::cuda
