// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/prepared_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "harness/device/elementwise_error.hpp"
#include "harness/model/units.hpp"
#include "kernels/base/check.hpp"
#include "kernels/collective_data.hpp"

namespace roofmark::collectives {

namespace {

/// A round of pairs needs no communicators of its own: that of all ranks carries it.
std::vector<int> communicating(const Fabric& fabric, const Point& point) {
  return point.op == Collective::ping_pong ? everyone(fabric) : point.among->colours;
}

class OneRank final : public PreparedCollective {
 public:
  /// `communicator` is of this rank's colour, or of all ranks for a round of pairs.
  OneRank(const Setup& setup, const Fabric& fabric, int rank_of_fabric, std::shared_ptr<Communicator> communicator,
          const Point& point)
      : device_(setup.device),
        fabric_(fabric),
        rank_of_fabric_(rank_of_fabric),
        kernels_(*data_kernels(setup.device.info().backend)),
        point_(point),
        chunk_(chunk_of(point)),
        seed_(setup.seed) {
    const auto own = static_cast<std::size_t>(rank_of_fabric);
    const std::vector<int>& colours = point.among->colours;
    if (colours[own] < 0) return;
    if (!communicator) throw DeviceError("this rank's communicator could not be created", false);
    if (const std::string reason = lacks(*communicator, point); !reason.empty()) throw Unsupported(reason);
    communicator_ = std::move(communicator);
    if (point.op == Collective::ping_pong) {
      for (std::size_t other = 0; other < colours.size(); ++other) {
        if (other != own && colours[other] == colours[own]) peer_ = static_cast<int>(other);
      }
    }
    const bool first = rank() == point.root;
    in_ = elements_in(point, size(), first);
    out_ = elements_out(point, size(), first);
    if (point.op == Collective::ping_pong && peer_ < rank_of_fabric) in_ = 0;
    SlotLayout layout = layout_of_rank();
    const std::size_t bytes = layout.bytes(setup.slots);
    Memory memory = point.buffer == Buffer::plain ? device_.allocate(bytes)
                                                  : device_.adopt(communicator_->allocate(bytes, point.buffer), bytes);
    slots_.emplace(setup, std::move(layout), setup.slots, std::move(memory));
    for (int slot = 0; slot < setup.slots && !point.in_place; ++slot) fill(slot);
  }

  bool takes_part() const override { return communicator_ != nullptr; }

  CollectiveCall call(int slot) const {
    CollectiveCall call{point_.op, point_.type, point_.reduction, point_.root,          peer_,
                        nullptr,   nullptr,     chunk_,           root_chunk_of(point_)};
    // NCCL decides on each rank by what it is given there whether copy engines do the call (NCCL_CTA_POLICY=ZERO).
    const bool both = point_.buffer != Buffer::plain;
    if (in_ > 0 || both) call.in = in(slot);
    if (out_ > 0 || both) call.out = out(slot);
    return call;
  }

  void launch(Stream stream, int slot) override {
    if (!communicator_) return;
    fabric_.step();
    communicator_->enqueue(call(slot), stream);
  }
  void launch_beside(Stream stream, int slot, const std::function<void()>& work) override {
    fabric_.step();
    communicator_->enqueue_beside(call(slot), stream, work);
  }

  // In place a launch overwrites its inputs. Out of place an earlier result must not pass for that of a launch that did
  // nothing.
  void reset(int slot) override {
    if (!communicator_) return;
    if (!point_.in_place) {
      if (out_ > 0) device_.poison(out(slot), out_bytes());
      return;
    }
    if (out_ > in_) device_.poison(slots_->at(slot, 0), slots_->layout()[0].bytes());
    fill(slot);
  }
  // To restore the inputs between samples would change what the caches hold for a program's next call. The numbers grow to
  // infinity, which takes no more time.
  bool accumulates() const override { return point_.in_place && reduces(point_.op); }

  Verification verify(int slot) override {
    if (!communicator_) return Verification::nothing("this rank does not take part");
    communicator_->check_health();
    if (out_ == 0) return Verification::nothing("only the root has a result");
    if (reduces(point_.op)) {
      const std::size_t first = point_.op == Collective::reduce_scatter ? static_cast<std::size_t>(rank()) * chunk_ : 0;
      return compare(slot, 0, chunk_, bound(), [&](double* expected, double* scale, std::size_t begin, std::size_t count) {
        kernels_.expect_reduced(point_.type, point_.reduction, expected, scale, count, data(), first + begin, device_.stream());
      });
    }
    Verification whole = Verification::within(0, 0, "elements, compared exactly");
    const std::size_t each = out_ > chunk_ ? out_ / static_cast<std::size_t>(size()) : out_;
    for (std::size_t i = 0; i < out_ / each; ++i) {
      const auto [from, first] = source(i);
      Verification part =
          compare(slot, i * each, each, 0,
                  [&, from = from, first = first](double* expected, double* scale, std::size_t begin, std::size_t count) {
                    kernels_.expect(point_.type, expected, count, data(), from, first + begin, device_.stream());
                    kernels_.expect(point_.type, scale, count, data(), from, first + begin, device_.stream());
                  });
      if (part.status == Verification::Status::passed) continue;
      part.wrong += whole.wrong;
      if (whole.status == Verification::Status::failed) part.detail = whole.detail;
      whole = part;
    }
    return whole;
  }

