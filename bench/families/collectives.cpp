// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "bench/families/gemm.hpp"
#include "bench/support/listing.hpp"
#include "harness/device/elementwise_error.hpp"
#include "kernels/base/check.hpp"
#include "kernels/collective_data.hpp"

namespace roofmark {

namespace {

// Expected values are made, and compared, in pieces of so many elements.
constexpr std::size_t kPiece = std::size_t{1} << 22;
constexpr int kRoot = 0;

/// What tells one case from another; the communicators follow from `colours`, one for each rank.
struct Point {
  Collective op = Collective::all_reduce;
  DataType type = DataType::fp32;
  Reduction reduction = Reduction::sum;
  std::size_t bytes = 0;  ///< wanted; the size is made of whole chunks
  bool in_place = false;
  std::vector<int> colours;
  std::string group;  ///< "", node, rail, cross
  Issue issue = Issue::automatic;
  Buffer buffer = Buffer::plain;
  int round = -1;  ///< of ping_pong
};

std::vector<std::vector<int>> groups_of(const std::vector<int>& colours) {
  std::map<int, std::vector<int>> by_colour;
  for (std::size_t rank = 0; rank < colours.size(); ++rank) {
    if (colours[rank] >= 0) by_colour[colours[rank]].push_back(static_cast<int>(rank));
  }
  std::vector<std::vector<int>> groups;
  for (auto& [colour, ranks] : by_colour) groups.push_back(std::move(ranks));
  return groups;
}

int ranks_of(const Point& point) {
  std::size_t most = 0;
  for (const std::vector<int>& group : groups_of(point.colours)) most = std::max(most, group.size());
  return static_cast<int>(most);
}

std::size_t chunk_of(const Point& point) {
  const std::size_t elements = point.bytes / size_of(point.type);
  const std::size_t chunks = counts_total(point.op) ? static_cast<std::size_t>(ranks_of(point)) : 1;
  return std::max<std::size_t>(1, elements / chunks);
}

std::size_t count_of(const Point& point) {
  return chunk_of(point) * (counts_total(point.op) ? static_cast<std::size_t>(ranks_of(point)) : 1);
}

class PreparedCollective final : public Prepared {
 public:
  PreparedCollective(const Setup& setup, const Fabric& fabric, const CollectiveDataKernels& kernels, const Point& point)
      : device_(setup.device), fabric_(fabric), kernels_(kernels), point_(point), chunk_(chunk_of(point)), seed_(setup.seed) {
    // A round of pairs needs no communicators of its own: the whole team's carries it.
    const std::vector<int> all(point.colours.size(), 0);
    communicator_ = fabric.split(point.op == Collective::ping_pong ? all : point.colours);
    const auto own = static_cast<std::size_t>(fabric.rank);
    if (point.colours[own] < 0) {
      communicator_ = nullptr;
    } else if (!communicator_) {
      throw DeviceError("this rank's communicator could not be made", false);
    }
    if (!communicator_) return;
    if (point.op == Collective::ping_pong) {
      for (std::size_t other = 0; other < point.colours.size(); ++other) {
        if (other != own && point.colours[other] == point.colours[own]) peer_ = static_cast<int>(other);
      }
    }
    const bool first = rank() == kRoot;
    const int ranks = size();
    in_chunks_ = static_cast<std::size_t>(chunks_in(point.op, ranks, first));
    out_chunks_ = static_cast<std::size_t>(chunks_out(point.op, ranks, first));
    if (point.op == Collective::ping_pong && peer_ < fabric.rank) in_chunks_ = 0;
    // Broadcast in place goes from and to the same array; there `in` is the root's alone.
    const std::size_t both =
        point.in_place ? std::max(in_chunks_, out_chunks_) * chunk_bytes() : aligned(in_bytes()) + out_bytes();
    slot_bytes_ = aligned(std::max<std::size_t>(both, 1));
    const std::size_t bytes = static_cast<std::size_t>(setup.slots) * slot_bytes_;
    memory_ = point.buffer == Buffer::plain ? device_.allocate(bytes)
                                            : device_.adopt(communicator_->allocate(bytes, point.buffer), bytes);
    for (int slot = 0; slot < setup.slots; ++slot) {
      device_.poison(base(slot), slot_bytes_);
      fill(slot);
    }
  }

