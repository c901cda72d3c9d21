// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/program/commands.hpp"
#include "bench/program/selected_device.hpp"
#include "bench/program/usage_error.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/network_health.hpp"
#include "harness/judge/theory.hpp"
#include "harness/machine/host.hpp"
#include "harness/machine/libraries.hpp"
#include "harness/present/cells.hpp"
#include "harness/present/device_text.hpp"
#include "harness/present/grid.hpp"
#include "harness/present/tables.hpp"
#include "harness/result/device_json.hpp"
#include "harness/result/facts_json.hpp"
#include "harness/result/network_json.hpp"
#include "harness/result/run_json.hpp"
#include "harness/team/host_network.hpp"
#include "kernels/attention.hpp"
#include "kernels/base/check.hpp"
#include "kernels/collectives.hpp"

namespace roofmark {

namespace {

void print_pairs(const std::string& title, const std::vector<std::pair<std::string, std::string>>& pairs,
                 const TerminalStyle& style) {
  if (!pairs.empty()) fmt::print("{}\n{}\n", title, pairs_text(pairs, style));
}

/// The libraries that a run on this device may use, loaded; those that cannot be have the reason in place of a version and a
/// path.
std::vector<Library> libraries_of(const DeviceInfo& info) {
  std::vector<Library> libraries = loaded_libraries();
  const auto refuse = [&libraries](const char* name, const std::string& reason) {
    std::erase_if(libraries, [name](const Library& library) { return library.name == name; });
    libraries.push_back({name, "", "", reason});
  };
  if (info.backend == Backend::cuda) {
    if (&cuda::attention_cudnn) {
      const std::string reason = cuda::attention_cudnn.unsupported(info.compute_capability);
      if (!reason.empty()) refuse("cuDNN", reason);
    }
    if (&cuda::nccl) {
      try {
        cuda::nccl.version();
      } catch (const Unsupported& error) {
        refuse("NCCL", error.what());
      }
    }
  }
  return libraries;
}

std::string library_text(const Library& library) {
  if (!library.unsupported.empty()) return library.unsupported;
  return library.version.empty() ? library.path : library.version + ", " + library.path;
}

/// The program's origin, and the toolkit that compiled its kernels.
std::vector<std::pair<std::string, std::string>> build_facts(const Build& build) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"roofmark", fmt::format("{}, commit {}{}", build.version, build.commit, build.dirty ? " with local changes" : "")},
      {"compiler", fmt::format("{}, {}", build.compiler, build.build_type)}};
  if (build.cuda_toolkit.empty()) {
    facts.emplace_back("CUDA toolkit", "none: CPU only");
    return facts;
  }
  facts.emplace_back("CUDA toolkit", fmt::format("{}, {}", build.cuda_toolkit, build.cuda_compiler));
  facts.emplace_back("GPU architectures", build.cuda_architectures);
  return facts;
}

}  // namespace

int info(const std::string& device, bool json) {
  std::string note;
  const auto opened = open_selected(device, note);
  if (!note.empty()) say("roofmark", note);
  const DeviceInfo& info = opened->info();
  std::string sku;
  const Roofline roofline = theoretical_roofline(info, &sku);
  const bool known = info.backend == Backend::cpu || !sku.empty();
  const Host host = describe_host();
  const std::map<std::string, std::string> environment = rate_environment();
  const Build build = describe_build();
  // Asks the libraries, which may load them.
  const std::vector<Library> libraries = libraries_of(info);
  const HostNetwork network = describe_network();
  std::vector<Circumstance> around = health(info, host);
  if (auto row = network_health(network)) around.push_back(*std::move(row));
  if (json) {
    Json conditions = Json::array();
    for (const Circumstance& one : around) conditions.push_back(to_json(one));
    const Json all = {{"device", to_json(info, known)}, {"ceilings", to_json(roofline)}, {"health", conditions},
                      {"host", to_json(host)},          {"build", to_json(build)},       {"libraries", to_json(libraries)},
                      {"environment", environment},     {"network", to_json(network)}};
    fmt::print("{}\n", all.dump(1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  const TerminalStyle style = terminal_style(stdout);
  std::vector<std::pair<std::string, std::string>> circumstances, loaded, variables;
  for (const Circumstance& one : around) {
    circumstances.emplace_back(one.what, one.advice.empty() ? one.state : one.state + ": " + one.advice);
  }
  for (const Library& library : libraries) loaded.emplace_back(library.name, library_text(library));
  variables.assign(environment.begin(), environment.end());
  print_pairs("device", device_in_words(info, known), style);
  print_pairs("health of the environment", circumstances, style);
  print_pairs("other attributes", attributes_in_words(info), style);
  print_pairs("this program", build_facts(build), style);
  print_pairs("libraries loaded", loaded, style);
  print_pairs("environment variables that affect rates", variables, style);
  if (roofline.ceilings().empty()) {
    fmt::print("{}\n", wrapped("This device has no known theoretical ceilings; `roofmark run` measures its ceilings.",
                               static_cast<std::size_t>(style.columns)));
    return kOk;
  }
  fmt::print("{}\n", ceilings_table(roofline, style));
  std::vector<std::pair<std::string, std::string>> sources;
  for (const Ceiling& ceiling : roofline.ceilings()) {
    if (!ceiling.theoretical_source.empty()) sources.emplace_back(ceiling.resource.id, ceiling.theoretical_source);
  }
  print_pairs("sources of the theoretical ceilings", sources, style);
  return kOk;
}

}  // namespace roofmark
