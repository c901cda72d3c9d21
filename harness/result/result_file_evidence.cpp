// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "harness/model/printable.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/words.hpp"

namespace roofmark {

namespace {

namespace fs = std::filesystem;

std::optional<double> seconds_since_1970(const std::string& utc) {
  std::tm time{};
  std::istringstream text(utc);
  text >> std::get_time(&time, "%Y-%m-%dT%H:%M:%SZ");
  if (text.fail() || text.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return static_cast<double>(::timegm(&time));
}

/// Whether a transfer between two GPUs was tried, which shows whether they have access to each other's memory.
bool between_gpus(const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(),
                     [](const Record& record) { return record.transfer && record.transfer->path; });
}

/// A port that is up, without which there is nothing to compare with.
bool has_rdma(const std::vector<Nic>& nics) {
  return std::any_of(nics.begin(), nics.end(), [](const Nic& nic) { return nic.is_rdma(); });
}

}  // namespace

/// Whether no record has the throttle reasons of the rank's device.
bool tells_no_reasons(const Run& run, std::size_t rank) {
  return std::none_of(run.records.begin(), run.records.end(), [&](const Record& record) {
    if (!record.measurement || rank >= record.measurement->ranks.size()) return false;
    const auto& times = record.measurement->ranks[rank];
    return times && times->throttled_share;
  });
}

namespace {

/// The driver's SM clock during a record, on the rank's device.
std::optional<double> clock_of(const Measurement& measured, std::size_t rank) {
  if (rank < measured.ranks.size() && measured.ranks[rank]) return measured.ranks[rank]->sm_clock_hz;
  return measured.ranks.empty() && measured.telemetry ? measured.telemetry->sm_clock_hz : std::nullopt;
}

/// Of a GPU. What holds its clock is what its clock never exceeds.
SettingValues settings_of(const Run& run, std::size_t rank) {
  const GpuFacts& gpu = run.header.facts.device.gpu;
  const std::vector<RankInfo>& ranks = run.header.ranks;
  const bool alone = ranks.empty();
  SettingValues settings;
  const auto tell = [&](Setting setting, const auto& value) {
    if (value) settings[setting] = static_cast<double>(*value);
  };
  tell(Setting::power_limit, alone ? gpu.power_limit_watts : ranks[rank].power_limit_watts);
  tell(Setting::ecc, alone ? gpu.ecc : ranks[rank].ecc);
  tell(Setting::mig, alone ? is_mig(gpu) : ranks[rank].mig);
  tell(Setting::persistence_mode, alone ? gpu.persistence_mode : ranks[rank].persistence_mode);
  std::optional<double> highest;
  for (const Record& record : run.records) {
    if (record.measurement) highest = std::max(highest, clock_of(*record.measurement, rank));
  }
  if (highest) settings[Setting::clock] = *highest / 1e6;
  return settings;
}

std::string hash_of_samples(const std::vector<Record>& records) {
  std::string numbers;
  const auto add = [&](double number) { numbers.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  for (const Record& record : records) {
    if (!record.measurement) continue;
    for (const Sample& sample : record.measurement->samples) {
      add(sample.start_seconds);
      add(sample.seconds);
    }
  }
  return numbers.empty() ? std::string() : sha256_of(numbers);
}

}  // namespace

Evidence take_evidence(ResultFile& file, double now) {
  const RunFacts& facts = file.run.header.facts;
  const bool is_gpu = facts.device.backend == Backend::cuda;
  Evidence evidence;
  evidence.file = file.path.string();
  evidence.suite = facts.suite;
  evidence.data = name(facts.data);
  evidence.budget_seconds = facts.budget_seconds;
  evidence.weaker = file.run.header.scope.weaker;
  // `run --device all` measures each GPU twice: alone, and together with the others.
  evidence.together =
      !file.run.header.ranks.empty() || fs::canonical(file.path).parent_path().parent_path().filename() == kTogether;
  evidence.without_record = without_record(file.run.header.scope, file.run.records);
  if (file.run.footer) {
    if (const auto finished = seconds_since_1970(file.run.footer->finished_utc)) evidence.age_seconds = now - *finished;
    evidence.complete = file.run.footer->complete && !file.run.footer->interrupted && evidence.without_record == 0;
    evidence.counters = std::move(file.run.footer->counters);
  } else {
    evidence.counters = std::move(file.run.seen.counters);
  }
  for (const RankInfo& rank : file.run.header.ranks) {
    const std::string id = rank.uuid.empty() ? fmt::format("{}, rank {}", rank.device_id, rank.rank) : rank.device_id;
    evidence.devices.push_back(
        {rank.uuid, rank.host, id, rank.device_name, {rank.versions.begin(), rank.versions.end()}, {}, rank.pci_bus_id});
  }
  if (evidence.devices.empty()) {
    evidence.devices.push_back(
        {facts.device.gpu.uuid, facts.host.name, facts.device.id, facts.device.name, {}, {}, facts.device.gpu.pci_bus_id});
  }
  for (DeliveredDevice& device : evidence.devices) {
    if (device.uuid.starts_with("MIG-")) device.slot.clear();
    for (std::string* text : {&device.uuid, &device.node, &device.id, &device.name, &device.slot}) *text = printable(*text);
  }
  if (is_gpu && !facts.device.gpu.foreign_processes) evidence.unseen.insert(FindingKind::foreign_process);
  for (std::size_t rank = 0; rank < evidence.devices.size(); ++rank) {
    std::set<FindingKind>& unseen = evidence.devices[rank].unseen;
    unseen = uncounted(evidence.counters, static_cast<int>(rank));
    const std::vector<RankInfo>& ranks = file.run.header.ranks;
    const bool read = ranks.empty() ? !facts.network.ports.empty() : ranks[rank].port_faults.has_value();
    if (!read || !has_rdma(ranks.empty() ? facts.network.nics : ranks[rank].nics)) unseen.insert(FindingKind::network_ports);
    for (const FindingType& type : kFindingTypes) {
      if (evidence.devices.size() > 1 && type.is_found_by(FoundBy::throttling | FoundBy::power) &&
          tells_no_reasons(file.run, rank)) {
        unseen.insert(type.kind);
      }
    }
    if (is_gpu) {
      evidence.devices[rank].settings = settings_of(file.run, rank);
      const GpuFacts& gpu = facts.device.gpu;
      evidence.devices[rank].lowers_memory_clock =
          gpu.application_memory_clock_hz && gpu.application_memory_clock_hz < gpu.application_memory_clock_default_hz;
    }
    // A CPU's other programs show in its load.
    if (!is_gpu) unseen.erase(FindingKind::foreign_process);
  }
  evidence.versions["roofmark"] = facts.build.version;
  for (const Library& library : facts.libraries) evidence.versions[library.name] = library.version;
  // In a file of several ranks they are those of rank 0 alone.
  if (evidence.devices.size() == 1) {
    const GpuFacts& gpu = facts.device.gpu;
    for (const auto& [name, version] : {std::pair("driver", gpu.driver_version), std::pair("vbios", gpu.vbios)}) {
      if (!version.empty()) evidence.versions[name] = version;
    }
  }
  evidence.samples_hash = hash_of_samples(file.run.records);
  for (Record& record : file.run.records) {
    if (!record.measurement) continue;
    // What is assigned {} keeps its memory.
    std::vector<Sample>().swap(record.measurement->samples);
    std::vector<Block>().swap(record.measurement->blocks);
  }
  evidence.records = std::move(file.run.records);
  evidence.analysis = std::move(file.conclusions.analysis);
  // Another run may show what this one had nothing to compare for.
  std::set<FindingKind> compared = std::move(file.conclusions.communication.compared);
  if (!file.conclusions.communication.tells_network) {
    evidence.analysis.unseen.insert(
        {FindingKind::rdma_unused, FindingKind::sockets, FindingKind::gpudirect_unused, FindingKind::no_gpudirect});
  }
  if (file.conclusions.transfers.compares_links) compared.insert(FindingKind::slow_link);
  for (const FindingType& type : kFindingTypes) {
    if (type.found_by == FoundBy::ranks && !compared.contains(type.kind)) evidence.analysis.unseen.insert(type.kind);
  }
  for (const Finding& finding : file.conclusions.all_findings()) {
    const Doubt doubt = type_of(finding.kind).doubt;
    if (doubt != Doubt::nothing && doubt != Doubt::device && doubt != Doubt::host) evidence.doubts.insert(finding.kind);
  }
  evidence.findings = std::move(file.conclusions.findings);
  for (Finding& finding : file.conclusions.communication.findings) evidence.findings.push_back(std::move(finding));
  if (evidence.devices.size() > 1) {
    // The blocks of a record are one rank's: they say nothing of the others' links.
    for (const FindingType& type : kFindingTypes) {
      if (!type.is_found_by(FoundBy::host_link)) continue;
      std::erase_if(evidence.findings,
                    [&](const Finding& finding) { return finding.kind == type.kind && !finding.case_name.empty(); });
      evidence.analysis.unseen.insert(type.kind);
    }
  }
  if (!between_gpus(evidence.records)) evidence.analysis.unseen.insert(FindingKind::peer_access);
  evidence.verdict = file.conclusions.verdict;
  file.run = {};
  file.conclusions = {};
  return evidence;
}

}  // namespace roofmark
