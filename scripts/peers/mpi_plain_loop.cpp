// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0

// Times MPI collectives with roofmark's loop and with a plain one, in alternating blocks, on the same arrays of the same ranks,
// for scripts/peers/compare_mpi. Two programs would differ by more than their loops: each start places the arrays elsewhere,
// and the speed of a machine may change between two starts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/families/collectives.hpp"
#include "harness/machine/host.hpp"
#include "harness/measure/runner.hpp"
#include "harness/model/statistics.hpp"
#include "harness/team/json.hpp"
#include "kernels/base/check.hpp"
#include "tests/mpi/one_host.hpp"

namespace roofmark {
namespace {

/// A communicator that passes every call on, and remembers the last one.
class Overheard final : public Communicator {
 public:
  Overheard(std::shared_ptr<Communicator> inner, CollectiveCall& last) : inner_(std::move(inner)), last_(last) {}
  int size() const override { return inner_->size(); }
  int rank() const override { return inner_->rank(); }
  bool supports(Collective op, DataType type, Reduction reduction) const override {
    return inner_->supports(op, type, reduction);
  }
  std::size_t most_elements() const override { return inner_->most_elements(); }
  bool out_of_place(Collective op) const override { return inner_->out_of_place(op); }
  int in_place_offset(Collective op) const override { return inner_->in_place_offset(op); }
  void enqueue(const CollectiveCall& call, Stream stream) override {
    last_ = call;
    inner_->enqueue(call, stream);
  }
  void enqueue_beside(const CollectiveCall& call, Stream stream, const std::function<void()>& work) override {
    inner_->enqueue_beside(call, stream, work);
  }
  std::unique_ptr<void, std::function<void(void*)>> allocate(std::size_t bytes, Buffer buffer) override {
    return inner_->allocate(bytes, buffer);
  }
  std::vector<std::pair<std::string, std::string>> notes() const override { return inner_->notes(); }
  std::string library() const override { return inner_->library(); }

 private:
  std::shared_ptr<Communicator> inner_;
  CollectiveCall& last_;
};

/// The call as a program would write it: fp32, sum, all ranks of the world, root 0.
void call_mpi(const CollectiveCall& call, int rank, int size) {
  const int n = static_cast<int>(call.chunk), next = (rank + 1) % size, before = (rank + size - 1) % size;
  const MPI_Comm world = MPI_COMM_WORLD;
  switch (call.op) {
    case Collective::all_reduce:
      MPI_Allreduce(call.in, call.out, n, MPI_FLOAT, MPI_SUM, world);
      break;
    case Collective::all_gather:
      MPI_Allgather(call.in, n, MPI_FLOAT, call.out, n, MPI_FLOAT, world);
      break;
    case Collective::reduce_scatter:
      MPI_Reduce_scatter_block(call.in, call.out, n, MPI_FLOAT, MPI_SUM, world);
      break;
    case Collective::broadcast:
      MPI_Bcast(call.out, n, MPI_FLOAT, 0, world);
      break;
    case Collective::reduce:
      MPI_Reduce(call.in, call.out, n, MPI_FLOAT, MPI_SUM, 0, world);
      break;
    case Collective::all_to_all:
      MPI_Alltoall(call.in, n, MPI_FLOAT, call.out, n, MPI_FLOAT, world);
      break;
    case Collective::gather:
      MPI_Gather(call.in, n, MPI_FLOAT, call.out, n, MPI_FLOAT, 0, world);
      break;
    case Collective::scatter:
      MPI_Scatter(call.in, n, MPI_FLOAT, call.out, n, MPI_FLOAT, 0, world);
      break;
    case Collective::send_recv:
      MPI_Sendrecv(call.in, n, MPI_FLOAT, next, 0, call.out, n, MPI_FLOAT, before, 0, world, MPI_STATUS_IGNORE);
      break;
    case Collective::ping_pong:
      throw Unsupported("MPI has no collective named ping_pong");
  }
}

/// This rank's seconds an iteration, by block; kept while a block is being timed.
struct Blocks {
  std::vector<std::vector<double>> seconds;
  bool timing = false;
};

/// A case whose launch is a stretch of the loop of the OSU micro-benchmarks: each iteration is timed alone, on every rank, and
/// followed by a barrier that is not. It uses the arrays of the other case's last call.
class PlainLoop final : public Prepared {
 public:
  PlainLoop(const CollectiveCall& call, const Team& team, Blocks& blocks)
      : call_(call), rank_(team.rank()), size_(team.size()), blocks_(blocks) {}

