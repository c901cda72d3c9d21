// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/activations.hpp"
#include "kernels/base/cuda.hpp"
#include "kernels/cuda/convert.cuh"
#include "kernels/cuda/elementwise_reference.hpp"
#include "kernels/cuda/elementwise_sources.cuh"
#include "kernels/cuda/ptx/math.cuh"
#include "kernels/elementwise.hpp"

namespace roofmark::cuda {
namespace {

using namespace elementwise_sources;

// As for the streams: one tile per block, all loads of a tile issued before the first result is used, accesses of 16 bytes to
// the widest array and whole sectors of the others. A thread moves 64 bytes of the widest array (32 of three arrays, whose
// loads in flight would take too many registers), so that four blocks of 256 threads have at least 64 KB in flight per SM.
// At 18.6 bytes per clock for reads and writes (4.3 TB/s over 132 SMs), an SM has 27 instructions and 3.4 special functions for
// each 16-bit element that is read and written; a GELU takes about 20 and two.
constexpr int kBlocks = 4;  ///< minimum per SM
constexpr int kTileBytes = 64;
constexpr int kAccess = 16;

/// Special functions for results that are rounded to T. The error of exp_approx_ftz is far below the roundoff of a 16-bit type.
/// reciprocal() is called with x >= 1, where rcp_approx_ftz has no subnormal operands.
template <class T>
struct Math {
  using Tail = TailOfDegree5;
  __device__ static float exp(float x) { return exp_approx_ftz(x); }
  __device__ static float reciprocal(float x) { return rcp_approx_ftz(x); }
};
template <>
struct Math<float> {
  using Tail = TailOfDegree9;
  __device__ static float exp(float x) { return expf(x); }
  __device__ static float reciprocal(float x) { return rcp_approx_ftz(x); }
};

template <class F, class Out, int kLanes, class... Inputs>
__device__ void apply(const F& f, Stored<Out, kLanes>* to, const Inputs&... inputs) {
  Lanes<kLanes> out;
#pragma unroll
  for (int j = 0; j < kLanes; ++j) out.value[j] = f(inputs.value[j]...);
  store<true>(to, narrow<Out>(out.value));
}
template <class F, class Out, class Part, class... Inputs>
__device__ void apply_all(const F& f, Out* out, const Part& part, const Inputs&... inputs) {
#pragma unroll
  for (int i = 0; i < Part::kPackets; ++i) {
    if (part.has(i)) apply<F, Out, Part::kLanes>(f, part.at(out, i), lanes_of(inputs, i)...);
  }
}

/// out[i] = f(inputs[i]...) for n elements.
template <int kLanes, int kPackets, class F, class Out, class... Sources>
__global__ void __launch_bounds__(kThreads, kBlocks) map_kernel(F f, Out* out, std::size_t n, Sources... sources) {
  for_each_part<kLanes, kPackets>(
      n, [&]<class Part>(const Part& part) { apply_all(f, out, part, Loaded<Sources, Part>(sources, part)...); });
}

unsigned blocks_for(std::size_t packets, int packets_per_thread) {
  const std::size_t tile = static_cast<std::size_t>(kThreads) * static_cast<std::size_t>(packets_per_thread);
  return static_cast<unsigned>(std::max<std::size_t>(1, (packets + tile - 1) / tile));
}

template <class Out, class F, class... Sources>
void map(void* to, std::int64_t elements, Stream stream, F f, Sources... sources) {
  if (elements == 0) return;
  constexpr std::size_t kWidest = std::max({sizeof(Out), sizeof(typename Sources::T)...});
  constexpr int kLanes = kAccess / static_cast<int>(kWidest);
  constexpr int kPackets = kTileBytes / kAccess / (sizeof...(Sources) > 2 ? 2 : 1);
  auto* out = static_cast<Out*>(to);
  const auto n = static_cast<std::size_t>(elements);
  if (aligned(out, kLanes) && (in_packets(sources, kLanes) && ...)) {
    map_kernel<kLanes, kPackets><<<blocks_for(n / kLanes, kPackets), kThreads, 0, stream>>>(f, out, n, sources...);
  } else {
    map_kernel<1, kPackets><<<blocks_for(n, kPackets), kThreads, 0, stream>>>(f, out, n, sources...);
  }
  check(cudaGetLastError());
}

struct Same {
  __device__ float operator()(float x) const { return x; }
};
struct Add {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Relu {
  /// fmaxf would turn NaN into 0.
  __device__ float operator()(float x) const { return max_nan(x, 0); }
};
template <class T>
struct GeluTanh {
  __device__ float operator()(float x) const { return gelu_tanh<Math<T>>(x); }
};
template <class T>
struct GeluErf {
  __device__ float operator()(float x) const { return gelu_erf<Math<T>>(x); }
};
template <class T>
struct Silu {
  __device__ float operator()(float x) const { return silu<Math<T>>(x); }
};
template <class T>
struct Swiglu {
  __device__ float operator()(float x, float y) const { return silu<Math<T>>(x) * y; }
};
template <class T>
struct BiasGeluResidual {
  __device__ float operator()(float x, float bias, float y) const { return gelu_tanh<Math<T>>(x + bias) + y; }
};

__device__ float decayed(float p) { return p * AdamW::kKept; }
__device__ float first_moment(float m, float g) { return AdamW::kBeta1 * m + AdamW::kRest1 * g; }
__device__ float second_moment(float v, float g) { return AdamW::kBeta2 * v + AdamW::kRest2 * g * g; }
__device__ float updated(float p, float m, float v) {
  constexpr float kRate = AdamW::kRate / AdamW::kCorrection1;
  return p - kRate * m / (sqrtf(v) / AdamW::kRootCorrection2 + AdamW::kEpsilon);
}
struct Decay {
  __device__ float operator()(float p) const { return decayed(p); }
};
struct FirstMoment {
  __device__ float operator()(float m, float g) const { return first_moment(m, g); }
};
struct SecondMoment {
  __device__ float operator()(float v, float g) const { return second_moment(v, g); }
};
struct Update {
  __device__ float operator()(float p, float m, float v) const { return updated(p, m, v); }
};

/// AdamW in one kernel: reads four arrays, writes three.
template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    adamw_kernel(float* p_data, float* m_data, float* v_data, const T* gradient, std::size_t n) {
  constexpr int kPackets = 2;
  for_each_part<kLanes, kPackets>(n, [&]<class Part>(const Part& part) {
    const Loaded<Array<T>, Part> gradients(Array<T>{gradient}, part);
    const Loaded<InPlace, Part> ps(InPlace{p_data}, part), ms(InPlace{m_data}, part), vs(InPlace{v_data}, part);
#pragma unroll
    for (int i = 0; i < Part::kPackets; ++i) {
      if (!part.has(i)) continue;
      const auto g = lanes_of(gradients, i);
      auto p = lanes_of(ps, i), m = lanes_of(ms, i), v = lanes_of(vs, i);
#pragma unroll
      for (int j = 0; j < Part::kLanes; ++j) {
        m.value[j] = first_moment(m.value[j], g.value[j]);
        v.value[j] = second_moment(v.value[j], g.value[j]);
        p.value[j] = updated(decayed(p.value[j]), m.value[j], v.value[j]);
      }
      store<true>(part.at(p_data, i), narrow<float>(p.value));
      store<true>(part.at(m_data, i), narrow<float>(m.value));
      store<true>(part.at(v_data, i), narrow<float>(v.value));
    }
  });
}

template <class T>
void adamw(const ElementwiseArrays& arrays, std::int64_t elements, Stream stream) {
  if (elements == 0) return;
  constexpr int kLanes = kAccess / sizeof(float), kPackets = 2;
  const auto n = static_cast<std::size_t>(elements);
  const auto* gradient = static_cast<const T*>(arrays.x);
  if (aligned(arrays.p, kLanes) && aligned(arrays.m, kLanes) && aligned(arrays.v, kLanes) && aligned(gradient, kLanes)) {
    adamw_kernel<kLanes><<<blocks_for(n / kLanes, kPackets), kThreads, 0, stream>>>(arrays.p, arrays.m, arrays.v, gradient, n);
  } else {
    adamw_kernel<1><<<blocks_for(n, kPackets), kThreads, 0, stream>>>(arrays.p, arrays.m, arrays.v, gradient, n);
  }
  check(cudaGetLastError());
}

/// A thread rotates kPairs packets of a head's first half, kThreads apart, with the corresponding ones of its second half. The
/// angles of a token serve all its heads, so they are loaded through the caches.
template <int kLanes, class T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    rope_kernel(T* out, const T* x, const float* cosines, const float* sines, unsigned pairs, unsigned pairs_per_token,
                unsigned pairs_per_head) {
  using Vector = Stored<T, kLanes>;
  using Angles = Stored<float, (kLanes > 4 ? 4 : kLanes)>;
  constexpr int kPairs = kTileBytes / kAccess / 2, kAngles = kLanes > 4 ? kLanes / 4 : 1, kWidth = kLanes / kAngles;
  const auto* from = reinterpret_cast<const Vector*>(x);
  auto* to = reinterpret_cast<Vector*>(out);
  const unsigned begin = blockIdx.x * (kThreads * kPairs) + threadIdx.x;
  std::size_t place[kPairs];
  Vector a[kPairs], b[kPairs];
  Angles cosine[kPairs][kAngles], sine[kPairs][kAngles];
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const unsigned pair = begin + static_cast<unsigned>(i) * kThreads;
    if (pair >= pairs) continue;
    const unsigned token = pair / pairs_per_token, head = pair / pairs_per_head, within = pair % pairs_per_head;
    place[i] = std::size_t{head} * (2 * pairs_per_head) + within;
    a[i] = load_once(from + place[i]);
    b[i] = load_once(from + place[i] + pairs_per_head);
    const std::size_t angle = (std::size_t{token} * pairs_per_head + within) * kAngles;
#pragma unroll
    for (int k = 0; k < kAngles; ++k) {
      cosine[i][k] = load_cached(reinterpret_cast<const Angles*>(cosines) + angle + k);
      sine[i][k] = load_cached(reinterpret_cast<const Angles*>(sines) + angle + k);
    }
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    if (begin + static_cast<unsigned>(i) * kThreads >= pairs) continue;
    Lanes<kLanes> first, second;
    widen<T>(a[i], first.value);
    widen<T>(b[i], second.value);
#pragma unroll
    for (int k = 0; k < kAngles; ++k) {
      Lanes<kWidth> c, s;
      widen<float>(cosine[i][k], c.value);
      widen<float>(sine[i][k], s.value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const float u = first.value[k * kWidth + j], v = second.value[k * kWidth + j];
        first.value[k * kWidth + j] = u * c.value[j] - v * s.value[j];
        second.value[k * kWidth + j] = v * c.value[j] + u * s.value[j];
      }
    }
    store<true>(to + place[i], narrow<T>(first.value));
    store<true>(to + place[i] + pairs_per_head, narrow<T>(second.value));
  }
}

template <class T>
void rope(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream stream) {
  if (problem.elements() == 0) return;
  constexpr int kMaxLanes = kAccess / sizeof(T), kPairs = kTileBytes / kAccess / 2, kAngleLanes = kAccess / sizeof(float);
  auto* out = static_cast<T*>(arrays.out);
  const auto* x = static_cast<const T*>(arrays.x);
  const std::int64_t half = problem.head / 2;
  const auto run = [&]<int kLanes>() {
    const std::int64_t pairs = problem.elements() / 2 / kLanes;
    if (pairs >> 31 != 0) throw Unsupported("rope: 2^31 pairs of packets or more");
    rope_kernel<kLanes><<<blocks_for(static_cast<std::size_t>(pairs), kPairs), kThreads, 0, stream>>>(
        out, x, arrays.cosines, arrays.sines, static_cast<unsigned>(pairs), static_cast<unsigned>(problem.columns / 2 / kLanes),
        static_cast<unsigned>(half / kLanes));
  };
  if (half % kMaxLanes == 0 && aligned(out, kMaxLanes) && aligned(x, kMaxLanes) && aligned(arrays.cosines, kAngleLanes) &&
      aligned(arrays.sines, kAngleLanes)) {
    run.template operator()<kMaxLanes>();
  } else {
    run.template operator()<1>();
  }
  check(cudaGetLastError());
}

template <class T>
void launch_cast(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream stream) {
  const Array<T> x{static_cast<const T*>(arrays.x)};
  switch (problem.to) {
    case DataType::fp32:
      return map<float>(arrays.out, problem.elements(), stream, Same{}, x);
    case DataType::fp16:
      return map<__half>(arrays.out, problem.elements(), stream, Same{}, x);
    case DataType::bf16:
      return map<__nv_bfloat16>(arrays.out, problem.elements(), stream, Same{}, x);
    default:
      return map<Fp8>(arrays.out, problem.elements(), stream, Same{}, x);
  }
}

template <class T>
void launch_typed(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream stream) {
  const std::int64_t n = problem.elements();
  const auto columns = static_cast<unsigned>(problem.columns);
  const Array<T> x{static_cast<const T*>(arrays.x)}, y{static_cast<const T*>(arrays.y)};
  const EveryRow<T> bias{static_cast<const T*>(arrays.bias), columns};
  const InPlace p{arrays.p}, m{arrays.m}, v{arrays.v};
  switch (problem.op) {
    case ElementwiseOp::add:
      return map<T>(arrays.out, n, stream, Add{}, x, y);
    case ElementwiseOp::bias_add:
      return map<T>(arrays.out, n, stream, Add{}, x, bias);
    case ElementwiseOp::relu:
      return map<T>(arrays.out, n, stream, Relu{}, x);
    case ElementwiseOp::gelu_tanh:
      return map<T>(arrays.out, n, stream, GeluTanh<T>{}, x);
    case ElementwiseOp::gelu_erf:
      return map<T>(arrays.out, n, stream, GeluErf<T>{}, x);
    case ElementwiseOp::silu:
      return map<T>(arrays.out, n, stream, Silu<T>{}, x);
    case ElementwiseOp::swiglu:
      return map<T>(arrays.out, n, stream, Swiglu<T>{}, x, y);
    case ElementwiseOp::residual_add:
      return map<float>(arrays.out, n, stream, Add{}, x, Array<float>{static_cast<const float*>(arrays.y)});
    case ElementwiseOp::bias_gelu_residual:
      return map<T>(arrays.out, n, stream, BiasGeluResidual<T>{}, x, bias, y);
    case ElementwiseOp::cast:
      return launch_cast<T>(problem, arrays, stream);
    case ElementwiseOp::rope:
      return rope<T>(problem, arrays, stream);
    case ElementwiseOp::embedding:
      return map<T>(arrays.out, n, stream, Same{}, Lookup<T>{x.data, arrays.ids, columns});
    case ElementwiseOp::adamw:
      return adamw<T>(arrays, n, stream);
    case ElementwiseOp::adamw_decay:
      return map<float>(arrays.p, n, stream, Decay{}, p);
    case ElementwiseOp::adamw_first:
      return map<float>(arrays.m, n, stream, FirstMoment{}, m, x);
    case ElementwiseOp::adamw_second:
      return map<float>(arrays.v, n, stream, SecondMoment{}, v, x);
    case ElementwiseOp::adamw_update:
      return map<float>(arrays.p, n, stream, Update{}, p, m, v);
  }
}

bool supports(const ElementwiseProblem& problem) {
  const auto computed = [](DataType type) {
    return type == DataType::fp32 || type == DataType::fp16 || type == DataType::bf16;
  };
  if (problem.op == ElementwiseOp::cast && !computed(problem.to) && problem.to != DataType::fp8) return false;
  return computed(problem.type);
}

void launch(const ElementwiseProblem& problem, const ElementwiseArrays& arrays, Stream stream) {
  switch (problem.type) {
    case DataType::fp32:
      return launch_typed<float>(problem, arrays, stream);
    case DataType::fp16:
      return launch_typed<__half>(problem, arrays, stream);
    case DataType::bf16:
      return launch_typed<__nv_bfloat16>(problem, arrays, stream);
    default:
      throw Unsupported("element-wise operations on " + std::string(name(problem.type)));
  }
}

}  // namespace

const ElementwiseKernels elementwise = {supports, launch, elementwise_reference};

}  // namespace roofmark::cuda
