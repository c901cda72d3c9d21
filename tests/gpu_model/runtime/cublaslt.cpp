// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "cublaslt.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime.hpp"

struct cublasLtContext {
  int device;
};

namespace gpu_model::runtime::cublaslt {
namespace {

struct Status {
  cublasStatus_t status;
  const char *name, *text;
};
constexpr Status statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "the operation completed successfully"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the GPU program failed to execute"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"},
};
constexpr Status unknown_status = {CUBLAS_STATUS_INTERNAL_ERROR, "<unknown>", "<unknown>"};

const Status& find(cublasStatus_t status) {
  const auto* const found = std::find_if(std::begin(statuses), std::end(statuses),
                                         [=](const Status& candidate) { return candidate.status == status; });
  return found == std::end(statuses) ? unknown_status : *found;
}

cublasStatus_t invalid(const char* why) { return refuse(CUBLAS_STATUS_INVALID_VALUE, why); }

template <class Object, class Handle>
cublasStatus_t create(Handle* to, const Object& value) {
  if (!to) return invalid("no place for an object");
  *to = reinterpret_cast<Handle>(new Object(value));
  return CUBLAS_STATUS_SUCCESS;
}
template <class Object, class Handle>
cublasStatus_t destroy(Handle handle) {
  delete object<Object>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t set(T& attribute, const void* value, std::size_t bytes) {
  if (!value || bytes != sizeof(T)) return invalid("an attribute's value of another size");
  std::memcpy(&attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t get(const T& attribute, void* value, std::size_t bytes, std::size_t* written) {
  if (written) *written = sizeof(T);
  if (bytes == 0 && written) return CUBLAS_STATUS_SUCCESS;
  if (!value || bytes != sizeof(T)) return invalid("an attribute's value of another size");
  std::memcpy(value, &attribute, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// Whether all handles are of the right kind; then `problem` is theirs.
bool collect(Problem& problem, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
             cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (!object<Matmul>(operation)) return false;
  for (cublasLtMatrixLayout_t matrix : {a, b, c, d}) {
    if (!object<Matrix>(matrix)) return false;
  }
  problem = {*object<Matmul>(operation), *object<Matrix>(a), *object<Matrix>(b), *object<Matrix>(c), *object<Matrix>(d)};
  return true;
}

/// Best first. The workspace of a split depends on the problem.
constexpr Algorithm proposals[] = {
    {.id = 66, .tile = CUBLASLT_MATMUL_TILE_128x128, .stages = 35, .cluster_shape = 2, .workspace_bytes = 1024},
    {.id = 66, .tile = CUBLASLT_MATMUL_TILE_128x256, .stages = 36, .swizzle = 1, .cluster_shape = 3},
    {.id = 21,
     .split_k = 3,
     .tile = CUBLASLT_MATMUL_TILE_128x128,
     .stages = 13,
     .reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
     .cluster_shape = 1}};

Algorithm unpacked(const cublasLtMatmulAlgo_t& bytes) {
  Algorithm algorithm;
  std::memcpy(static_cast<void*>(&algorithm), &bytes, sizeof algorithm);
  return algorithm;
}

/// What speaks against running an algorithm, or nullptr.
const char* mismatch(const Algorithm& algorithm, const Problem& problem, std::uint32_t alignment, const void* workspace,
                     std::size_t workspace_bytes) {
  if (algorithm.kind != Algorithm::number) return "no algorithm";
  if (algorithm.compute != problem.operation.compute || algorithm.type_a != problem.a.type ||
      algorithm.type_d != problem.d.type || algorithm.epilogue != problem.operation.epilogue) {
    return "an algorithm of another problem";
  }
  if (alignment < algorithm.alignment) return "pointers less aligned than the preference promised";
  if (algorithm.workspace_bytes > workspace_bytes) return "a workspace smaller than the algorithm's";
  if (algorithm.workspace_bytes && place_of(workspace, workspace_bytes) != Place::device) {
    return "a workspace that is not in device memory";
  }
  return nullptr;
}

/// FLOPs per clock per SM at the device's rate.
double flops_per_clock(const Problem& problem) {
  const DeviceModel& model = *settings().model;
  switch (problem.a.type) {
    case CUDA_R_64F:
      return model.tensor_flops.fp64;
    case CUDA_R_32F:
      return problem.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? model.tensor_flops.tf32 : model.fma_flops[1];
    case CUDA_R_4F_E2M1:
      return 2 * model.tensor_flops.eight_bit;
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
    case CUDA_R_8I:
      return model.tensor_flops.eight_bit;
    default:
      return model.tensor_flops.sixteen_bit;
  }
}

/// Whole waves of 128 x 128 tiles at the current clock, or the traffic if that takes longer.
double duration_ns(const Problem& problem, double clock_mhz) {
  constexpr double share_of_rate = 0.8;  // that the library's kernels reach
  constexpr double shortest_kernel_ns = 1200;
  const auto tiles_along = [](std::int64_t size) { return std::ceil(static_cast<double>(size) / 128); };
  const double tiles = tiles_along(problem.m()) * tiles_along(problem.n()) * problem.d.batches;
  const double waves = std::ceil(tiles / settings().multiprocessors);
  const double clocks = waves * problem.flops() / tiles / (share_of_rate * flops_per_clock(problem));
  const auto bytes = static_cast<double>(extent_bytes(problem.a) + extent_bytes(problem.b) + extent_bytes(problem.d));
  const bool in_l2 = bytes <= 0.7 * static_cast<double>(settings().l2_bytes);
  const double traffic = bytes / (in_l2 ? settings().model->l2_bytes_per_ns : settings().model->dram_bytes_per_ns);
  return shortest_kernel_ns + std::max(clocks / (clock_mhz * 1e-3), traffic);
}

/// Runs on the stream's thread; returns when the product ends.
double run(const Problem& problem, const Arrays& arrays, Device& device, double start_ns, double overhead_ns) {
  if (settings().blas_limit > 0 && problem.flops() > settings().blas_limit) {
    GPUMODEL_TRACE("skipped: a product of %g FLOPs (GPUMODEL_BLAS_LIMIT)", problem.flops());
  } else {
    multiply(problem, arrays);
  }
  const double time_ns = duration_ns(problem, device.clock_mhz(start_ns, 1)) * slowdown("cublaslt_matmul", device);
  const double end_ns = start_ns + (overhead_ns + time_ns) * device.noise();
  device.was_busy(start_ns, end_ns, 1);
  GPUMODEL_TRACE("matmul %lld x %lld x %lld x %d: model %.2f us", static_cast<long long>(problem.m()),
                 static_cast<long long>(problem.n()), static_cast<long long>(problem.k()), problem.d.batches,
                 (end_ns - start_ns) * 1e-3);
  return end_ns;
}

}  // namespace
}  // namespace gpu_model::runtime::cublaslt

using namespace gpu_model::runtime;
using namespace gpu_model::runtime::cublaslt;

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) { return find(status).name; }
const char* cublasLtGetStatusString(cublasStatus_t status) { return find(status).text; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return invalid("no place for a handle");
  if (enter() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{current_device().ordinal()};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute, cudaDataType_t scale) {
  return create(operation, Matmul{.compute = compute, .scale = scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) { return destroy<Matmul>(operation); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  auto* const operation = object<Matmul>(handle);
  if (!operation) return invalid("no matmul descriptor");
  switch (which) {
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(operation->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(operation->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(operation->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return set(operation->transpose_c, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(operation->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(operation->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(operation->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return set(operation->bias_batch_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return set(operation->fast_accumulation, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return set(operation->scale_mode_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return set(operation->scale_mode_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return set(operation->scales_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return set(operation->scales_b, value, bytes);
    default:
      return invalid("an attribute of a matmul descriptor that the model does not have");
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matrix, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t leading_dimension) {
  return create(matrix, Matrix{.type = type, .rows = rows, .columns = columns, .leading_dimension = leading_dimension});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matrix) { return destroy<Matrix>(matrix); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
  auto* const matrix = object<Matrix>(handle);
  if (!matrix) return invalid("no matrix layout");
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(matrix->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(matrix->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(matrix->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(matrix->leading_dimension, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(matrix->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(matrix->batch_stride, value, bytes);
    default:
      return invalid("an attribute of a matrix layout that the model does not have");
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    size_t bytes) {
  auto* const preference = object<Preference>(handle);
  if (!preference) return invalid("no preference");
  switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(preference->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(preference->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(preference->alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(preference->alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(preference->alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(preference->alignment[3], value, bytes);
    default:
      return invalid("a preference that the model does not have");
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wanted, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (!handle) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
  Problem problem;
  const auto* const preference = object<Preference>(wanted);
  if (!collect(problem, operation, a, b, c, d) || !preference || !results || !found || most <= 0) {
    return invalid("an argument of the heuristic");
  }
  *found = 0;
  const std::uint32_t alignment = *std::min_element(std::begin(preference->alignment), std::end(preference->alignment));
  if (const cublasStatus_t status = examine(problem, alignment); status != CUBLAS_STATUS_SUCCESS) return status;
  for (Algorithm algorithm : proposals) {
    if (*found == most) break;
    if (algorithm.reduction && !(preference->reductions & algorithm.reduction)) continue;
    if (algorithm.split_k > 1) {
      algorithm.workspace_bytes =
          static_cast<std::uint64_t>(problem.m() * problem.n() * problem.d.batches * 4 * algorithm.split_k);
    }
    if (algorithm.workspace_bytes > preference->workspace_bytes) continue;
    algorithm.alignment = alignment;
    algorithm.compute = problem.operation.compute;
    algorithm.type_a = static_cast<std::uint16_t>(problem.a.type);
    algorithm.type_d = static_cast<std::uint16_t>(problem.d.type);
    algorithm.epilogue = static_cast<std::uint16_t>(problem.operation.epilogue);
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace_bytes;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *found ? CUBLAS_STATUS_SUCCESS : refuse(CUBLAS_STATUS_NOT_SUPPORTED, "the preference leaves no algorithm");
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* bytes_of_algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t which, void* value, size_t bytes,
                                                    size_t* written) {
  if (!bytes_of_algorithm) return invalid("no algorithm");
  const Algorithm algorithm = unpacked(*bytes_of_algorithm);
  if (algorithm.kind != Algorithm::number) return invalid("no algorithm");
  switch (which) {
    case CUBLASLT_ALGO_CONFIG_ID:
      return get(algorithm.id, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_TILE_ID:
      return get(algorithm.tile, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      return get(algorithm.split_k, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      return get(algorithm.reduction, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING:
      return get(algorithm.swizzle, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION:
      return get(algorithm.custom, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID:
      return get(algorithm.stages, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID:
      return get(algorithm.inner_shape, value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID:
      return get(algorithm.cluster_shape, value, bytes, written);
    default:
      return invalid("an attribute of an algorithm that the model does not have");
  }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,
                              const void* c, cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* bytes_of_algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  if (!handle) return refuse(CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
  Problem problem;
  if (!collect(problem, operation, layout_a, layout_b, layout_c, layout_d) || !alpha || !beta || !a || !b || !d) {
    return invalid("an argument of the product");
  }
  if (enter() != cudaSuccess) return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "the device has an error");
  int device = 0;
  if (device_of_stream(stream, &device) != cudaSuccess || device != handle->device) {
    return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "the stream is not of the handle's device");
  }
  const cudaDataType_t scale = problem.operation.scale;
  const Arrays arrays{a, b, c, d, read_scalar(scale, alpha), read_scalar(scale, beta)};
  if (!c && arrays.beta != 0) return invalid("no C, and beta is not 0");
  if (c == d && problem.c != problem.d) return invalid("a product in place whose C and D have different layouts");
  if (has_bias(problem.operation) && !problem.operation.bias) return invalid("an epilogue with a bias, and no bias");
  std::uintptr_t bits = 256;
  for (const void* pointer : {a, b, c, static_cast<const void*>(d)}) bits |= reinterpret_cast<std::uintptr_t>(pointer);
  const std::uint32_t alignment = 1u << std::countr_zero(bits);
  if (const cublasStatus_t status = examine(problem, alignment); status != CUBLAS_STATUS_SUCCESS) return status;
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256) return invalid("a workspace that is not aligned to 256 bytes");
  std::size_t used_workspace_bytes = 0;
  if (bytes_of_algorithm) {
    const Algorithm algorithm = unpacked(*bytes_of_algorithm);
    if (const char* why = mismatch(algorithm, problem, alignment, workspace, workspace_bytes)) return invalid(why);
    used_workspace_bytes = algorithm.workspace_bytes;
  }
  const bool faults = leaves_memory(problem, arrays);
  const cudaError_t status =
      submit(stream, "matmul",
             [problem, arrays, faults, workspace, used_workspace_bytes](Device& device, double start_ns, double overhead_ns) {
               if (faults) {
                 set_sticky(device, cudaErrorIllegalAddress);
                 return start_ns + overhead_ns;
               }
               // Whoever keeps something in the workspace loses it.
               if (used_workspace_bytes) std::memset(workspace, 0x5A, used_workspace_bytes);
               return run(problem, arrays, device, start_ns, overhead_ns);
             });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : refuse(CUBLAS_STATUS_EXECUTION_FAILED, cudaGetErrorName(status));
}

}  // extern "C"