  void launch(Stream, int) override {
    for (int i = 0; i < kIterations; ++i) {
      const double begin = MPI_Wtime();
      call_mpi(call_, rank_, size_);
      const double end = MPI_Wtime();
      if (blocks_.timing) blocks_.seconds.back().push_back(end - begin);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  Verification verify(int) override { return Verification::nothing("the other case verifies these arrays"); }

  static constexpr int kIterations = 8;

 private:
  const CollectiveCall& call_;
  int rank_, size_;
  Blocks& blocks_;
};

/// Seconds of the slowest rank, the median of each block.
struct Times {
  std::vector<double> roofmark, plain;
};

Times measure(Device& device, Team& team, const Case& listed, const CollectiveCall& last, const Effort& effort) {
  Settings settings;
  settings.effort = effort;
  Runner runner(device, team, settings);
  Blocks blocks;
  Case loop = listed;
  loop.operation = "plain_loop";
  loop.slot_bytes = 1;
  loop.protocol.launches = 1;
  loop.prepare = [&](const Setup&) { return std::make_unique<PlainLoop>(last, team, blocks); };
  runner.on_stage([&](const std::string& name, std::string_view stage) {
    blocks.timing = name == loop.name() && stage == "timing";
    if (blocks.timing) blocks.seconds.emplace_back();
  });
  const std::vector<Record> records = runner.run({{listed, loop}, {}}, 1);
  for (const Record& record : records) {
    if (record.status != Status::ok) throw TeamError(record.name() + ": " + record.reason);
  }
  Times times;
  for (std::size_t block = 0; block < blocks.seconds.size(); ++block) {
    std::vector<double> samples, iterations = team.max(blocks.seconds[block]);
    for (const Sample& sample : records.front().measurement->samples) {
      if (sample.block == static_cast<int>(block)) samples.push_back(sample.seconds);
    }
    // Where the time allows one of them fewer blocks.
    if (samples.empty()) break;
    // Each block begins with a batch that does not count.
    iterations.erase(iterations.begin(), iterations.begin() + PlainLoop::kIterations);
    times.roofmark.push_back(median(samples));
    times.plain.push_back(median(iterations));
  }
  return times;
}

struct Options {
  std::string collective;
  std::size_t least = 8, most = std::size_t{8} << 20;
  int blocks = 40;
  double max_seconds = 3;
};

/// Prints a line a size: JSON.
void measure_all(MpiTeam& team, const Options& options) {
  const std::unique_ptr<Device> device = open_device("cpu");
  CollectiveCall last;
  Fabric fabric = one_host(team, {DataType::fp32});
  fabric.split = [split = fabric.split, &last](const std::vector<int>& colours) -> std::shared_ptr<Communicator> {
    std::shared_ptr<Communicator> inner = split(colours);
    return inner ? std::make_shared<Overheard>(std::move(inner), last) : nullptr;
  };
  Effort effort;
  effort.max_seconds = options.max_seconds;
  effort.blocks = options.blocks;
  effort.gap_seconds = 0;
  effort.warm_up_seconds = 0.5;
  // As many samples as the time allows.
  effort.interval_half_width = 1e-9;
  effort.max_samples = 1 << 24;
  for (const Group& group : collectives::list({device->info(), SuiteName::baseline, {}, 0.5, &fabric})) {
    for (const Case& c : group.cases) {
      const std::string_view place = options.collective == name(Collective::broadcast) ? "in" : "out";
      const Message& message = *c.message;
      if (c.family != options.collective || message.ranks != team.size() || message.place != place) continue;
      if (message.bytes < options.least || message.bytes > options.most) continue;
      const Times times = measure(*device, team, c, last, effort);
      if (team.rank() != 0) continue;
      const Json line = {{"name", c.name()},       {"ranks", team.size()},       {"place", place},
                         {"bytes", message.bytes}, {"roofmark", times.roofmark}, {"plain", times.plain}};
      std::printf("%s\n", line.dump().c_str());
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace roofmark

int main(int argc, char** argv) {
  using namespace roofmark;
  MpiSession mpi(&argc, &argv);
  MpiTeam team(nullptr, [] {});
  Options options;
  CLI::App app{
      "Time an MPI collective with roofmark's loop and a plain one, in alternating blocks; print one JSON line per size"};
  app.add_option("collective", options.collective, "all_reduce, broadcast, ...")->required();
  app.add_option("--least", options.least, "minimum size, in bytes as roofmark counts them")->capture_default_str();
  app.add_option("--most", options.most, "maximum size, in bytes")->capture_default_str();
  app.add_option("--blocks", options.blocks, "blocks per loop and size")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--max-seconds", options.max_seconds, "timing budget per loop and size, in seconds")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
    measure_all(team, options);
  } catch (const CLI::ParseError& error) {
    return team.rank() == 0 ? app.exit(error) : error.get_exit_code();
  } catch (const TeamError& error) {
    if (team.rank() == 0) std::fprintf(stderr, "mpi_plain_loop: %s\n", error.what());
    return 3;
  }
  return 0;
}
