// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Longer than most files: the bindings of cuDNN's graph API have no other user than this attention.
#include "kernels/attention.hpp"

#include <cudnn_graph.h>
#include <dlfcn.h>

#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/cuda.hpp"

namespace roofmark::cuda {

namespace {

/// NVIDIA's own front end has workarounds for older versions: masks, lengths, a single query, head dimensions above 128.
constexpr std::size_t kOldestVersion = 91100;

/// Observed: 1 MiB for engines that split the keys of a single query over the SMs, 256 bytes for the others.
constexpr std::size_t kMostWorkspaceBytes = 32u << 20;

std::string version_text(std::size_t version) {
  return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// cuDNN, loaded at its first use, so that a node without it can run everything else.
class Library {
 public:
  /// Throws Unsupported if it is missing or too old.
  static const Library& loaded() {
    static const Library library;
    return library;
  }

  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) error_name = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

 private:
  Library() {
    // The name contains the headers' major version. Never closed: the process uses it to its end.
    void* library = dlopen(("libcudnn.so." + std::to_string(CUDNN_MAJOR)).c_str(), RTLD_NOW);
    if (!library) throw Unsupported("cuDNN cannot be loaded: " + std::string(dlerror()));
    find(library, "cudnnGetVersion", version);
    if (version() < kOldestVersion) {
      throw Unsupported(version_text(version()) + " is installed, " + version_text(kOldestVersion) + " or newer is needed");
    }
    find(library, "cudnnGetErrorString", error_name);
    find(library, "cudnnGetLastErrorString", last_error);
    find(library, "cudnnCreate", create);
    find(library, "cudnnDestroy", destroy);
    find(library, "cudnnSetStream", set_stream);
    find(library, "cudnnBackendCreateDescriptor", create_descriptor);
    find(library, "cudnnBackendDestroyDescriptor", destroy_descriptor);
    find(library, "cudnnBackendSetAttribute", set_attribute);
    find(library, "cudnnBackendGetAttribute", get_attribute);
    find(library, "cudnnBackendFinalize", finalize);
    find(library, "cudnnBackendExecute", execute);
  }

  template <class Function>
  static void find(void* library, const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (!function) throw Unsupported("cuDNN has no " + std::string(symbol));
  }
};

/// Why the last call failed. The library's text lists engines, each followed by its failed calls, the innermost first. This
/// returns the first reason of each engine.
std::string last_reason() {
  std::array<char, 4096> account{};
  Library::loaded().last_error(account.data(), account.size());
  std::istringstream lines(account.data());
  std::string reasons;
  bool first = true;
  for (std::string line; std::getline(lines, line);) {
    const bool engine = line.rfind('{', 0) == 0;
    if (first && !engine) {
      const std::size_t mark = line.find("Reason: ");
      const std::string reason = mark == std::string::npos ? line : line.substr(mark + 8);
      if (reasons.find(reason) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    first = engine;
  }
  return reasons;
}

}  // namespace

}  // namespace roofmark::cuda

// At global scope, where argument-dependent look-up finds it.
static roofmark::StatusText describe_status(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  const std::string reason = roofmark::cuda::last_reason();
  // The library does not say whether the context survived, and its runtime is another copy than ours.
  return {false, false, roofmark::cuda::Library::loaded().error_name(status) + (reason.empty() ? "" : ": " + reason)};
}

namespace roofmark::cuda {

namespace {

/// check() for the calls that build a plan. All values are consistent, so "bad parameter" means that the library has no kernel
/// for the combination.
void require(cudnnStatus_t status) {
  const int category = CUDNN_STATUS_CATEGORY(status);
  if (category == CUDNN_STATUS_BAD_PARAM || category == CUDNN_STATUS_NOT_SUPPORTED) {
    throw Unsupported("cuDNN: " + describe_status(status).text);
  }
  check(status);
}

/// check() for the calls by which cuDNN starts, with what it loads and asks of the driver then. What keeps it from that (no
/// driver to its liking, parts of itself that are missing or of another version) concerns no other case.
void require_start(cudnnStatus_t status) {
  constexpr int kNoCategory = 1000;  // CUDNN_STATUS_NOT_INITIALIZED and its like
  if (CUDNN_STATUS_CATEGORY(status) == kNoCategory) {
    const StatusText said = describe_status(status);
    if (!said.sticky) {
      cudaGetLastError();  // what it left behind is not the next kernel's error
      throw Unsupported(version_text(Library::loaded().version()) + " is installed but does not start: " + said.text);
    }
  }
  check(status);
}

void destroy_handle(cudnnHandle_t handle) { Library::loaded().destroy(handle); }
using Handle = Owned<cudnnHandle_t, destroy_handle>;

Handle make_handle() {
  cudnnHandle_t made = nullptr;
  require_start(Library::loaded().create(&made));
  return Handle(made);
}

void destroy_descriptor(cudnnBackendDescriptor_t descriptor) { Library::loaded().destroy_descriptor(descriptor); }
using Descriptor = Owned<cudnnBackendDescriptor_t, destroy_descriptor>;

Descriptor make_descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  require_start(Library::loaded().create_descriptor(type, &made));
  return Descriptor(made);
}

template <cudnnBackendAttributeType_t type>
struct Is {
  static constexpr cudnnBackendAttributeType_t kType = type;
};
template <class Value>
struct Attribute;
template <>
struct Attribute<bool> : Is<CUDNN_TYPE_BOOLEAN> {};
template <>
struct Attribute<std::int64_t> : Is<CUDNN_TYPE_INT64> {};
template <>
struct Attribute<cudnnHandle_t> : Is<CUDNN_TYPE_HANDLE> {};
template <>
struct Attribute<cudnnBackendDescriptor_t> : Is<CUDNN_TYPE_BACKEND_DESCRIPTOR> {};
template <>
struct Attribute<cudnnDataType_t> : Is<CUDNN_TYPE_DATA_TYPE> {};
template <>
struct Attribute<cudnnPointwiseMode_t> : Is<CUDNN_TYPE_POINTWISE_MODE> {};
template <>
struct Attribute<cudnnReduceTensorOp_t> : Is<CUDNN_TYPE_REDUCTION_OPERATOR_TYPE> {};
template <>
struct Attribute<cudnnBackendHeurMode_t> : Is<CUDNN_TYPE_HEUR_MODE> {};
template <>
struct Attribute<cudnnBackendKnobType_t> : Is<CUDNN_TYPE_KNOB_TYPE> {};

template <class Value>
void set(const Descriptor& descriptor, cudnnBackendAttributeName_t attribute, Value value) {
  check(Library::loaded().set_attribute(descriptor.get(), attribute, Attribute<Value>::kType, 1, &value));
}

template <class Values>
void set_all(const Descriptor& descriptor, cudnnBackendAttributeName_t attribute, const Values& values,
             cudnnBackendAttributeType_t type = Attribute<typename Values::value_type>::kType) {
  check(Library::loaded().set_attribute(descriptor.get(), attribute, type, static_cast<std::int64_t>(values.size()),
                                        values.data()));
}

template <class Value>
Value get(const Descriptor& descriptor, cudnnBackendAttributeName_t attribute) {
  Value value{};
  check(Library::loaded().get_attribute(descriptor.get(), attribute, Attribute<Value>::kType, 1, nullptr, &value));
  return value;
}

/// The first `most` descriptors of an attribute.
std::vector<Descriptor> get_descriptors(const Descriptor& descriptor, cudnnBackendAttributeName_t attribute,
                                        cudnnBackendDescriptorType_t type, std::int64_t most) {
  std::vector<Descriptor> got;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) raw.push_back(got.emplace_back(make_descriptor(type)).get());
  std::int64_t count = 0;
  check(Library::loaded().get_attribute(descriptor.get(), attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, raw.data()));
  got.resize(static_cast<std::size_t>(count));
  return got;
}

using Extents = std::array<std::int64_t, 4>;

Extents dense(const Extents& extents) { return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1}; }

/// Attention as the sequence of operations that cuDNN fuses into one kernel: the one that NVIDIA's front end generates for
/// scaled_dot_product_flash_attention in inference mode.
class OperationGraph {
 public:
  OperationGraph(cudnnHandle_t handle, const AttentionProblem& p) {
    const cudnnDataType_t type = p.type == DataType::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
    const Extents scores = {p.batch, p.heads, p.queries, p.keys}, row = {p.batch, p.heads, p.queries, 1};
    const Extents q_strides = {p.queries * p.heads * p.head_dim, p.head_dim, p.heads * p.head_dim, 1};
    const Extents v_strides = {p.keys * p.kv_heads * p.head_dim, p.head_dim, p.kv_heads * p.head_dim, 1};
    const auto q = array(type, {p.batch, p.heads, p.queries, p.head_dim}, q_strides);
    const auto k_transposed =
        array(type, {p.batch, p.kv_heads, p.head_dim, p.keys}, {v_strides[0], v_strides[1], v_strides[3], v_strides[2]});
    const auto v = array(type, {p.batch, p.kv_heads, p.keys, p.head_dim}, v_strides);
    const auto o = array(type, {p.batch, p.heads, p.queries, p.head_dim}, q_strides);

    auto score = between(CUDNN_DATA_FLOAT, scores);
    matmul(q, k_transposed, score);
    score = pointwise(CUDNN_POINTWISE_MUL, {score, scalar(1 / std::sqrt(static_cast<float>(p.head_dim)))}, scores);
    // The last query sees every key.
    if (p.causal && p.queries > 1) {
      auto i = index(2, score, scores);
      const auto j = index(3, score, scores);
      if (p.keys != p.queries) {
        i = pointwise(CUDNN_POINTWISE_ADD, {i, scalar(static_cast<std::int32_t>(p.keys))}, scores, CUDNN_DATA_INT32);
        i = pointwise(CUDNN_POINTWISE_SUB, {i, scalar(static_cast<std::int32_t>(p.queries))}, scores, CUDNN_DATA_INT32);
      }
      const auto seen = pointwise(CUDNN_POINTWISE_CMP_GE, {i, j}, scores, CUDNN_DATA_BOOLEAN);
      const auto unseen_score = scalar(-std::numeric_limits<float>::infinity());
      score = pointwise(CUDNN_POINTWISE_BINARY_SELECT, {score, unseen_score, seen}, scores);
    }
    const auto greatest = reduce(CUDNN_REDUCE_TENSOR_MAX, score, row);
    const auto below = pointwise(CUDNN_POINTWISE_SUB, {score, greatest}, scores);
    const auto power = pointwise(CUDNN_POINTWISE_EXP, {below}, scores);
    const auto sum = reduce(CUDNN_REDUCE_TENSOR_ADD, power, row);
    // The log-sum-exp that training would keep: cuDNN does not recognise attention in a graph without it.
    const auto log_sum = pointwise(CUDNN_POINTWISE_LOG, {sum}, row);
    pointwise(CUDNN_POINTWISE_ADD, {greatest, log_sum}, row);
    const auto weight = between(type, scores);
    pointwise(CUDNN_POINTWISE_DIV, {power, sum}, weight, CUDNN_DATA_FLOAT);
    matmul(weight, v, o);

    graph_ = make_descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set_all(graph_, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
    set(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
    require(Library::loaded().finalize(graph_.get()));
  }

  cudnnBackendDescriptor_t get() const { return graph_.get(); }

  /// The arguments of an execution: the arrays, and the scalars on the host.
  Descriptor bind(const AttentionArrays& arrays, void* workspace) const {
    std::vector<const void*> pointers = {arrays.q, arrays.k, arrays.v, arrays.o};
    for (const std::uint32_t& bits : scalars_) pointers.push_back(&bits);
    Descriptor bound = make_descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set_all(bound, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, bound_uids_);
    set_all(bound, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers, CUDNN_TYPE_VOID_PTR);
    set_all(bound, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::array{workspace}, CUDNN_TYPE_VOID_PTR);
    check(Library::loaded().finalize(bound.get()));
    return bound;
  }

 private:
  using Node = cudnnBackendDescriptor_t;

  Node finalize(Descriptor descriptor) {
    require(Library::loaded().finalize(descriptor.get()));
    return owned_.emplace_back(std::move(descriptor)).get();
  }

  Descriptor tensor(cudnnDataType_t type, const Extents& extents, const Extents& strides) {
    constexpr std::int64_t kByteAlignment = 16;
    Descriptor made = make_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, ++last_uid_);
    set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    set_all(made, CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
    set_all(made, CUDNN_ATTR_TENSOR_STRIDES, strides);
    set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kByteAlignment);
    return made;
  }

  Node array(cudnnDataType_t type, const Extents& extents, const Extents& strides) {
    Descriptor made = tensor(type, extents, strides);
    bound_uids_.push_back(last_uid_);
    return finalize(std::move(made));
  }

  template <class Value>
  Node scalar(Value value) {
    constexpr auto kType = std::is_same_v<Value, float> ? CUDNN_DATA_FLOAT : CUDNN_DATA_INT32;
    Descriptor made = tensor(kType, {1, 1, 1, 1}, {1, 1, 1, 1});
    set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
    bound_uids_.push_back(last_uid_);
    scalars_.push_back(std::bit_cast<std::uint32_t>(value));
    return finalize(std::move(made));
  }

  /// An intermediate result that is never stored in memory.
  Node between(cudnnDataType_t type, const Extents& extents) {
    Descriptor made = tensor(type, extents, dense(extents));
    set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    return finalize(std::move(made));
  }

  void matmul(Node a, Node b, Node c) {
    Descriptor matmul = make_descriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set(matmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    Descriptor operation = make_descriptor(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set(operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, finalize(std::move(matmul)));
    set(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    operations_.push_back(finalize(std::move(operation)));
  }

  Descriptor pointwise_mode(cudnnPointwiseMode_t mode, cudnnDataType_t arithmetic) {
    Descriptor made = make_descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(made, CUDNN_ATTR_POINTWISE_MODE, mode);
    set(made, CUDNN_ATTR_POINTWISE_MATH_PREC, arithmetic);
    return made;
  }

  void pointwise(Descriptor mode, std::initializer_list<Node> inputs, Node output) {
    constexpr std::array kInputs = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
    Descriptor operation = make_descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, finalize(std::move(mode)));
    std::size_t next = 0;
    for (Node input : inputs) set(operation, kInputs[next++], input);
    set(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output);
    operations_.push_back(finalize(std::move(operation)));
  }

  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Node> inputs, Node output, cudnnDataType_t arithmetic) {
    pointwise(pointwise_mode(mode, arithmetic), inputs, output);
  }

  Node pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Node> inputs, const Extents& extents,
                 cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const Node output = between(type, extents);
    pointwise(mode, inputs, output, type);
    return output;
  }

  /// The position of each score along an axis.
  Node index(std::int64_t axis, Node score, const Extents& extents) {
    const Node output = between(CUDNN_DATA_INT32, extents);
    Descriptor mode = pointwise_mode(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT);
    set(mode, CUDNN_ATTR_POINTWISE_AXIS, axis);
    pointwise(std::move(mode), {score}, output);
    return output;
  }

  Node reduce(cudnnReduceTensorOp_t operator_, Node input, const Extents& extents) {
    const Node output = between(CUDNN_DATA_FLOAT, extents);
    Descriptor reduction = make_descriptor(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, operator_);
    set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    Descriptor operation = make_descriptor(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, finalize(std::move(reduction)));
    set(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, input);
    set(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, output);
    operations_.push_back(finalize(std::move(operation)));
    return output;
  }

  std::vector<Descriptor> owned_;
  std::vector<Node> operations_;
  std::int64_t last_uid_ = 0;
  std::vector<std::int64_t> bound_uids_;
  /// The bits of fp32 and int32 values, in the order of their uids.
  std::vector<std::uint32_t> scalars_;
  Descriptor graph_;
};

/// The engine configurations that a heuristic proposes for a graph, by expected speed.
std::vector<Descriptor> configurations(const OperationGraph& graph, cudnnBackendHeurMode_t mode) {
  const Descriptor heuristic = make_descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  require(Library::loaded().finalize(heuristic.get()));
  std::int64_t count = 0;
  check(Library::loaded().get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                        &count, nullptr));
  return get_descriptors(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
}

/// The numbers are those of cudnn_graph.h: knob 40 is CUDNN_KNOB_TYPE_TILE_M.
std::string describe(const Descriptor& configuration) {
  const auto engines = get_descriptors(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  std::string text = version_text(Library::loaded().version()) + ", engine " +
                     std::to_string(get<std::int64_t>(engines.at(0), CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  for (const Descriptor& choice : get_descriptors(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                                  CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    text += ", knob " + std::to_string(get<cudnnBackendKnobType_t>(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE)) + " = " +
            std::to_string(get<std::int64_t>(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return text;
}

class CudnnPlan final : public AttentionPlan {
 public:
  explicit CudnnPlan(const AttentionProblem& problem) : handle_(make_handle()), graph_(handle_.get(), problem) {
    // The heuristic orders the engines that it knows to fit; the fallback lists those that may.
    cudnnStatus_t refusal = CUDNN_STATUS_NOT_SUPPORTED;
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      for (const Descriptor& configuration : configurations(graph_, mode)) {
        plan_ = make_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        set(plan_, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration.get());
        refusal = Library::loaded().finalize(plan_.get());
        if (refusal == CUDNN_STATUS_SUCCESS) {
          workspace_bytes_ = static_cast<std::size_t>(get<std::int64_t>(plan_, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
          if (workspace_bytes_ > kMostWorkspaceBytes) {
            throw Unsupported("cuDNN's fused attention needs " + std::to_string(workspace_bytes_) +
                              " bytes of workspace, more than " + std::to_string(kMostWorkspaceBytes));
          }
          algorithm_ = describe(configuration);
          return;
        }
      }
    }
    require(refusal);
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  void launch(const AttentionArrays& arrays, void* workspace, Stream stream) const override {
    const Descriptor bound = graph_.bind(arrays, workspace);
    check(Library::loaded().set_stream(handle_.get(), stream));
    check(Library::loaded().execute(handle_.get(), plan_.get(), bound.get()));
  }

  std::string algorithm() const override { return algorithm_; }

 private:
  Handle handle_;
  OperationGraph graph_;
  Descriptor plan_;
  std::size_t workspace_bytes_ = 0;
  std::string algorithm_;
};

std::unique_ptr<AttentionPlan> plan(const AttentionProblem& problem) {
  if (problem.type != DataType::fp16 && problem.type != DataType::bf16) {
    throw Unsupported("cuDNN's fused attention supports fp16 and bf16");
  }
  if (problem.causal && problem.queries > problem.keys) {
    throw Unsupported("cuDNN's fused attention is undefined for queries that see no key");
  }
  return std::make_unique<CudnnPlan>(problem);
}

std::string unsupported(int) {
  try {
    Library::loaded();
  } catch (const Unsupported& missing) {
    return missing.what();
  }
  return "";
}

std::size_t workspace_bytes(const AttentionProblem&) { return kMostWorkspaceBytes; }

}  // namespace

const AttentionKernels attention_cudnn = {"cudnn", plan, workspace_bytes, unsupported};

}  // namespace roofmark::cuda