  std::vector<Output> outputs(int slot) override {
    if (!communicator_) return {};
    // The bits may be right although the library has failed since.
    communicator_->check_health();
    if (out_ == 0) return {};
    return {{out(slot), point_.type, out_}};
  }

  // Ranks hold different data, so no two ranks' bits are compared.
  std::string fingerprint_key() const override {
    return communicator_ ? fmt::format("{}; rank {}", communicator_->library(), rank_of_fabric_) : std::string();
  }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    return communicator_ ? communicator_->notes() : std::vector<std::pair<std::string, std::string>>();
  }
  std::set<std::string> transports() const override {
    return communicator_ ? communicator_->transports() : std::set<std::string>();
  }

 private:
  int rank() const { return communicator_->rank(); }
  int size() const { return communicator_->size(); }
  /// NCCL needs registered memory to be used at the same offsets on all ranks, and windows, before 2.30.7, of the same size:
  /// each rank's has room for the root's arrays.
  SlotLayout layout_of_rank() const {
    if (point_.buffer == Buffer::plain) return collective_layout(point_, in_, out_);
    return collective_layout(point_, elements_in(point_, size(), true), elements_out(point_, size(), true));
  }
  std::size_t chunk_bytes() const { return chunk_ * size_of(point_.type); }
  std::size_t out_bytes() const { return out_ * size_of(point_.type); }
  CollectiveData data() const { return {seed_, size(), reduces(point_.op) && point_.reduction == Reduction::prod}; }
  double bound() const { return point_.reduction == Reduction::avg ? average_bound(size()) : 0; }

  // Broadcast in place goes from and to the same array; there `in` is the root's alone.
  std::byte* in(int slot) const { return slots_->at<std::byte>(slot, 0) + (point_.in_place && in_ < out_ ? offset() : 0); }
  std::byte* out(int slot) const {
    if (!point_.in_place) return slots_->at<std::byte>(slot, 1);
    return slots_->at<std::byte>(slot, 0) + (out_ < in_ ? offset() : 0);
  }
  // Where both are a chunk they begin at the same address.
  std::size_t offset() const {
    return in_ == 0 || out_ == 0 ? 0 : static_cast<std::size_t>(communicator_->in_place_offset(point_.op)) * chunk_bytes();
  }

  void fill(int slot) {
    if (in_ > 0) {
      kernels_.fill(point_.type, in(slot), in_, data(), rank(), 0, device_.stream());
      device_.synchronize();
    }
  }

  /// The rank whose elements are in chunk i of the output, and the first of them.
  std::pair<int, std::size_t> source(std::size_t i) const {
    switch (point_.op) {
      case Collective::all_to_all:
        return {static_cast<int>(i), call(0).part_begin(rank())};
      case Collective::scatter:
        return {point_.root, static_cast<std::size_t>(rank()) * chunk_};
      case Collective::broadcast:
        return {point_.root, 0};
      case Collective::send_recv:
        return {(rank() + size() - 1) % size(), 0};
      case Collective::ping_pong:
        return {std::min(rank(), peer_), 0};
      default:
        return {static_cast<int>(i), 0};  // all_gather, gather
    }
  }

  // Elements [first, first + count) of the output, against what `expect` writes for a part of them.
  template <class Expect>
  Verification compare(int slot, std::size_t first, std::size_t count, double bound, const Expect& expect) {
    const std::size_t piece = std::min(count, kVerifiedPiece), width = size_of(point_.type);
    const Memory expected = device_.allocate(piece * sizeof(double)), scale = device_.allocate(piece * sizeof(double));
    auto *values = static_cast<double*>(expected.get()), *scales = static_cast<double*>(scale.get());
    double worst = 0;
    std::size_t wrong = 0;
    std::string detail = bound > 0 ? "u x sum of |terms|" : "elements, compared exactly";
    for (std::size_t begin = 0; begin < count; begin += piece) {
      const std::size_t length = std::min(piece, count - begin);
      const std::byte* got = out(slot) + (first + begin) * width;
      expect(values, scales, begin, length);
      device_.synchronize();
      const double error = device_.compare(point_.type, got, length, values, scales).worst;
      if (error <= bound) {
        worst = std::max(worst, error);
        continue;
      }
      if (!(error <= worst)) worst = error;
      // The host finds which elements are wrong: this is rare.
      std::vector<std::byte> bits(length * width);
      std::vector<double> want(length), units(length);
      device_.to_host(bits.data(), got, bits.size());
      device_.to_host(want.data(), values, length * sizeof(double));
      device_.to_host(units.data(), scales, length * sizeof(double));
      for (std::size_t i = 0; i < length; ++i) {
        const double value = load_as_double(point_.type, bits.data(), i);
        if (elementwise_error(point_.type, value, want[i], units[i]) <= bound) continue;
        if (wrong == 0) {
          detail = fmt::format("element {} of its output is {}, expected {}", first + begin + i, format_figure(value, 6),
                               format_figure(want[i], 6));
        }
        ++wrong;
      }
    }
    if (wrong > 0) detail = fmt::format("{} of {} elements are wrong; {}", wrong, count, detail);
    Verification found = Verification::within(worst, bound, detail);
    found.wrong = wrong;
    return found;
  }

