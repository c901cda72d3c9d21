// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/google_benchmark.hpp"

#include <benchmark/benchmark.h>

#include <memory>
#include <ostream>

namespace roofmark {

namespace {

std::unique_ptr<benchmark::BenchmarkReporter> reporter(const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
  if (format == "console") return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_Tabular);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
}

}  // namespace

void write_google_benchmark(std::ostream& out, const std::string& format, const std::vector<Record>& records) {
  using Run = benchmark::BenchmarkReporter::Run;
  std::vector<Run> runs;
  for (const Record& record : records) {
    if (record.status != Status::ok) continue;
    const Measurement& measurement = *record.measurement;
    Run run;
    run.run_name.function_name = record.name();
    run.iterations = static_cast<benchmark::IterationCount>(measurement.samples.size()) * measurement.launches_per_sample;
    run.real_accumulated_time = measurement.summary.median * static_cast<double>(run.iterations);
    for (const Sample& sample : measurement.samples) {
      run.cpu_accumulated_time += sample.host_seconds * measurement.launches_per_sample;
    }
    run.repetitions = run.threads = 1;
    run.repetition_index = 0;  // no default
    run.time_unit = benchmark::kMicrosecond;
    runs.push_back(std::move(run));
  }
  const auto writer = reporter(format);
  writer->SetOutputStream(&out);
  writer->SetErrorStream(&out);
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = 0;  // its constructor leaves it undefined
  for (const Run& run : runs) context.name_field_width = std::max(context.name_field_width, run.benchmark_name().size());
  writer->ReportContext(context);
  writer->ReportRuns(runs);
  writer->Finalize();
}

}  // namespace roofmark