  bool takes_part() const override { return communicator_ != nullptr; }

  void launch(Stream stream, int slot) override {
    if (!communicator_) return;
    fabric_.step();
    communicator_->enqueue(call(slot), stream);
  }
  void launch_beside(Stream stream, int slot, const std::function<void()>& work) {
    fabric_.step();
    communicator_->enqueue_beside(call(slot), stream, work);
  }

  // In place the inputs are what a launch overwrites; else nothing of an earlier result may stand in for that of a launch which
  // does nothing.
  void reset(int slot) override {
    if (!communicator_) return;
    if (!point_.in_place) return device_.poison(out(slot), out_bytes());
    if (out_chunks_ > in_chunks_) device_.poison(base(slot), slot_bytes_);
    fill(slot);
  }
  // Restoring between samples would leave other caches than those that a program's next call finds. The numbers grow until they
  // are infinite, which takes no more time.
  bool accumulates() const override { return point_.in_place && reduces(point_.op); }

  Verification verify(int slot) override {
    if (!communicator_) return Verification::nothing("this rank takes no part");
    communicator_->check_health();
    if (out_chunks_ == 0) return Verification::nothing("the result is the root's");
    if (reduces(point_.op)) {
      const std::size_t first = point_.op == Collective::reduce_scatter ? static_cast<std::size_t>(rank()) * chunk_ : 0;
      return compare(slot, 0, chunk_, bound(), [&](double* expected, double* scale, std::size_t begin, std::size_t count) {
        kernels_.expect_reduced(point_.type, point_.reduction, expected, scale, count, data(), first + begin, device_.stream());
      });
    }
    Verification whole = Verification::within(0, 0, "elements, compared exactly");
    for (std::size_t i = 0; i < out_chunks_; ++i) {
      const auto [from, first] = source(i);
      Verification part =
          compare(slot, i * chunk_, chunk_, 0,
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
    // Bits may be as they were although the library has failed since.
    communicator_->check_health();
    if (out_chunks_ == 0) return {};
    return {{out(slot), point_.type, out_chunks_ * chunk_}};
  }

  // Ranks hold different data, so their bits are compared with nobody's.
  std::string fingerprint_key() const override {
    return communicator_ ? fmt::format("{}; rank {}", communicator_->library(), fabric_.rank) : std::string();
  }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    return communicator_ ? communicator_->notes() : std::vector<std::pair<std::string, std::string>>();
  }

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  int rank() const { return communicator_->rank(); }
  int size() const { return communicator_->size(); }
  std::size_t chunk_bytes() const { return chunk_ * size_of(point_.type); }
  std::size_t in_bytes() const { return in_chunks_ * chunk_bytes(); }
  std::size_t out_bytes() const { return out_chunks_ * chunk_bytes(); }
  CollectiveData data() const { return {seed_, size()}; }
  double bound() const { return point_.reduction == Reduction::avg ? average_bound(size()) : 0; }

  std::byte* base(int slot) const {
    return static_cast<std::byte*>(memory_.get()) + static_cast<std::size_t>(slot) * slot_bytes_;
  }
  std::byte* in(int slot) const { return base(slot) + (point_.in_place && in_chunks_ < out_chunks_ ? offset() : 0); }
  std::byte* out(int slot) const {
    if (!point_.in_place) return base(slot) + aligned(in_bytes());
    return base(slot) + (out_chunks_ < in_chunks_ ? offset() : 0);
  }
  // Where both are a chunk they begin together.
  std::size_t offset() const {
    return in_chunks_ == 0 || out_chunks_ == 0
               ? 0
               : static_cast<std::size_t>(communicator_->in_place_offset(point_.op)) * chunk_bytes();
  }

  CollectiveCall call(int slot) const {
    CollectiveCall call{point_.op, point_.type, point_.reduction, kRoot, peer_, nullptr, nullptr, chunk_};
    if (in_chunks_ > 0) call.in = in(slot);
    if (out_chunks_ > 0) call.out = out(slot);
    return call;
  }

  void fill(int slot) {
    if (in_chunks_ > 0) {
      kernels_.fill(point_.type, in(slot), in_chunks_ * chunk_, data(), rank(), 0, device_.stream());
      device_.synchronize();
    }
  }

  /// Whose elements, and from which of them on, stand in chunk i of the output.
  std::pair<int, std::size_t> source(std::size_t i) const {
    switch (point_.op) {
      case Collective::all_to_all:
        return {static_cast<int>(i), static_cast<std::size_t>(rank()) * chunk_};
      case Collective::scatter:
        return {kRoot, static_cast<std::size_t>(rank()) * chunk_};
      case Collective::broadcast:
        return {kRoot, 0};
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
    const std::size_t piece = std::min(count, kPiece), width = size_of(point_.type);
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
      // Which elements, and how many: rare, so the host looks for them.
      std::vector<std::byte> bits(length * width);
      std::vector<double> want(length), units(length);
      device_.to_host(bits.data(), got, bits.size());
      device_.to_host(want.data(), values, length * sizeof(double));
      device_.to_host(units.data(), scales, length * sizeof(double));
      for (std::size_t i = 0; i < length; ++i) {
        const double value = load_as_double(point_.type, bits.data(), i);
        if (elementwise_error(point_.type, value, want[i], units[i]) <= bound) continue;
        if (wrong == 0) {
          detail = fmt::format("element {} of its output is {:g} and should be {:g}", first + begin + i, value, want[i]);
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
  const CollectiveDataKernels& kernels_;
  Point point_;
  std::size_t chunk_, in_chunks_ = 0, out_chunks_ = 0, slot_bytes_ = 0;
  std::uint64_t seed_;
  int peer_ = -1;
  std::shared_ptr<Communicator> communicator_;
  Memory memory_;
};

/// Null where ranks share a GPU.
const Resource* inside_resource(const Fabric& fabric, Backend backend) {
  if (backend == Backend::cpu) return &resource::interprocess;
  if (share_gpu(fabric.members)) return nullptr;
  const bool nvlink = std::all_of(fabric.members.begin(), fabric.members.end(),
                                  [](const RankInfo& member) { return member.nvlink_bytes_per_second.has_value(); });
  return nvlink ? &resource::nvlink : &resource::pcie;
}

std::vector<int> hosts_of(const Fabric& fabric) {
  std::vector<int> hosts(fabric.members.size());
  const std::vector<std::vector<int>> by_host = ranks_by_host(fabric.members);
  for (std::size_t host = 0; host < by_host.size(); ++host) {
    for (const int rank : by_host[host]) hosts[static_cast<std::size_t>(rank)] = static_cast<int>(host);
  }
  return hosts;
}

Work work_of(const Listing& listing, const Point& point, double bytes) {
  const Traffic moved = traffic(point.op, bytes, groups_of(point.colours), hosts_of(*listing.fabric));
  const Resource* inside = inside_resource(*listing.fabric, listing.device.backend);
  Phase phase;
  if (inside && moved.inside > 0) phase.push_back({*inside, moved.inside});
  if (moved.network > 0) phase.push_back({resource::network, moved.network});
  if (phase.empty()) return {};
  return {std::vector<Phase>(point.op == Collective::ping_pong ? 2 : 1, phase)};
}

Case collective_case(const Listing& listing, const Point& point) {
  const Fabric& fabric = *listing.fabric;
  const CollectiveDataKernels* kernels = select(listing.device.backend, &cuda::collective_data, &cpu::collective_data);
  const int ranks = ranks_of(point);
  const std::size_t chunk = chunk_of(point), bytes = count_of(point) * size_of(point.type);
  const std::vector<std::vector<int>> groups = groups_of(point.colours);
  Case c;
  c.family = name(point.op);
  c.type = point.type;
  c.shape = {{"bytes", std::to_string(bytes)}, {"ranks", std::to_string(ranks)}};
  if (point.round >= 0) c.shape.emplace_back("round", std::to_string(point.round));
  if (reduces(point.op)) c.shape.emplace_back("op", name(point.reduction));
  if (point.op != Collective::ping_pong) c.shape.emplace_back("place", point.in_place ? "in" : "out");
  if (!point.group.empty()) c.shape.emplace_back("group", point.group);
  c.shape.emplace_back("impl", fabric.how);
  if (point.issue == Issue::graph) c.shape.emplace_back("issue", "graph");
  if (point.buffer != Buffer::plain) c.shape.emplace_back("buffer", name(point.buffer));
  c.work = work_of(listing, point, static_cast<double>(bytes));
  // As in nccl-tests the same buffers are used again and again.
  c.protocol.cache = Cache::warm;
  // Enqueued one after the other, again as there: behind a closed gate the library could wait for room in its own queues.
  c.protocol.issue = point.issue == Issue::automatic ? Issue::stream : point.issue;
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t chunks = counts_total(point.op) ? (point.op == Collective::all_to_all ? 2 * n : n + 1) : 2;
  c.slot_bytes = chunks * chunk * size_of(point.type) + 512;
  Message message;
  message.ranks = ranks;
  message.bytes = bytes;
  message.count = chunk;
  message.bus_factor = bus_factor(point.op, ranks);
  if (has_root(point.op)) message.root = kRoot;
  if (reduces(point.op)) message.reduction = name(point.reduction);
  if (point.op == Collective::ping_pong) {
    message.trips = 2;
  } else {
    message.place = point.in_place ? "in" : "out";
  }
  const bool everyone = groups.size() == 1 && groups.front().size() == fabric.members.size();
  if (point.op == Collective::ping_pong || !everyone) message.groups = groups;  // two ranks are a pair too
  if (point.op == Collective::all_reduce && listing.device.backend == Backend::cuda &&
      listing.device.compute_capability >= 90 && ranks > 2 && ranks_by_host(fabric.members).size() == 1 &&
      !share_gpu(fabric.members)) {
    // Reduced in the switch a rank sends its data once, reads its share of the result and sends that: S + S / n.
    // What a ring must carry beyond that is avoidable, and no rate impossible for its sake.
    message.switched_bytes = static_cast<double>(bytes) * (1 + 1.0 / ranks);
    for (Phase& phase : c.work.phases) {
      for (Demand& demand : phase) demand.avoidable = std::max(0.0, demand.amount - *message.switched_bytes);
    }
  }
  c.message = message;
  if (!kernels) {
    c.unsupported = "this build has no kernels for the device that make what collectives carry";
    return c;
  }
  c.prepare = [&fabric, kernels, point](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedCollective>(setup, fabric, *kernels, point);
  };
  return c;
}

/// Which ranks share a communicator: one colour each, negative for those that stand aside.
struct Grouping {
  std::string name;
  std::vector<int> colours;
};

Grouping everyone(const Fabric& fabric) { return {"", std::vector<int>(fabric.members.size(), 0)}; }

Grouping first(const Fabric& fabric, int ranks) {
  Grouping grouping = everyone(fabric);
  for (std::size_t rank = static_cast<std::size_t>(ranks); rank < grouping.colours.size(); ++rank) grouping.colours[rank] = -1;
  return grouping;
}

/// Inside of every host, all at once; across the hosts with one rank each; and with all, every local rank with its like (a
/// rail). Those that say something: several hosts, and several ranks on them.
std::vector<Grouping> parts(const Fabric& fabric) {
  const std::vector<int> hosts = hosts_of(fabric);
  const int count = *std::max_element(hosts.begin(), hosts.end()) + 1;
  if (count == 1 || static_cast<std::size_t>(count) == hosts.size()) return {};
  Grouping node{"node", hosts}, cross{"cross", {}}, rail{"rail", {}};
  for (const RankInfo& member : fabric.members) {
    cross.colours.push_back(member.local_rank == 0 ? 0 : -1);
    rail.colours.push_back(member.local_rank);
  }
  return {node, cross, rail};
}

/// Every rank with every other once, in rounds of disjoint pairs: the circle method of a tournament.
std::vector<std::vector<int>> rounds(int ranks) {
  const int seats = ranks + ranks % 2, circle = seats - 1;
  std::vector<std::vector<int>> all;
  for (int round = 0; round < circle; ++round) {
    std::vector<int> colours(static_cast<std::size_t>(ranks), -1);
    for (int i = 0; i < seats / 2; ++i) {
      const int a = (round + i) % circle, b = i == 0 ? circle : (round - i + circle) % circle;
      if (a >= ranks || b >= ranks) continue;
      colours[static_cast<std::size_t>(a)] = colours[static_cast<std::size_t>(b)] = i;
    }
    all.push_back(std::move(colours));
  }
  return all;
}

constexpr std::size_t kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;

std::vector<std::size_t> sizes(std::size_t least, std::size_t most, std::size_t factor) {
  std::vector<std::size_t> all;
  for (std::size_t bytes = least; bytes <= most; bytes *= factor) all.push_back(bytes);
  return all;
}

/// A list under way: takes what the library can do and the memory holds, and nothing twice.
class List {
 public:
  explicit List(const Listing& listing)
      : listing_(listing), fabric_(*listing.fabric), communicator_(fabric_.split(everyone(fabric_).colours)) {}

  void add(const Point& point) {
    if (ranks_of(point) == 0 || !communicator_->supports(point.op, point.type, point.reduction)) return;
    if (point.in_place ? communicator_->in_place_offset(point.op) < 0 : !communicator_->out_of_place(point.op)) return;
    if (chunk_of(point) > communicator_->most_elements()) return;
    Case c = collective_case(listing_, point);
    // Beside the buffers verification takes two pieces of doubles.
    const double room = listing_.memory_fraction * static_cast<double>(listing_.device.free_bytes);
    if (static_cast<double>(c.slot_bytes + 2 * kPiece * sizeof(double)) > room) return;
    if (names_.insert(c.name()).second) groups_.push_back({{std::move(c)}, {}});
  }
  void add_both_places(Point point) {
    for (const bool in_place : {false, true}) {
      point.in_place = in_place;
      add(point);
    }
  }

  std::vector<Group> groups() && { return std::move(groups_); }

 private:
  const Listing& listing_;
  const Fabric& fabric_;
  std::shared_ptr<Communicator> communicator_;
  std::set<std::string> names_;
  std::vector<Group> groups_;
};

std::vector<Group> contract(const Listing& listing) {
  List list(listing);
  const std::vector<int> world = everyone(*listing.fabric).colours;
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    for (const DataType type : listing.fabric->types) {
      for (const Reduction reduction : {Reduction::sum, Reduction::max, Reduction::avg}) {
        if (!reduces(op) && reduction != Reduction::sum) continue;
        for (const std::size_t elements : {1, 7, 1000, 65537}) {
          list.add_both_places({op, type, reduction, elements * size_of(type), false, world, {}, {}, {}, -1});
        }
      }
    }
  }
  int round = 0;
  for (const std::vector<int>& pairs : rounds(static_cast<int>(world.size()))) {
    for (const std::size_t elements : {1, 4097}) {
      list.add({Collective::ping_pong, DataType::fp32, {}, elements * 4, false, pairs, {}, {}, {}, round});
    }
    ++round;
  }
  return std::move(list).groups();
}

}  // namespace

Traffic traffic(Collective op, double largest_bytes, const std::vector<std::vector<int>>& groups,
                const std::vector<int>& hosts) {
  Traffic all;
  std::map<int, double> network, sent, received;
  const auto host = [&](int rank) { return hosts[static_cast<std::size_t>(rank)]; };
  std::size_t largest = 1;
  for (const std::vector<int>& group : groups) largest = std::max(largest, group.size());
  for (const std::vector<int>& group : groups) {
    // A rank's part is the same in all groups, so that a smaller one's total is smaller.
    const double bytes =
        counts_total(op) ? largest_bytes * static_cast<double>(group.size()) / static_cast<double>(largest) : largest_bytes;
    std::map<int, int> ranks;  // by host
    for (const int rank : group) ++ranks[host(rank)];
    const double n = static_cast<double>(group.size()), k = static_cast<double>(ranks.size());
    const int root = host(group.front());
    double inside = 0;
    for (const auto& [at, count] : ranks) {
      const double m = count;
      double in = 0, out = 0;
      switch (op) {
        case Collective::all_reduce:
          in = 2 * (m - 1) / m * bytes;
          out = 2 * (k - 1) / k * bytes;
          break;
        case Collective::all_gather:
        case Collective::reduce_scatter:
          in = (m - 1) / m * bytes;
          out = (n - m) / n * bytes;
          break;
        case Collective::broadcast:
        case Collective::reduce:
          in = m > 1 ? bytes : 0;
          out = k > 1 ? bytes : 0;
          break;
        case Collective::all_to_all:
          in = (m - 1) / n * bytes;
          out = m * (n - m) / n * bytes;
          break;
        case Collective::gather:
        case Collective::scatter:
          in = at == root ? (m - 1) / n * bytes : 0;
          out = (at == root ? n - m : m) / n * bytes;
          break;
        case Collective::send_recv:
        case Collective::ping_pong:
          break;
      }
      inside = std::max(inside, in);
      network[at] += out;
    }
    const std::size_t senders = op == Collective::send_recv ? group.size() : op == Collective::ping_pong ? 1 : 0;
    for (std::size_t i = 0; i < senders && group.size() > 1; ++i) {
      const int from = host(group[i]), to = host(group[(i + 1) % group.size()]);
      if (from == to) {
        inside = bytes;
      } else {
        // On the way back what came in goes out: each way is as busy.
        (op == Collective::ping_pong ? sent[from] : network[from]) += bytes;
        if (op == Collective::ping_pong) received[to] += bytes;
      }
    }
    all.inside = std::max(all.inside, inside);
  }
  for (const auto* amounts : {&network, &sent, &received}) {
    for (const auto& [at, amount] : *amounts) all.network = std::max(all.network, amount);
  }
  return all;
}

std::vector<Group> link_ceilings(const Listing& listing) {
  const Fabric& fabric = *listing.fabric;
  const std::vector<int> hosts = hosts_of(fabric);
  std::vector<int> rails;
  for (const RankInfo& member : fabric.members) rails.push_back(member.local_rank);
  const bool gpu = listing.device.backend == Backend::cuda, small = listing.suite == SuiteName::contract;
  List list(listing);
  for (const auto& [name, colours] : {std::pair<std::string, std::vector<int>>{"inside", hosts}, {"network", rails}}) {
    for (const std::size_t bytes : small ? sizes(kKi, kKi, 4) : gpu ? sizes(64 * kMi, kGi, 4) : sizes(kMi, 16 * kMi, 4)) {
      Point point{Collective::send_recv, DataType::fp32, {}, bytes, false, colours, name, {}, {}, -1};
      if (!work_of(listing, point, static_cast<double>(bytes)).phases.empty()) list.add(point);
    }
  }
  std::vector<Group> groups = std::move(list).groups();
  for (Group& group : groups) {
    Case& c = group.cases.front();
    c.raises = c.work.phases.front().front().resource;
    c.operation = c.raises->id;
    c.family = "ceilings";
  }
  return groups;
}

std::vector<Group> collectives(const Listing& listing) {
  if (listing.suite == SuiteName::contract) return contract(listing);
  const Fabric& fabric = *listing.fabric;
  const bool gpu = listing.device.backend == Backend::cuda, full = listing.suite == SuiteName::full;
  const auto ranks = static_cast<int>(fabric.members.size());
  const std::vector<int> world = everyone(fabric).colours;
  List list(listing);
  const auto point = [&](Collective op, DataType type, std::size_t bytes) {
    Point made{op, type, Reduction::sum, bytes, false, world, {}, {}, {}, -1};
    return made;
  };
  if (listing.suite == SuiteName::quick) {
    for (const std::size_t bytes :
         gpu ? std::vector<std::size_t>{8, kKi, 32 * kKi, 256 * kKi, 4 * kMi, 64 * kMi, 512 * kMi, 4 * kGi}
             : std::vector<std::size_t>{8, 128, kKi, 8 * kKi, 64 * kKi, 512 * kKi, 4 * kMi, 32 * kMi}) {
      list.add_both_places(point(Collective::all_reduce, DataType::fp32, bytes));
    }
    return std::move(list).groups();
  }

  // Memory bounds them, and MPI's counts: a call of more elements is left out.
  const std::vector<std::size_t> all = sizes(8, gpu || full ? 16 * kGi : 64 * kMi, full ? 2 : 4);
  const std::vector<DataType> baseline = gpu ? std::vector{DataType::fp32, DataType::bf16} : fabric.types;
  for (const Collective op : kCollectives) {
    if (op == Collective::ping_pong) continue;
    for (const DataType type : full ? fabric.types : baseline) {
      for (const Reduction reduction : {Reduction::sum, Reduction::max, Reduction::avg}) {
        if (reduction != Reduction::sum && (!full || !reduces(op))) continue;
        for (const std::size_t bytes : all) {
          Point made = point(op, type, bytes);
          made.reduction = reduction;
          list.add_both_places(made);
        }
      }
    }
  }

  // How it scales: the first 1, 2, 4, ... ranks with the same size, and with one that grows with them.
  const std::size_t large = gpu ? 64 * kMi : 2 * kMi;
  for (const Collective op :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
    if (!full && op != Collective::all_reduce) continue;
    for (int count = 1;; count = std::min(2 * count, ranks)) {
      for (const std::size_t bytes : {kMi, large, large * static_cast<std::size_t>(count)}) {
        Point made = point(op, DataType::fp32, bytes);
        made.colours = first(fabric, count).colours;
        list.add(made);
      }
      if (count == ranks) break;
    }
  }
  for (const Grouping& part : parts(fabric)) {
    for (const Collective op : {Collective::all_reduce, Collective::all_to_all}) {
      if (!full && op != Collective::all_reduce) continue;
      for (const std::size_t bytes : sizes(kKi, large, full ? 4 : 256)) {
        Point made = point(op, DataType::fp32, bytes);
        made.group = part.name;
        made.colours = part.colours;
        list.add(made);
      }
    }
  }

  // The ways to call the library that save it work: captured in a graph, and with buffers that it knows.
  for (const std::size_t bytes : sizes(8, gpu ? kGi : 0, full ? 4 : 64)) {
    Point made = point(Collective::all_reduce, DataType::fp32, bytes);
    made.issue = Issue::graph;
    list.add(made);
    made.issue = Issue::automatic;
    for (const Buffer buffer : fabric.buffers) {
      made.buffer = buffer;
      list.add(made);
    }
  }

  int round = 0;
  for (const std::vector<int>& pairs : ranks > 1 ? rounds(ranks) : std::vector<std::vector<int>>()) {
    for (const std::size_t bytes : full ? sizes(8, gpu ? 256 * kMi : 16 * kMi, 4)
                                        : std::vector<std::size_t>{8, 64 * kKi, kMi, gpu ? 64 * kMi : 4 * kMi}) {
      Point made = point(Collective::ping_pong, DataType::int8, bytes);
      made.colours = pairs;
      made.round = round;
      list.add(made);
    }
    ++round;
  }
  return std::move(list).groups();
}

namespace {

/// A product and a collective as one case: the first alone, the second alone, or the second beside the first.
class PreparedOverlap final : public Prepared {
 public:
  PreparedOverlap(std::unique_ptr<Prepared> product, std::unique_ptr<PreparedCollective> collective)
      : product_(std::move(product)), collective_(std::move(collective)) {}

  void launch(Stream stream, int slot) override {
    collective_->launch_beside(stream, slot, [&] { product_->launch(stream, slot); });
  }
  void reset(int slot) override {
    product_->reset(slot);
    collective_->reset(slot);
  }
  Verification verify(int slot) override {
    const Verification product = product_->verify(slot);
    return product.status == Verification::Status::passed ? collective_->verify(slot) : product;
  }
  std::vector<Output> outputs(int slot) override {
    std::vector<Output> all = product_->outputs(slot);
    for (const Output& output : collective_->outputs(slot)) all.push_back(output);
    return all;
  }
  std::string fingerprint_key() const override { return product_->fingerprint_key() + "; " + collective_->fingerprint_key(); }
  std::vector<std::pair<std::string, std::string>> notes() const override { return collective_->notes(); }

 private:
  std::unique_ptr<Prepared> product_;
  std::unique_ptr<PreparedCollective> collective_;
};

}  // namespace

std::vector<Group> overlap(const Listing& listing) {
  const Fabric& fabric = *listing.fabric;
  const auto ranks = static_cast<int>(fabric.members.size());
  if (listing.suite == SuiteName::quick || ranks == 1) return {};
  const bool gpu = listing.device.backend == Backend::cuda, small = listing.suite == SuiteName::contract;
  // The product takes longer than the all-reduce, so that all of it could be hidden.
  const std::int64_t side = small ? 65 : gpu ? 8192 : 1024;
  const std::size_t bytes = small ? 4 * 1001 : gpu ? 256 * kMi : 32 * kMi;
  const DataType type = gpu ? DataType::bf16 : DataType::fp32;
  const CollectiveDataKernels* kernels = select(listing.device.backend, &cuda::collective_data, &cpu::collective_data);
  Listing warm = listing;
  warm.cache = Cache::warm;
  Case product = gemm_case(warm, type, side, side, side);
  product.protocol.issue = Issue::stream;
  Point point{Collective::all_reduce, type, Reduction::sum, bytes, false, everyone(fabric).colours, {}, {}, {}, -1};
  Case collective = collective_case(listing, point);
  const std::string length = std::to_string(side);
  const Shape shape = {{"m", length},
                       {"n", length},
                       {"k", length},
                       {"bytes", std::to_string(count_of(point) * size_of(type))},
                       {"ranks", std::to_string(ranks)}};
  Case both = product;
  for (const Phase& phase : collective.work.phases) {
    both.work.phases.front().insert(both.work.phases.front().end(), phase.begin(), phase.end());
  }
  both.slot_bytes += collective.slot_bytes;
  both.unsupported = product.unsupported.empty() ? collective.unsupported : product.unsupported;
  both.prepare = [&fabric, kernels, point, prepare = product.prepare](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedOverlap>(prepare(setup),
                                             std::make_unique<PreparedCollective>(setup, fabric, *kernels, point));
  };
  collective.message.reset();
  product.operation = "gemm";
  collective.operation = "all_reduce";
  both.operation = "both";
  Group group;
  for (Case* c : {&product, &collective, &both}) {
    c->family = "overlap";
    c->shape = shape;
    group.cases.push_back(std::move(*c));
  }
  return {group};
}

}  // namespace roofmark
