// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/argmax.hpp"

#include <fmt/format.h>

#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/model_shapes.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/slots.hpp"

namespace roofmark::argmax {

namespace {

constexpr std::size_t kX = 0, kOut = 1;

SlotLayout layout_of(DataType type, std::int64_t rows, std::int64_t columns) {
  return SlotLayout({SlotArray::input(type, static_cast<std::size_t>(rows * columns), 0),
                     SlotArray::output(DataType::int32, static_cast<std::size_t>(rows))});
}

class PreparedArgmax final : public Prepared {
 public:
  PreparedArgmax(const Setup& setup, const ArgmaxKernels& kernels, DataType type, std::int64_t rows, std::int64_t columns)
      : device_(setup.device),
        kernels_(kernels),
        type_(type),
        rows_(rows),
        columns_(columns),
        slots_(setup, layout_of(type, rows, columns)) {}

  void launch(Stream stream, int slot) override {
    kernels_.launch(type_, slots_.at<std::int32_t>(slot, kOut), slots_.at(slot, kX), rows_, columns_, stream);
  }

  Verification verify(int slot) override {
    const auto reference = [&](std::int64_t first, std::int64_t count, double* expected, double* scale) {
      kernels_.reference(type_, slots_.at(slot, kX), first, count, columns_, expected, device_.stream());
      // Integers: any difference is an error.
      device_.fill(scale, DataType::fp64, static_cast<std::size_t>(count), {Distribution::zeros, 0, 0});
    };
    return check_outputs(device_, {{"indices", slots_.output(slot, kOut), 1, 0, reference}});
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kOut)}; }
  bool is_deterministic() const override { return true; }  // of equal maxima the first index counts

 private:
  Device& device_;
  const ArgmaxKernels& kernels_;
  DataType type_;
  std::int64_t rows_, columns_;
  Slots slots_;
};

Case argmax_case(const Listing& listing, DataType type, std::int64_t rows, std::int64_t columns) {
  const ArgmaxKernels* kernels = select(listing.device.backend, &cuda::argmax, &cpu::argmax);
  Case c = memory_case(listing.device, "argmax", "", type,
                       {{"rows", std::to_string(rows)}, {"columns", std::to_string(columns)}, {"impl", "own"}},
                       listing.cache.value_or(Cache::cold), layout_of(type, rows, columns));
  const bool reads =
      type == DataType::fp32 || (listing.device.backend == Backend::cuda && (type == DataType::fp16 || type == DataType::bf16));
  if (!reads) c.unsupported = fmt::format("no argmax of {} on the device", name(type));
  if (!kernels) c.unsupported = "this build has no argmax kernel for the device";
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedArgmax>(setup, *kernels, type, rows, columns);
  };
  return c;
}

void add(CaseList& list, DataType type, std::int64_t rows, std::int64_t columns) {
  list.add(argmax_case(list.listing(), type, rows, columns));
}

// Logits: one row per sequence.
constexpr std::int64_t kVocabulary = kLlama3_8b.vocabulary;

void list_contract(CaseList& list) {
  const std::vector<DataType> types =
      list.on_gpu() ? std::vector{DataType::bf16, DataType::fp16, DataType::fp32} : std::vector{DataType::fp32};
  for (const DataType type : types) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 7}, {67, 129}, {5, 1032}, {2, 4097}, {2, 8200}}) {
      add(list, type, rows, columns);
    }
  }
}

void list_cpu(CaseList& list) {
  add(list, DataType::fp32, 256, kVocabulary);
  if (list.listing().suite != SuiteName::full) return;
  for (std::int64_t rows : {1, 16, 64}) add(list, DataType::fp32, rows, kVocabulary);
}

void list_gpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  add(list, DataType::bf16, 1024, kVocabulary);
  if (suite == SuiteName::quick) return;
  add(list, DataType::fp32, 1024, kVocabulary);
  add(list, DataType::bf16, 1024, kVocabulary + 1);
  if (suite == SuiteName::baseline) return;
  for (std::int64_t rows : {1, 16, 64, 256, 4096}) add(list, DataType::bf16, rows, kVocabulary);
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  constexpr std::int64_t kLongestRow = std::int64_t{1} << 24;  // one thread checks a row
  return argmax_case(listing, asked.type(), asked.number("rows"), asked.number("columns", 1, kLongestRow));
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark::argmax