  Device& device_;
  const Fabric& fabric_;
  int rank_of_fabric_;
  const CollectiveDataKernels& kernels_;
  Point point_;
  std::size_t chunk_, in_ = 0, out_ = 0;  ///< elements: of a chunk, of the input, of the output
  std::uint64_t seed_;
  int peer_ = -1;
  std::shared_ptr<Communicator> communicator_;
  std::optional<Slots> slots_;
};

/// The ranks of this process, launched together.
class LocalCollective final : public Prepared {
 public:
  LocalCollective(const Setup& setup, const Fabric& fabric, const Point& point)
      : fabric_(fabric), bytes_(bytes_of(point)), communicators_(fabric.local->split(communicating(fabric, point))) {
    if (!communicators_.front()) throw std::invalid_argument("a collective without the device under measurement");
    for (int rank = 0; rank < static_cast<int>(communicators_.size()); ++rank) {
      const Setup own{rank == 0 ? setup.device : fabric.local->device(rank), setup.slots, setup.data, setup.seed, setup.time};
      ranks_.push_back(std::make_unique<OneRank>(own, fabric, rank, communicators_[static_cast<std::size_t>(rank)], point));
    }
  }

  void launch(Stream stream, int slot) override {
    fabric_.step();
    calls_.clear();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (communicators_[rank]) calls_.push_back({communicators_[rank].get(), ranks_[rank]->call(slot)});
    }
    fabric_.local->enqueue(calls_, stream);
  }
  void reset(int slot) override {
    for (const auto& rank : ranks_) rank->reset(slot);
  }
  bool accumulates() const override { return ranks_.front()->accumulates(); }

  /// The worst rank's.
  Verification verify(int slot) override {
    using Status = Verification::Status;
    Verification worst = Verification::nothing("no rank has a result");
    std::size_t wrong = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Verification found = ranks_[rank]->verify(slot);
      wrong += found.wrong;
      if (found.status == Status::failed) found.detail = fabric_.members[rank].device_id + ": " + found.detail;
      const bool worse = found.status == worst.status ? found.error > worst.error : worst.status != Status::failed;
      if (worse && found.status != Status::nothing_to_verify) worst = std::move(found);
    }
    worst.wrong = wrong;
    return worst;
  }

  // The device under measurement hashes, and cannot read what the others hold.
  std::vector<Output> outputs(int slot) override { return ranks_.front()->outputs(slot); }
  bool outputs_are_all() const override { return false; }
  std::string fingerprint_key() const override { return ranks_.front()->fingerprint_key(); }
  std::set<std::string> transports() const override { return communicators_.front()->transports(); }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    auto notes = communicators_.front()->notes();
    notes.insert(notes.begin(), {"library", communicators_.front()->library()});
    if (bytes_ <= kMostlyIssue) {
      notes.emplace_back(
          std::string(kSmallSizesNote),
          fmt::format("one host thread issues the calls of all {} GPUs one after the other, without a gate: this "
                      "time is mostly that of issuing them; NCCL's latency is what roofmark-mpi measures with one "
                      "process per GPU",
                      ranks_.size()));
    }
    return notes;
  }

 private:
  static constexpr std::size_t kMostlyIssue = 256 * kKiB;  // issuing takes microseconds per GPU

  const Fabric& fabric_;
  std::size_t bytes_;
  std::vector<std::shared_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<OneRank>> ranks_;
  std::vector<RankCall> calls_;
};

}  // namespace

const CollectiveDataKernels* data_kernels(Backend backend) {
  return select(backend, &cuda::collective_data, &cpu::collective_data);
}

SlotLayout collective_layout(const Point& point, std::size_t in, std::size_t out) {
  if (point.in_place) return one_output(point.type, std::max(in, out));
  return SlotLayout({SlotArray::scratch(point.type, in), SlotArray::output(point.type, out)});
}

std::unique_ptr<Prepared> prepare_collective(const Setup& setup, const Fabric& fabric, const Point& point) {
  if (fabric.local) return std::make_unique<LocalCollective>(setup, fabric, point);
  return prepare_rank(setup, fabric, point);
}

std::unique_ptr<PreparedCollective> prepare_rank(const Setup& setup, const Fabric& fabric, const Point& point) {
  return std::make_unique<OneRank>(setup, fabric, fabric.rank, fabric.split(communicating(fabric, point)), point);
}

}  // namespace roofmark::collectives
