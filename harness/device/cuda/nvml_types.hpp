// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

// What is used of nvml.h: its numbers and layouts are a stable interface, its fields from 250 on are not. Read in the copies of
// nvml.h of CUDA 11.3 to 13.3 (github.com/NVIDIA/go-nvml) and of the drivers 535.43 to 610.43
// (github.com/NVIDIA/nvidia-settings).
namespace roofmark::cuda {

/// Branch and release: {580, 95} for "580.95.05".
using DriverVersion = std::pair<int, int>;

// nvmlReturn_t
inline constexpr int kSuccess = 0;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kTimeout = 10;
inline constexpr int kCorruptedInforom = 14;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kUnknownError = 999;

// nvmlClockType_t
inline constexpr int kGraphicsClock = 0;
inline constexpr int kSmClock = 1;
inline constexpr int kMemoryClock = 2;

inline constexpr int kGpuSensor = 0;                // nvmlTemperatureSensors_t
inline constexpr int kTemperatureSlowdown = 1;      // nvmlTemperatureThresholds_t
inline constexpr int kTemperatureGpuMax = 3;        // nvmlTemperatureThresholds_t
inline constexpr unsigned kNvlinkMaxLinks = 36;     // NVML_NVLINK_MAX_LINKS
inline constexpr int kNvlinkToGpu = 0;              // nvmlIntNvLinkDeviceType_t
inline constexpr unsigned char kFabricUnknown = 0;  // nvmlGpuFabricState_t: not supported
inline constexpr int kP2pRead = 0;                  // nvmlGpuP2PCapsIndex_t
inline constexpr int kP2pNvlink = 2;                // nvmlGpuP2PCapsIndex_t
inline constexpr unsigned char kFabricInProgress = 2;
inline constexpr unsigned char kFabricCompleted = 3;
inline constexpr unsigned long long kXidEvent = 8;  // nvmlEventTypeXidCriticalError

/// NVML_FI_DEV_*, without those of one driver alone.
namespace field {
inline constexpr unsigned kRetiredCorrected = 29;
inline constexpr unsigned kRetiredUncorrected = 30;
inline constexpr unsigned kPowerCapTime = 74;
inline constexpr unsigned kThermalTime = 75;
inline constexpr unsigned kSyncBoostTime = 76;
inline constexpr unsigned kMemoryTemperature = 82;
inline constexpr unsigned kNvlinkOut = 138;  ///< KiB
inline constexpr unsigned kNvlinkIn = 139;
inline constexpr unsigned kC2cLinks = 170;
inline constexpr unsigned kC2cStatus = 171;  ///< of a link: 1 is up
inline constexpr unsigned kC2cRate = 172;    ///< of a link that is up, in one direction: MB/s
inline constexpr unsigned kPowerInstant = 186;
inline constexpr unsigned kPcieOut = 197;  ///< bytes; "value can wrap" (nvml.h)
inline constexpr unsigned kPcieIn = 198;
// Of a link, from Blackwell on.
inline constexpr unsigned kNvlinkPacketErrors = 208;
inline constexpr unsigned kNvlinkRemoteErrors = 209;
inline constexpr unsigned kNvlinkHeaderErrors = 210;
inline constexpr unsigned kNvlinkIntegrityErrors = 211;
inline constexpr unsigned kNvlinkRecoveryFailures = 214;
inline constexpr unsigned kNvlinkRecoveries = 215;
inline constexpr unsigned kNvlinkEffectiveErrors = 219;
inline constexpr unsigned kNvlinkSymbolErrors = 221;
inline constexpr unsigned kRecoveryAction = 230;  ///< nvmlDeviceGpuRecoveryAction_t
/// Thermal, hardware thermal and power brake follow one another, from here on: 0 where this driver has none of them. In
/// nvml.h of release 580.82 the old numbers are power smoothing's again.
constexpr unsigned first_slowdown_time(const DriverVersion& driver) {
  constexpr DriverVersion kFirst{575, 0}, kRenumbered{580, 82};
  return driver < kFirst ? 0 : driver < kRenumbered ? 251 : 269;
}
inline constexpr unsigned kAllLinks = 0xFFFFFFFF;  ///< a scope
}  // namespace field

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0, latency = 0;
  int type = 0;  ///< nvmlValueType_t
  int status = -1;
  union {
    double fp64;
    int int32;
    unsigned uint32;
    unsigned long uint_long;
    unsigned long long uint64 = 0;
    long long int64;
    unsigned short uint16;
  } value;
};

/// nvmlUtilization_t
struct Utilization {
  unsigned gpu_percent = 0, memory_percent = 0;
};

/// nvmlViolationTime_t
struct ViolationTime {
  unsigned long long reference_microseconds = 0, nanoseconds = 0;
};

/// nvmlMarginTemperature_v1_t
struct MarginTemperature {
  unsigned version = sizeof(MarginTemperature) | 1u << 24;
  int celsius = 0;
};

/// nvmlRepairStatus_v1_t
struct RepairStatus {
  unsigned version = sizeof(RepairStatus) | 1u << 24;
  unsigned channel_pending = 0, tpc_pending = 0;
};

/// nvmlConfComputeSystemState_t
struct ConfidentialState {
  unsigned environment = 0, feature = 0, devtools_mode = 0;
};

/// nvmlSystemConfComputeSettings_v1_t
struct ConfidentialSettings {
  unsigned version = sizeof(ConfidentialSettings) | 1u << 24;
  ConfidentialState state;
  unsigned multi_gpu_mode = 0;
};
inline constexpr unsigned kProtectedPcie = 1;  ///< NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE

/// nvmlEventData_t
struct EventData {
  void* device = nullptr;
  unsigned long long type = 0, data = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

/// nvmlProcessInfo_v2_t
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance, compute_instance;
};

/// nvmlPciInfo_t
struct PciInfo {
  std::array<char, 16> bus_id_legacy{};
  unsigned domain = 0, bus = 0, device = 0, device_id = 0, subsystem_id = 0;
  std::array<char, 32> bus_id{};
};

/// nvmlGpuFabricInfo_v3_t, which is version 2 with the summary behind it.
struct FabricInfo {
  unsigned version = 0;
  std::array<unsigned char, 16> cluster_uuid{};
  int status = 0;
  unsigned clique = 0;
  unsigned char state = 0;
  unsigned health = 0;        ///< NVML_GPU_FABRIC_HEALTH_MASK_*
  unsigned char summary = 0;  ///< NVML_GPU_FABRIC_HEALTH_SUMMARY_*; 0: unknown
};
inline constexpr unsigned kFabricInfoV2 = 36 | 2u << 24;
inline constexpr unsigned kFabricInfoV3 = sizeof(FabricInfo) | 3u << 24;

}  // namespace roofmark::cuda
